"""How are the series of a store read into memory? In pieces of a millisecond, so that a start, a fork or a restore
with very many metrics holds up nobody.
"""

from collections.abc import Callable, Iterator
from functools import partial
from heapq import merge
from itertools import accumulate, islice
from operator import attrgetter

from hashrange.cloudwatch.known_series import KnownSeries
from hashrange.cloudwatch.metric_documents import MetricDocuments, StoredSeries
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.runs import read_runs
from hashrange.cloudwatch.series import Series
from hashrange.cloudwatch.series_table import SeriesTable

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
    parts: list[list[StoredSeries]] = []
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
            _, removed = table.add(stored.number, MetricId(*stored.metric), stored.unit, series)
            for oldest in removed:
                forget(oldest)
        yield


def _taken(part: list[StoredSeries]) -> Iterator[StoredSeries]:
    """Each series, beginning with the last; what has been taken in is freed with its piece,
    not with all others at the end.
    """
    while part:
        yield part.pop()
