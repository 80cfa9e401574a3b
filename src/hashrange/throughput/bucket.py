"""How is a rate of capacity units enforced? By a token bucket on service time:
it fills at the rate, and holds no more than its burst.

A request is admitted while the bucket is above zero, and takes its units afterwards, so it may leave the bucket below
zero. So no sequence of requests gets more than rate × time + burst + its largest request.

The bucket stores no level but the time at which it will be full. So time that passes changes nothing in it,
and a request costs a subtraction, an addition and two comparisons.
"""

EMPTY_UNITS = 0.01
"""A bucket with fewer units is empty: sums of many requests are not exact. A request takes half a unit at least."""


class Bucket:
    """Units that may be used now, for one table, index or partition, in one direction (reads or writes)."""

    __slots__ = ("burst_seconds", "empty_seconds", "full_at_seconds", "rate", "seconds_per_unit")

    def __init__(self, rate: float, burst: float, at_seconds: float) -> None:
        """A full bucket. `rate`: units a second, above 0; `burst`: units that it holds at most;
        `at_seconds`: service time now.
        """
        self._set(rate, burst)
        self.full_at_seconds = at_seconds
        """When the bucket is full, or has been full."""

    def _set(self, rate: float, burst: float) -> None:
        self.rate, self.seconds_per_unit, self.burst_seconds = rate, 1 / rate, burst / rate
        self.empty_seconds = (burst - EMPTY_UNITS) / rate
        """The bucket is empty if it takes this long, or longer, until it is full."""

    def level(self, now_seconds: float) -> float:
        """The units in the bucket now; below 0 after a large request."""
        return (self.burst_seconds - max(0.0, self.full_at_seconds - now_seconds)) * self.rate

    @property
    def empty_until_seconds(self) -> float:
        """The last moment at which the bucket is empty, if nobody uses more; in the past if it is not empty."""
        return self.full_at_seconds - self.empty_seconds

    def admits(self, now_seconds: float) -> bool:
        """True if a request may use units now. 0.05 µs."""
        return self.full_at_seconds - now_seconds < self.empty_seconds

    def take(self, units: float, now_seconds: float) -> None:
        """Use units, which may leave the bucket below zero. 0.1 µs."""
        full_at_seconds = self.full_at_seconds
        full_at_seconds = max(full_at_seconds, now_seconds)
        self.full_at_seconds = full_at_seconds + units * self.seconds_per_unit

    def change(self, rate: float, burst: float, now_seconds: float) -> None:
        """Fill at another rate from now on. Units that the bucket holds stay, up to the new burst."""
        missing = max(0.0, burst - self.level(now_seconds))
        self._set(rate, burst)
        self.full_at_seconds = now_seconds + missing / rate
