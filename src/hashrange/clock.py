"""What time is it? The only reader of time in Hashrange.

Three readings, never confused: service time (what the database believes: TTL, states, created-at; may be virtual),
wall time (HTTP Date, signature skew, access log) and monotonic time (time-outs).
"""

import time
from typing import Protocol


class Clock(Protocol):
    """Three readings of time, all in seconds."""

    def service_time(self) -> float:
        """Seconds since the epoch, as the database believes."""
        ...

    def wall_time(self) -> float:
        """Seconds since the epoch, as the outside world believes."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...


class SystemClock:
    """The machine's own clock."""

    service_time = staticmethod(time.time)
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

    def wall_time(self) -> float:
        """Virtual seconds since the epoch."""
        return self._now_seconds

    def monotonic(self) -> float:
        """Virtual seconds."""
        return self._now_seconds
