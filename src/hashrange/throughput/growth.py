"""How much may an on-demand table or index use? At once twice its previous peak, and never less than a new one.

The previous peak is the greatest number of units in any second up to half an hour ago; it does not decay. Source:
developer guide, *On-demand capacity mode*; how a peak is measured is a model of ours.
"""

from collections import deque

from hashrange.limits import ON_DEMAND_GROWTH_FACTOR, ON_DEMAND_GROWTH_SECONDS

RECORD_SECONDS = 60
"""Of the records within this time, only the last and greatest is remembered: so at most 31 are."""


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
