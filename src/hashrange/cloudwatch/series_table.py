"""Which series are there, and in which order are they forgotten?
All of one store in memory, by metric, unit and number.

They are read from the store in pieces of a millisecond, so that a start, a fork or a restore with very many metrics
holds up nobody.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from heapq import merge
from itertools import accumulate, islice
from math import inf
from operator import attrgetter

from hashrange.cloudwatch.columns import differences
from hashrange.cloudwatch.limits import METRIC_CUSTOM_NAMES_BYTES_MAX, METRIC_SERIES_CUSTOM_MAX, METRIC_SERIES_MAX
from hashrange.cloudwatch.metric_documents import MetricDocuments, StoredSeries
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metric_names import DROPPED_TOGETHER, MetricNames
from hashrange.cloudwatch.runs import read_runs, stored_runs
from hashrange.cloudwatch.series import Series
from hashrange.cloudwatch.series_order import SeriesOrder, SeriesPlace
from hashrange.messages.cloudwatch import LOG_TOO_MANY_METRICS

_log = logging.getLogger("hashrange.cloudwatch")


class KnownSeries:
    """One metric in one unit."""

    __slots__ = ("metric", "number", "series", "unit")

    def __init__(self, number: int, metric: MetricId, unit: str, series: Series) -> None:
        self.number, self.metric = number, metric
        self.unit, self.series = unit, series

    def stored(self) -> StoredSeries:
        """All of the series but its blocks, as it is kept."""
        series = self.series
        return StoredSeries(
            self.number,
            self.metric,
            self.unit,
            series.last_seconds,
            [differences(numbers) for numbers in series.kept],
            stored_runs(series.runs),
        )


class SeriesTable:
    """The series of one store.

    At most METRIC_SERIES_CUSTOM_MAX of programs' own namespaces, whose names take at most
    METRIC_CUSTOM_NAMES_BYTES_MAX, and METRIC_SERIES_MAX of those that begin with `AWS/`.
    """

    def __init__(self) -> None:
        self._by_metric: dict[MetricId, dict[str, KnownSeries]] = {}
        """Metric → unit → series."""
        self.names = MetricNames()
        self.by_number: dict[int, KnownSeries] = {}
        self.removed: dict[int, Series] = {}
        """Series, by number, that have been removed, and whose blocks are still to be deleted."""
        self.to_take: list[list[StoredSeries]] = []
        """What has been read from the store and is not in the table yet, in parts."""
        self.next_number = 0
        """A number that no series has had."""
        self._custom = SeriesOrder(METRIC_SERIES_CUSTOM_MAX, METRIC_CUSTOM_NAMES_BYTES_MAX)
        """The order of the series in programs' own namespaces."""
        self.others = SeriesOrder(METRIC_SERIES_MAX, inf)
        """The order of the series in AWS's namespaces."""
        self._is_full = False

    def units_of(self, metric: MetricId) -> Mapping[str, KnownSeries]:
        """The series of a metric by their units."""
        return self._by_metric.get(metric, {})

    def touch(self, known: KnownSeries) -> None:
        """Note that a series is recorded now."""
        self._order_of(known.metric).touch(known.number, known.metric)

    def add(
        self, number: int, metric: MetricId, unit: str, series: Series
    ) -> tuple[KnownSeries, Sequence[KnownSeries]]:
        """Add a series. Also returns those that give way if there are too many now: they have been removed."""
        removed = self._make_room(metric)
        known = self.by_number[number] = KnownSeries(number, metric, unit, series)
        self.next_number = max(self.next_number, number + 1)
        by_unit = self._by_metric.get(metric)
        if by_unit is None:
            by_unit = self._by_metric[metric] = {}
            self.names.add(metric)
        by_unit[unit] = known
        self._order_of(metric).add(number, metric)
        return known, removed

    def _make_room(self, metric: MetricId) -> Sequence[KnownSeries]:
        """Remove series that give way, until there is room for one of this metric."""
        order = self._order_of(metric)
        removed = []
        while (number := order.to_give_way(metric)) is not None:
            if not self._is_full:
                self._is_full = True
                _log.warning(LOG_TOO_MANY_METRICS, len(order))
            oldest = self.by_number[number]
            self.remove(oldest)
            removed.append(oldest)
        return removed

    def of_place(self, place: SeriesPlace, namespaces: Collection[str]) -> Iterator[KnownSeries]:
        """The series that an account and Region now has in these namespaces, all of which begin with `AWS/`,
        unless they are removed meanwhile.
        """
        for number in self.others.numbers(place):
            known = self.by_number.get(number)
            if known is not None and known.metric.namespace in namespaces:
                yield known

    def remove(self, known: KnownSeries) -> None:
        """Remove a series."""
        del self.by_number[known.number]
        self._order_of(known.metric).remove(known.number, known.metric)
        by_unit = self._by_metric[known.metric]
        del by_unit[known.unit]
        if not by_unit:
            del self._by_metric[known.metric]
            self.names.remove(known.metric)

    def drop(self) -> Iterator[None]:
        """Free all series in pieces: 20,000 at once would take 0.1 s. The table is of no use any more."""
        for part in self.to_take:
            while part:
                del part[-DROPPED_TOGETHER:]
                yield
        while self.by_number:
            for _ in range(min(DROPPED_TOGETHER, len(self.by_number))):
                _, known = self.by_number.popitem()
                self._by_metric.pop(known.metric, None)
            yield
        while self.removed:
            for _ in range(min(DROPPED_TOGETHER, len(self.removed))):
                self.removed.popitem()
            yield
        yield from self.names.drop()

    def _order_of(self, metric: MetricId) -> SeriesOrder:
        return self._custom if metric.is_custom else self.others


# --- reading what the store has -------------------------------------------------------------------


TAKEN_TOGETHER = 40
"""Series that one piece takes in."""
_last_seconds = attrgetter("last_seconds")


def load_series(
    documents: MetricDocuments, table: SeriesTable, forget: Callable[[KnownSeries], None]
) -> Iterator[None]:
    """Read all series into an empty table, in the order of their last observations;
    each step is a piece. Raises StorageError.

    `forget` is called with those for which there is no room, as after an earlier version that kept more.
    """
    parts = table.to_take
    for part in documents.load():
        part.sort(key=_last_seconds)
        part.reverse()
        parts.append(part)
        yield
    ordered = merge(*map(_taken, parts), key=_last_seconds)
    while some := list(islice(ordered, TAKEN_TOGETHER)):
        for stored in some:
            series = Series(
                partial(documents.read_cells, stored.number),
                [list(accumulate(steps)) for steps in stored.kept],
                read_runs(stored.runs),
                stored.last_seconds,
            )
            _, removed = table.add(stored.number, stored.metric, stored.unit, series)
            for oldest in removed:
                forget(oldest)
        yield


def _taken(part: list[StoredSeries]) -> Iterator[StoredSeries]:
    """Each series, beginning with the last. A series that has been taken in is freed with its piece, not at the end
    with all others.
    """
    while part:
        yield part.pop()
