"""How many rows does each source have, and how large are they? Statistics, exact as of the last commit; only those of
rows that a copy moves are stored less often, and counted again after a kill (`row_copies.py`).

The statistics of all sources of a table are in one row of the engine, because one write usually changes several: with
one row for each source, a PutItem with two indexes costs 2.5 µs more.
"""

from collections.abc import Callable
from functools import partial
from sys import maxsize

from hashrange.items.row_layout import ROW_SIZE
from hashrange.items.types import Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine, WriteBatch
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.statistics import Statistics
from hashrange.tables.source_id import TABLE_ID_BYTES, table_prefix

TableStatistics = dict[bytes, tuple[int, int]]
"""Source id → item count and size in bytes; a source that never had a row may be missing.
A `Statistics` would take four times as long to make."""
NO_ROWS = (0, 0)
"""Item count and size of a source without rows."""
_TABLE_ID = slice(TABLE_ID_BYTES)
_from_bytes = int.from_bytes


class SourceStatistics:
    """The statistics of one store."""

    def __init__(self, on_growth: Callable[[], None]) -> None:
        """`on_growth` is called when a source has grown beyond its size limit."""
        self.by_table: dict[bytes, TableStatistics] = {}
        """Table id (the first 4 bytes of a source id) → statistics of the table's sources."""
        self.size_limits: dict[bytes, int] = {}
        """Source id → size in bytes beyond which one of the source's partitions is to be split."""
        self.grown: set[bytes] = set()
        """Source ids of sources that have grown beyond their limit in `size_limits`, so that one of their partitions
        is to be split.
        """
        self._on_growth = on_growth

    def load(self, by_table: dict[bytes, TableStatistics], size_limits: dict[bytes, int], grown: set[bytes]) -> None:
        """Take over the statistics of a newly opened engine (`read_statistics`), with the size limits of all sources,
        and the sources beyond theirs (`grown_sources`).
        """
        self.by_table, self.size_limits, self.grown = by_table, size_limits, grown

    def of(self, source_id: bytes) -> Statistics:
        """Item count and size of a source."""
        return Statistics(*_figures_of(source_id, self.by_table))

    def add(self, draft: Draft) -> dict[bytes, TableStatistics]:
        """Add to the draft the statistics that follow from `draft.deltas`; they are returned for `by_table`."""
        changed: dict[bytes, TableStatistics] = {}
        for source_id, (count_delta, size_delta) in draft.deltas.items():
            table_id = source_id[_TABLE_ID]
            statistics = changed.get(table_id)
            if statistics is None:
                statistics = changed[table_id] = self.by_table.get(table_id, {}).copy()
            count, size_bytes = statistics.get(source_id, NO_ROWS)
            count += count_delta
            size_bytes += size_delta
            assert count >= 0 <= size_bytes
            statistics[source_id] = (count, size_bytes)
            if size_bytes > self.size_limits.get(source_id, maxsize) and source_id not in self.grown:
                draft.afterwards.append(partial(self.has_grown, source_id))
        for table_id, statistics in changed.items():
            draft.batch.put(layout.STATISTICS_PREFIX + table_id, layout.encode_statistics(statistics))
        return changed

    def add_row(self, batch: WriteBatch, source_id: bytes, old: Row | None, new: Row | None) -> TableStatistics:
        """The same as `add` for a batch with one row, which was `old` (None: no row), and will be `new`. Returns the
        statistics of the row's table for `take`.
        """
        table_id = source_id[_TABLE_ID]
        statistics = self.by_table.get(table_id, {}).copy()
        count, size_bytes = statistics.get(source_id, NO_ROWS)
        if old is not None:
            count, size_bytes = count - 1, size_bytes - _from_bytes(old[ROW_SIZE], "big")
        if new is not None:
            count, size_bytes = count + 1, size_bytes + _from_bytes(new[ROW_SIZE], "big")
        assert count >= 0 <= size_bytes
        statistics[source_id] = (count, size_bytes)
        batch.put(layout.STATISTICS_PREFIX + table_id, layout.encode_statistics(statistics))
        return statistics

    def take(self, source_id: bytes, statistics: TableStatistics) -> None:
        """Take over what `add_row` has returned, once its batch is written."""
        self.by_table[source_id[_TABLE_ID]] = statistics
        if statistics[source_id][1] > self.size_limits.get(source_id, maxsize) and source_id not in self.grown:
            self.has_grown(source_id)

    def count(self, deltas: dict[bytes, tuple[int, int]]) -> None:
        """Count rows of commits that have not stored the statistics; they are stored with the next `deltas` of their
        tables. `deltas`: as `Draft.deltas`.
        """
        uncommitted = Draft(None, 0, 0.0, deltas=deltas)
        self.by_table.update(self.add(uncommitted))
        for call in uncommitted.afterwards:
            call()

    def has_table(self, source_id: bytes) -> bool:
        """True if there are statistics of the table to which a source belongs."""
        return table_prefix(source_id) in self.by_table

    def limit(self, source_id: bytes, size_bytes: int) -> None:
        """Set a source's size limit. `on_growth` is called when the source exceeds it, at once if it does already."""
        self.size_limits[source_id] = size_bytes
        if self.of(source_id).size_bytes > size_bytes:
            self.has_grown(source_id)

    def has_grown(self, source_id: bytes) -> None:
        """Note that one of the source's partitions may have to be split."""
        self.grown.add(source_id)
        self._on_growth()

    def drop(self, draft: Draft, lower: bytes, upper: bytes) -> int:
        """Add to the draft that statistics of one table's sources, with `lower <= source id < upper`, are deleted.

        Returns the sum of the sizes of these sources in bytes.
        """
        table_id = table_prefix(lower)
        statistics: TableStatistics = draft.kept.get((self, table_id)) or self.by_table.get(table_id, {})
        kept = draft.kept[self, table_id] = {one: statistics[one] for one in statistics if not lower <= one < upper}
        if kept:
            draft.batch.put(layout.STATISTICS_PREFIX + table_id, layout.encode_statistics(kept))
        else:
            draft.batch.delete(layout.STATISTICS_PREFIX + table_id)
        draft.afterwards.append(lambda: self._forget(lower, upper))
        return sum([size_bytes for source_id, (_, size_bytes) in statistics.items() if source_id not in kept])

    def _forget(self, lower: bytes, upper: bytes) -> None:
        for source_id in [one for one in self.size_limits if lower <= one < upper]:
            del self.size_limits[source_id]
            self.grown.discard(source_id)
        table_id = table_prefix(lower)
        kept = {one: row for one, row in self.by_table.get(table_id, {}).items() if not lower <= one < upper}
        if kept:
            self.by_table[table_id] = kept
        else:
            self.by_table.pop(table_id, None)


def _figures_of(source_id: bytes, by_table: dict[bytes, TableStatistics]) -> tuple[int, int]:
    return by_table.get(table_prefix(source_id), {}).get(source_id, NO_ROWS)


def grown_sources(by_table: dict[bytes, TableStatistics], size_limits: dict[bytes, int]) -> set[bytes]:
    """Source ids of the sources beyond their size limits. 0.3 µs for each source."""
    return {one for one, limit in size_limits.items() if _figures_of(one, by_table)[1] > limit}


def read_statistics(engine: Engine) -> dict[bytes, TableStatistics]:
    """Table id (4 bytes) → stored statistics of its sources. Raises StorageCorruption and the engine's exceptions."""
    prefix_bytes = len(layout.STATISTICS_PREFIX)
    return {
        engine_key[prefix_bytes:]: layout.decode_statistics(row)
        for engine_key, row in scan_prefix(engine, layout.STATISTICS_PREFIX)
    }
