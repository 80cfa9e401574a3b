"""What time is it? The only reader of time in Hashrange.

Three readings, never confused: service time (what the database believes: TTL, states, created-at; may be virtual),
wall time (HTTP Date, signature skew, access log) and monotonic time (time-outs). A machine's clock may be set back; service time
never goes back and never stands still, so what has once been, a table that was ACTIVE, stays so, and no delay lasts longer
than it is long.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """Three readings of time, all in seconds."""

    def service_time(self) -> float:
        """Seconds since the epoch, as the database believes; never fewer than before."""
        ...

    @property
    def seen_seconds(self) -> float:
        """A service time that has been: what is not after it lies in the past. Costs less than to ask for the time."""
        ...

    def wall_time(self) -> float:
        """Seconds since the epoch, as the outside world believes."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...


class SystemClock:
    """The machine's own clock."""

    seen_seconds = float("-inf")
    """What `service_time` told last."""
    _ahead_seconds = float("-inf")
    """Service time minus monotonic time: the most that wall time has been ahead of monotonic time."""

    def service_time(self) -> float:
        """Wall time, or, once that has been set back, what it would be otherwise: until the process ends."""
        ahead_seconds = self.wall_time() - (monotonic := self.monotonic())
        self._ahead_seconds = max(self._ahead_seconds, ahead_seconds)
        self.seen_seconds = now_seconds = monotonic + self._ahead_seconds
        return now_seconds

    wall_time = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)


class VirtualClock:
    """A clock that moves only when told: tests never sleep."""

    def __init__(self, start_seconds: float = 1_800_000_000.0) -> None:
        self._now_seconds = start_seconds

    def advance(self, seconds: float) -> None:
        """Move all three readings forward."""
        assert seconds >= 0
        self._now_seconds += seconds

    def service_time(self) -> float:
        """Virtual seconds since the epoch."""
        return self._now_seconds

    @property
    def seen_seconds(self) -> float:
        """Virtual seconds since the epoch."""
        return self._now_seconds

    def wall_time(self) -> float:
        """Virtual seconds since the epoch."""
        return self._now_seconds

    def monotonic(self) -> float:
        """Virtual seconds."""
        return self._now_seconds
