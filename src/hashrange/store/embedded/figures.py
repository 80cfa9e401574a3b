"""How many rows has each source, and how large are they? Exact, as of the last commit.

All sources of a table share one row of the engine, because one write usually changes several of them: with a row each, a
PutItem with two indexes costs 2.5 µs more.
"""

from collections.abc import Callable
from sys import maxsize

from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.interface import Statistics
from hashrange.tables.source_id import table_prefix

_EMPTY = Statistics(0, 0)

TableFigures = dict[bytes, Statistics]
"""By source; a source that never had a row need not be there."""


class Figures:
    """Of one store."""

    def __init__(self, on_growth: Callable[[], None]) -> None:
        """`on_growth` is called when a source has grown beyond its limit."""
        self._by_table: dict[bytes, TableFigures] = {}
        """By the first bytes of sources, which are the table's id."""
        self.size_limits: dict[bytes, int] = {}
        """Source → size in bytes beyond which a partition of it is to split."""
        self.grown: set[bytes] = set()
        """Sources that have been beyond it."""
        self._on_growth = on_growth

    def load(self, engine: Engine) -> None:
        """Read everything from a newly opened engine, whose sources have no limits yet. Raises StorageCorruption."""
        self._by_table = read_figures(engine)
        self.size_limits.clear()
        self.grown.clear()

    def of(self, source: bytes) -> Statistics:
        """Item count and size of a source."""
        figures = self._by_table.get(table_prefix(source))
        return _EMPTY if figures is None else figures.get(source, _EMPTY)

    def add(self, draft: Draft) -> dict[bytes, TableFigures]:
        """Add to a commit what its deltas change the figures to; returns what `added` is to be told once it is in."""
        changed: dict[bytes, TableFigures] = {}
        for source, (count_delta, size_delta) in draft.deltas.items():
            table_id = table_prefix(source)
            figures = changed.get(table_id)
            if figures is None:
                figures = changed[table_id] = self._by_table.get(table_id, {}).copy()
            count, size_bytes = figures.get(source, _EMPTY)
            count += count_delta
            size_bytes += size_delta
            assert count >= 0
            assert size_bytes >= 0
            figures[source] = Statistics(count, size_bytes)
            if size_bytes > self.size_limits.get(source, maxsize) and source not in self.grown:
                draft.afterwards.append(lambda source=source: self._has_grown(source))  # type: ignore[misc]
        for table_id, figures in changed.items():
            draft.batch.put(layout.FIGURES_PREFIX + table_id, layout.encode_figures(figures))
        return changed

    def added(self, changed: dict[bytes, TableFigures]) -> None:
        """The commit is in."""
        self._by_table.update(changed)

    def limit(self, source: bytes, size_bytes: int) -> None:
        """From now on, whoever wants to know hears when the source has grown beyond that."""
        self.size_limits[source] = size_bytes
        if self.of(source).size_bytes > size_bytes:
            self._has_grown(source)

    def _has_grown(self, source: bytes) -> None:
        self.grown.add(source)
        self._on_growth()

    def drop(self, draft: Draft, lower: bytes, upper: bytes) -> int:
        """Add to a commit that the sources of one table from `lower` on, before `upper`, are gone; returns the bytes that they held."""
        table_id = table_prefix(lower)
        figures: TableFigures = draft.kept.get((self, table_id)) or self._by_table.get(table_id, {})
        kept = draft.kept[self, table_id] = {one: figures[one] for one in figures if not lower <= one < upper}
        if kept:
            draft.batch.put(layout.FIGURES_PREFIX + table_id, layout.encode_figures(kept))
        else:
            draft.batch.delete(layout.FIGURES_PREFIX + table_id)
        draft.afterwards.append(lambda: self._forget(lower, upper))
        return sum([one.size_bytes for source, one in figures.items() if source not in kept])

    def _forget(self, lower: bytes, upper: bytes) -> None:
        for source in [one for one in self.size_limits if lower <= one < upper]:
            del self.size_limits[source]
            self.grown.discard(source)
        table_id = table_prefix(lower)
        kept = {one: row for one, row in self._by_table.get(table_id, {}).items() if not lower <= one < upper}
        if kept:
            self._by_table[table_id] = kept
        else:
            self._by_table.pop(table_id, None)


def read_figures(engine: Engine) -> dict[bytes, TableFigures]:
    """What is stored, by table id. Raises StorageCorruption."""
    prefix_bytes = len(layout.FIGURES_PREFIX)
    return {
        engine_key[prefix_bytes:]: layout.decode_figures(row)
        for engine_key, row in scan_prefix(engine, layout.FIGURES_PREFIX)
    }
