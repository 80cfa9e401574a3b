"""Clocks that move only when a test moves them: a machine's, which can be set forward and back, and a server's."""

from hashrange.clock import MovableClock, ServiceTimeState, SystemClock
from hashrange.jobs.runner import Runner

VIRTUAL_START_SECONDS = 1_800_000_000.0
VIRTUAL_MONOTONIC_START_SECONDS = 1000.0
"""A machine's first monotonic time: far from its wall time, so that code that mixes them up fails."""


class SetClock(SystemClock):
    """The server's clock over a machine whose time moves only on request."""

    def __init__(self, wall_seconds: float = VIRTUAL_START_SECONDS) -> None:
        self._wall_seconds = wall_seconds
        self._monotonic_seconds = VIRTUAL_MONOTONIC_START_SECONDS

    def advance(self, seconds: float) -> None:
        """Let this much time pass: all readings of the machine's clock move."""
        self._wall_seconds += seconds
        self._monotonic_seconds += seconds

    def set_by(self, seconds: float) -> None:
        """Set the machine's clock forward or back, while no time passes."""
        self._wall_seconds += seconds

    def wall_time(self) -> float:
        """Seconds since the epoch."""
        return self._wall_seconds

    def monotonic(self) -> float:
        """Seconds."""
        return self._monotonic_seconds


class VirtualClock(MovableClock):
    """A clock that moves only on request: service time alone (`advance`, `advance_to`), for states, tokens, retention
    and delays, or all three readings (`advance_all`), for time-outs and signatures too.

    One advance by a whole delay reaches its end; several advances by parts of the delay may, because of rounding, end
    some 0.1 µs earlier or later.
    """

    def __init__(self, start_seconds: float = VIRTUAL_START_SECONDS) -> None:
        """`start_seconds`: the clock's first service time and wall time, in seconds since the epoch."""
        self._set_clock = SetClock(start_seconds)
        super().__init__(self._set_clock, ServiceTimeState(frozen_seconds=start_seconds))
        del self.wall_time, self.monotonic  # the methods below take their places, so that subclasses can override them

    def wall_time(self) -> float:
        """Virtual wall time, in seconds since the epoch."""
        return self._set_clock.wall_time()

    def monotonic(self) -> float:
        """Virtual monotonic time, in seconds."""
        return self._set_clock.monotonic()

    def advance(self, seconds: float) -> None:
        """Move service time forward and call the listeners."""
        assert seconds >= 0
        self.advance_to(self.service_time() + seconds)

    def advance_to(self, moment_seconds: float) -> None:
        """Move service time forward to exactly this moment, unless it has been reached, and call the listeners."""
        self._frozen_seconds = self.last_service_seconds = max(self.service_time(), moment_seconds)
        self._listeners.call_all()

    def advance_all(self, seconds: float) -> None:
        """Move all three readings forward and call the listeners."""
        assert seconds >= 0
        self._set_clock.advance(seconds)
        self.advance(seconds)


async def advance_all(clock: VirtualClock, jobs: Runner, seconds: float) -> None:
    """Move service time, wall time and monotonic time ahead in one step; returns and raises as `advance` does."""
    async with jobs.in_order():
        clock.advance_all(seconds)
        jobs.wake()
        await jobs.work_in_order()
        jobs.require_no_failure()
