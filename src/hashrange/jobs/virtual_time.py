"""How is service time moved? `advance` moves the clock and returns when the jobs have done all work that became due.

Time jumps: work that became due in between is done at the new time, in whatever order the jobs run. Nothing here sleeps
or polls. `advance` and `advance_all` must be called on the event loop on which the jobs run.
"""

from hashrange.clock import MovableClock, VirtualClock
from hashrange.jobs.runner import Runner


async def advance(clock: VirtualClock | MovableClock, jobs: Runner, seconds: float) -> None:
    """Move service time ahead.

    Returns when the jobs have done all work that is due at the new time, and the work that follows from it.
    Raises a failed job's error (StorageError, or a bug's exception) after all other jobs have come to rest.
    """
    clock.advance(seconds)
    await jobs.until_at_rest()


async def advance_all(clock: VirtualClock, jobs: Runner, seconds: float) -> None:
    """Move service time, wall time and monotonic time ahead; returns and raises as `advance` does."""
    clock.advance_all(seconds)
    await jobs.until_at_rest()
