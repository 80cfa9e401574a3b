"""Are secondary indexes correct? Every item has its entries, every entry has its item, and both agree.

An index that is being built holds the entries of the items that the walk that fills it has passed, and no others.
Index writes that wait in the outbox (`outbox.py`), and late entries (`late_entries.py`), count as done.
"""

from collections.abc import Iterator, Sequence

from hashrange.items.rows import decode_row
from hashrange.items.types import Item, Key, Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.expiries import is_enabling
from hashrange.store.embedded.late_entries import late_writes
from hashrange.store.embedded.outbox import delayed_writes
from hashrange.store.embedded.reading import scan_prefix
from hashrange.tables.entries import derive_entry
from hashrange.tables.keys import key_of
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.source_id import source_id_of


class IndexCheck:
    """Compares items with their index entries. Raises any exception that damaged bytes cause."""

    def __init__(self, engine: Engine, tables: Sequence[OpenTable]) -> None:
        self._engine = engine
        self._sources: dict[bytes, ReadSource] = {
            source.source_id: source for table in tables for source in table.indexes
        }
        prefix_bytes = len(layout.BACKFILL_PREFIX)
        stored: dict[bytes, bytes] = {
            source_id_of(key[prefix_bytes:]): row for key, row in scan_prefix(engine, layout.BACKFILL_PREFIX)
        }
        filled = {table.source_id for table in tables if is_enabling(table.schema)}
        self.stray_sources = sorted(
            source.hex()
            for source in stored
            if source not in filled and (source not in self._sources or not _is_building(self._sources[source]))
        )
        """Hex ids of sources for which a row says how far a walk has filled them, although no walk is filling them."""
        self._waiting: dict[bytes, bytes | None] = {}
        """Engine key of an index entry → its row once outbox and late entries are written; None: deleted."""
        late = [write for _, write in late_writes(engine, self._sources.get) if write is not None]
        for write in [*delayed_writes(engine), *late]:
            if write.old_key is not None:
                self._waiting[write.source_id + write.old_key] = None
            if write.new_key is not None:
                self._waiting[write.source_id + write.new_key] = write.new_row
        self._positions = {
            source: stored.get(source, b"") for source, index in self._sources.items() if _is_building(index)
        }

    def item_faults(self, table: OpenTable, key: Key, row: Row) -> Iterator[str]:
        """Report missing and wrong index entries of the item at `key`."""
        if not table.indexes:
            return
        item = decode_row(row)
        for source in table.indexes:
            if not self._covers(source, key):
                continue
            entry = derive_entry(source, key, item, row)
            if entry is not None and self._entry(source.source_id + entry.key) != entry.row:
                yield (
                    f"row {(table.source_id + key).hex()} of table {table.name} has no entry, or"
                    f" another one, in {_name(source)}"
                )

    def entry_fault(self, table: OpenTable, engine_key: bytes, item: Item) -> str | None:
        """The fault of the index entry `item` at `engine_key` (no such index, no item, a wrong key, or an item that the
        walk has not passed), or None.

        Whether the entry has the right attributes is checked by `item_faults`.
        """
        source = self._sources.get(source_id_of(engine_key))
        if source is None:
            return f"row {engine_key.hex()} belongs to no index of table {table.name}"
        if engine_key in self._waiting:
            return None
        place = f"entry {engine_key.hex()} in {_name(source)} of table {table.name}"
        key = table.lookup_key(key_of(table.keys, item))
        row = self._engine.get(table.source_id + key)
        if row is None:
            return f"{place} has no item"
        if not self._covers(source, key):
            return f"{place} lies ahead of how far the index has been built"
        derived = derive_entry(source, key, decode_row(row), row)
        if derived is None or source.source_id + derived.key != engine_key:
            return f"{place} is not where its item's entry stands"
        return None

    def _entry(self, engine_key: bytes) -> bytes | None:
        """The row of the index entry at `engine_key` once outbox and late entries are written, or None."""
        if engine_key in self._waiting:
            return self._waiting[engine_key]
        row: bytes | None = self._engine.get(engine_key)
        return row

    def _covers(self, source: ReadSource, key: Key) -> bool:
        """False if the index is being built, and the walk that fills it has not reached the item at `key`."""
        position = self._positions.get(source.source_id)
        return position is None or key <= position


def _is_building(source: ReadSource) -> bool:
    return source.index is not None and source.index.state == "CREATING"


def _name(source: ReadSource) -> str:
    assert source.index is not None
    return f"index {source.index.name}"
