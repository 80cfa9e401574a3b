"""What comes out of a run? Plain records: one per hostile kind, one per way of losing."""

import msgspec

SHORT_BOUND_MS, LARGE_BOUND_MS = 50.0, 150.0
"""How much longer than beside the control the longest wait may be: for requests up to 1 MB, and for larger ones."""


class StallFigure(msgspec.Struct, frozen=True, kw_only=True):
    """What a prober saw beside the hostile clients of one kind, and beside the control."""

    name: str
    wire_bytes: int
    decoded_bytes: int
    clients: int
    answer: str
    """What the hostile clients were answered, and how often."""
    took_ms: float
    """Median of the hostile requests themselves."""
    peak_mb: float
    """Of the server's resident memory meanwhile."""
    max_ms: float
    p999_ms: float
    control_max_ms: float
    control_p999_ms: float
    slowness: float
    bound_ms: float
    """With the slowness in it."""
    faults: tuple[str, ...] = ()
    """What else was wrong, in words."""

    @property
    def excess_ms(self) -> float:
        """Of the longest wait over the control's."""
        return self.max_ms - self.control_max_ms

    @property
    def is_met(self) -> bool:
        """Within its bound, and nothing else wrong?"""
        return self.excess_ms <= self.bound_ms and not self.faults


class LossFigure(msgspec.Struct, frozen=True, kw_only=True):
    """What was left of what had been acknowledged."""

    name: str
    rounds: int = 0
    acknowledged: int = 0
    lost: int = 0
    invented: int = 0
    """What is there though it was never written, or was deleted."""
    refused_starts: int = 0
    serve_seconds_max: float = 0.0
    """From the start, or the end of the trouble, until the server answered again."""
    faults: tuple[str, ...] = ()

    @property
    def is_met(self) -> bool:
        """Nothing lost, nothing invented, every start served?"""
        return not (self.lost or self.invented or self.refused_starts or self.faults)
