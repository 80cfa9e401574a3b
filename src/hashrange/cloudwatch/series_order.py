"""Which series gives way to a new one? One of the same account and Region, so that nobody forgets another's
metrics by making up accounts or tables.
"""

from collections import OrderedDict

import msgspec

from hashrange.cloudwatch.metric_id import MetricId

SeriesPlace = tuple[str, str]
"""Account and Region of a series."""


class _OfPlace(msgspec.Struct, eq=False):
    """The series of one account and Region."""

    numbers: OrderedDict[int, None] = msgspec.field(default_factory=OrderedDict)
    """Numbers of the series; the one that was recorded longest ago comes first."""
    names_bytes: int = 0
    """What the names of these series take, each unit for itself."""


class SeriesOrder:
    """The order in which the series of one kind of namespaces give way, and how many there may be.

    An account in its Region that has more than half of all gives way to others. Otherwise each gives way to itself,
    and to one that has no series yet the one whose first series came last.
    """

    def __init__(self, series_max: int, names_bytes_max: float) -> None:
        self._series_max = series_max
        self._names_bytes_max = names_bytes_max
        self._places: OrderedDict[SeriesPlace, _OfPlace] = OrderedDict()
        """In the order of their first series."""
        self._large: dict[SeriesPlace, None] = {}
        """Places that have more than half of all series, or of their names, that there may be: at most one of each."""
        self._count = 0
        self._names_bytes = 0

    def __len__(self) -> int:
        return self._count

    def counts(self) -> list[tuple[SeriesPlace, int]]:
        """All accounts and Regions with series, and how many they have, in the order of their first series."""
        return [(place, len(of_place.numbers)) for place, of_place in self._places.items()]

    def numbers(self, place: SeriesPlace) -> list[int]:
        """Numbers of the series of an account and Region."""
        of_place = self._places.get(place)
        return [] if of_place is None else list(of_place.numbers)

    def add(self, number: int, metric: MetricId) -> None:
        """Add a series, which is recorded now."""
        place = metric[:2]
        of_place = self._places.get(place)
        if of_place is None:
            of_place = self._places[place] = _OfPlace()
        of_place.numbers[number] = None
        self._count += 1
        if metric.is_custom:
            names_bytes = metric.names_bytes
            of_place.names_bytes += names_bytes
            self._names_bytes += names_bytes
        if self._is_large(of_place):
            self._large[place] = None

    def touch(self, number: int, metric: MetricId) -> None:
        """Note that a series is recorded now."""
        self._places[metric[:2]].numbers.move_to_end(number)

    def remove(self, number: int, metric: MetricId) -> None:
        """Remove a series."""
        place = metric[:2]
        of_place = self._places[place]
        del of_place.numbers[number]
        self._count -= 1
        if metric.is_custom:
            names_bytes = metric.names_bytes
            of_place.names_bytes -= names_bytes
            self._names_bytes -= names_bytes
        if place in self._large and not self._is_large(of_place):
            del self._large[place]
        if not of_place.numbers:
            del self._places[place]

    def to_give_way(self, metric: MetricId) -> int | None:
        """Number of the series that is to be removed before a series of this metric is added; None: there is room."""
        names_bytes = metric.names_bytes if metric.is_custom else 0
        if not self._count or (
            self._count < self._series_max and self._names_bytes + names_bytes <= self._names_bytes_max
        ):
            return None
        place = next(iter(self._large), metric[:2])
        of_place = self._places.get(place) or next(reversed(self._places.values()))
        return next(iter(of_place.numbers))

    def _is_large(self, of_place: _OfPlace) -> bool:
        return 2 * len(of_place.numbers) > self._series_max or 2 * of_place.names_bytes > self._names_bytes_max
