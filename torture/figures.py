"""What does a run record? Plain records: one per hostile kind, and one per way of losing data."""

import msgspec

SHORT_BOUND_MS, LARGE_BOUND_MS = 50.0, 150.0
"""Bound of the longest wait beyond the control's: for requests up to 1 MB, and for larger ones."""


class StallFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A prober's waits with the hostile clients of one kind on its server, and on the control."""

    name: str
    wire_bytes: int
    decoded_bytes: int
    """Of the largest request."""
    clients: int
    answer: str
    """Answers to the hostile clients, with their counts."""
    took_ms: float
    """Median time of the hostile requests."""
    peak_mb: float
    """Peak of the server's resident memory during the slices."""
    max_ms: float
    p999_ms: float
    control_max_ms: float
    control_p999_ms: float
    slowness: float
    bound_ms: float
    """Bound of the excess wait, multiplied by the machine's slowness."""
    faults: tuple[str, ...] = ()
    """Other faults, in words."""

    @property
    def excess_ms(self) -> float:
        """Return the longest wait minus the control's."""
        return self.max_ms - self.control_max_ms

    @property
    def is_met(self) -> bool:
        """True if the excess wait is within its bound and there are no faults."""
        return self.excess_ms <= self.bound_ms and not self.faults


class LossFigure(msgspec.Struct, frozen=True, kw_only=True):
    """How much acknowledged data survived one way of losing it."""

    name: str
    rounds: int = 0
    acknowledged: int = 0
    lost: int = 0
    invented: int = 0
    """Number of items found that were never written, or were deleted."""
    refused_starts: int = 0
    serve_seconds_max: float = 0.0
    """Longest time from a start, or from the end of a trouble, until the server answered again."""
    faults: tuple[str, ...] = ()

    @property
    def is_met(self) -> bool:
        """True if nothing was lost or invented, every start was served, and there are no faults."""
        return not (self.lost or self.invented or self.refused_starts or self.faults)
