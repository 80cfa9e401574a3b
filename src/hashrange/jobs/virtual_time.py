"""How is service time moved? `advance` moves the clock in steps, from one moment at which a job is due to the
next, and returns when all is done.

So work is done at the time at which it is due, in the order of these times, and what becomes due because of it is
counted from there. Jobs that are due at the same moment run one at a time, in the order of the runner's list. Nothing
here sleeps or polls. `advance` must be called on the event loop on which the jobs run; calls at the same time run one
after the other. Why: docs/adr/0038-advances-in-steps.md.
"""

from hashrange.clock import MovableClock
from hashrange.errors import HashrangeError
from hashrange.jobs.runner import Runner
from hashrange.messages.admin import TOO_FAR_AHEAD

STOPS_MAX = 20_000
"""Most times that one advance stops exactly when a job is due.
They take some 12 s of real time if an item expires at each."""
COARSE_STOPS_MAX = 5_000
"""After STOPS_MAX stops, the remaining time is divided by this: the next stops are at least so far apart."""
STEP_SECONDS_MIN = 1e-6
"""Shortest step, so that a job that always wants to run again at once does not keep service time from moving."""

AHEAD_YEARS_MAX = 100
"""Most years that service time may be ahead of wall time: in timestamps, years must keep four digits, and milliseconds
since the epoch thirteen."""


class TooFarAhead(HashrangeError, ValueError):
    """Service time would be more than AHEAD_YEARS_MAX ahead of wall time."""


async def advance(clock: MovableClock, jobs: Runner, seconds: float) -> None:
    """Move service time ahead to `seconds` from now. Service time that passes by itself meanwhile counts.

    Returns when the jobs have done all work that was due up to the new time, and the work that follows from it; what
    clients make after service time has reached its end is not waited for.
    Raises a failed job's error (StorageError, NeverRests, or a bug's exception) once service time is at its end and all
    other jobs rest; the failed job is not tried again until then. Raises TooFarAhead (nothing done).
    Ends early if the clock returns to an earlier state, or if it is cancelled: service time is then where it stands.
    """
    async with jobs.in_order():
        returns = clock.returns
        end_seconds = clock.service_time() + seconds
        if end_seconds > clock.wall_time() + AHEAD_YEARS_MAX * 365.25 * 86_400:
            raise TooFarAhead(TOO_FAR_AHEAD.format(years=AHEAD_YEARS_MAX))
        await jobs.work_in_order(only_timed=True)
        await _stop_on_the_way(clock, jobs, end_seconds, returns)
        if clock.returns == returns:
            clock.advance_to(end_seconds)
        jobs.wake_untimed()
        await jobs.work_in_order()
        jobs.require_no_failure()


async def _stop_on_the_way(clock: MovableClock, jobs: Runner, end_seconds: float, returns: int) -> None:
    """Move service time from due time to due time, and wait for the work, as long as jobs are due before the end.

    `returns`: `clock.returns` when the advance began.
    """
    stops, step_seconds = 0, STEP_SECONDS_MIN
    while (due_seconds := jobs.next_due_seconds()) is not None and clock.returns == returns:
        now_seconds = clock.service_time()
        if stops == STOPS_MAX:
            step_seconds = max(step_seconds, (end_seconds - now_seconds) / COARSE_STOPS_MAX)
        stop_seconds = max(due_seconds, now_seconds + step_seconds)
        if stop_seconds >= end_seconds:
            return
        clock.advance_to(stop_seconds)
        await jobs.work_in_order(only_timed=True)
        stops += 1
