"""A machine's clock that a test can set forward and back, and how all time of a virtual clock moves at once."""

from hashrange.clock import SystemClock, VirtualClock
from hashrange.jobs.runner import Runner


class SetClock(SystemClock):
    """The server's clock over a machine whose time moves only on request."""

    def __init__(self, wall_seconds: float = 1_800_000_000.0) -> None:
        self._wall_seconds = wall_seconds
        self._monotonic_seconds = 1000.0

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


async def advance_all(clock: VirtualClock, jobs: Runner, seconds: float) -> None:
    """Move service time, wall time and monotonic time ahead in one step; returns and raises as `advance` does."""
    async with jobs.in_order():
        clock.advance_all(seconds)
        jobs.wake()
        await jobs.work_in_order()
        jobs.require_no_failure()
