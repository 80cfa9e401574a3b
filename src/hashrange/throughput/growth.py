"""How much may an on-demand table or index use? At once twice its previous peak, and never less than a new one.

The previous peak is the greatest number of units in any second up to half an hour ago; it does not decay. Source: developer guide,
*On-demand capacity mode*; how a peak is measured is a model of ours.
"""

from hashrange.limits import ON_DEMAND_GROWTH_FACTOR, ON_DEMAND_GROWTH_SECONDS


class Growth:
    """The peak of one on-demand table or index, in one direction, and the units a second that follow from it."""

    __slots__ = ("_candidate_units", "_least_units", "_peak_units", "_second", "_since_seconds", "_units")

    def __init__(self, least_units: float, at_seconds: float) -> None:
        """`least_units`: units a second that are served whatever the peak was."""
        self._least_units = least_units
        self._peak_units = 0.0
        self._candidate_units, self._since_seconds = 0.0, at_seconds
        """Greatest number of units in a second above the previous peak, and when there was the first one; 0 without any."""
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
        if not self._candidate_units or now_seconds - self._since_seconds < ON_DEMAND_GROWTH_SECONDS:
            return False
        self._peak_units, self._candidate_units = self._candidate_units, 0.0
        return True

    def _note(self, at_seconds: float, units: float) -> None:
        if units <= self._peak_units:
            return
        if not self._candidate_units:
            self._since_seconds = at_seconds
        self._candidate_units = max(self._candidate_units, units)
