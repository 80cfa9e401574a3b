"""How are the series of a store read into memory? In pieces of a millisecond, so that a start, a fork or a restore with very many metrics holds up nobody."""

from collections.abc import Iterator
from functools import partial
from heapq import merge
from itertools import accumulate, islice
from operator import attrgetter

from hashrange.cloudwatch.metric_documents import MetricDocuments, StoredSeries
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.runs import read_runs
from hashrange.cloudwatch.series import Series
from hashrange.cloudwatch.series_table import SeriesTable

TAKEN_TOGETHER = 40
"""Series that one piece takes in."""
_last_seconds = attrgetter("last_seconds")


def load_series(documents: MetricDocuments, table: SeriesTable) -> Iterator[None]:
    """Read all series into an empty table, in the order of their last observations; each step is a piece. Raises StorageError."""
    parts: list[list[StoredSeries]] = []
    for part in documents.load():
        parts.append(sorted(part, key=_last_seconds))
        yield
    ordered = merge(*parts, key=_last_seconds)
    while some := list(islice(ordered, TAKEN_TOGETHER)):
        for stored in some:
            series = Series(
                partial(documents.read_cells, stored.number),
                [list(accumulate(steps)) for steps in stored.kept],
                read_runs(stored.runs),
                stored.last_seconds,
            )
            table.add(stored.number, MetricId(*stored.metric), stored.unit, series)
        yield
