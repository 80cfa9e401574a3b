"""How is a rate of capacity units enforced, and how does that of an on-demand table or index grow?

A rate is enforced by a token bucket on service time: it fills at the rate, and holds no more than its burst.

A request is admitted while the bucket is above zero, and takes its units afterwards, so it may leave the bucket below
zero. So no sequence of requests gets more than rate × time + burst + its largest request.

The bucket stores no level but the time at which it will be full. So time that passes changes nothing in it,
and a request costs a subtraction, an addition and two comparisons.

An on-demand table or index may use twice its previous peak at once, and never less than a new one. The previous peak
is the greatest number of units in any second up to half an hour ago; it does not decay.
Source: developer guide, *On-demand capacity mode*; how a peak is measured is a model of ours.
"""

from collections import deque

from hashrange.limits import ON_DEMAND_GROWTH_FACTOR, ON_DEMAND_GROWTH_SECONDS

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


# --- growth ---------------------------------------------------------------------------------------

RECORD_SECONDS = 60
"""Length of a part of the time that is remembered. Of the records within one part, only the last and greatest is kept,
so that at most 31 are kept."""


class Growth:
    """The peak of one on-demand table or index, in one direction, and the units a second that follow from it."""

    __slots__ = ("_least_units", "_peak_units", "_records", "_second", "_units")

    def __init__(self, least_units: float, at_seconds: float) -> None:
        """`least_units`: units a second that are served whatever the peak was."""
        self._least_units = least_units
        self._peak_units = 0.0
        self._records: deque[tuple[int, float]] = deque()
        """Seconds that are not yet half an hour ago and had more units than all before them,
        with these units; one for each minute."""
        self._second, self._units = int(at_seconds), 0.0
        """The last second in which units were used, and their number."""

    @property
    def units_per_second(self) -> float:
        """What may be used in a second now."""
        return max(self._least_units, ON_DEMAND_GROWTH_FACTOR * self._peak_units)

    def serve_at_least(self, units: float) -> None:
        """From now on, serve this many units a second, or more."""
        self._least_units = max(self._least_units, units)

    def use(self, units: float, now_seconds: float) -> bool:
        """Note that units are used. Returns True if `units_per_second` may have grown."""
        second = int(now_seconds)
        if second == self._second:
            self._units += units
            return False
        self._note(self._second, self._units)
        self._second, self._units = second, units
        records, has_grown = self._records, False
        while records and second - records[0][0] >= ON_DEMAND_GROWTH_SECONDS:
            self._peak_units, has_grown = records.popleft()[1], True
        return has_grown

    def _note(self, second: int, units: float) -> None:
        """Remember the units of a second if they are a record.
        A second that began with a full bucket counts for no more than the rate.
        """
        units = min(units, self.units_per_second)
        records = self._records
        if units <= (records[-1][1] if records else self._peak_units):
            return
        if records and records[-1][0] // RECORD_SECONDS == second // RECORD_SECONDS:
            records.pop()
        records.append((second, units))
