"""A machine's clock that a test sets forward and back."""

from hashrange.clock import SystemClock


class SetClock(SystemClock):
    """The clock as the server has it, over a machine whose time moves only when told."""

    def __init__(self, wall_seconds: float = 1_800_000_000.0) -> None:
        self._wall_seconds = wall_seconds
        self._monotonic_seconds = 1000.0

    def advance(self, seconds: float) -> None:
        """Let so much time pass: a machine's clock moves all its readings."""
        self._wall_seconds += seconds
        self._monotonic_seconds += seconds

    def set_by(self, seconds: float) -> None:
        """Set the machine's clock, which takes no time."""
        self._wall_seconds += seconds

    def wall_time(self) -> float:
        """Seconds since the epoch."""
        return self._wall_seconds

    def monotonic(self) -> float:
        """Seconds."""
        return self._monotonic_seconds
