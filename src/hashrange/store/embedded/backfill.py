"""How is an index built while its table is written? Row by row, in order of the table's keys.

A position divides a table: every item up to it has its entry, kept up by whoever writes it; no item behind it has one, and
whoever writes one leaves the index alone, because the walk is still to come. So each slice and each write is exact by
itself, nothing is looked up to find out whether it is there, and figures are true at any time. The position is committed
with the entries that it stands for (docs/adr/0015-online-indexes.md).
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from hashrange.errors import StorageBusy
from hashrange.items.rows import decode_row, row_size_bytes
from hashrange.items.types import Key, Row
from hashrange.steps import undisturbed
from hashrange.store.embedded import layout
from hashrange.store.embedded.engine import SKIPPED_KEYS_MAX, Engine, new_batch
from hashrange.store.embedded.reading import SOURCE_BYTES, Cursor, scan_prefix
from hashrange.store.embedded.workplace import Workplace
from hashrange.store.interface import Backfilled
from hashrange.tables.change import Change
from hashrange.tables.entries import Entry, derive_entry
from hashrange.tables.schema import Index, Table
from hashrange.tables.sources import ReadSource, index_source_id, index_sources

SLICE_BYTES_MAX = 256 * 1024
"""Rows decoded in one slice: some 3 ms."""
_FIRST_CHUNK_ROWS = 8
"""Rows read before their length is known: 3 MB at most."""
_CHUNK_ROWS = 128
_START = Key(b"")


class Slice(NamedTuple):
    """The next rows of an index's table, and their entries."""

    source: ReadSource
    row_count: int
    position: Key
    """Key of the last row, where the walk stands afterwards."""
    entries: list[Entry]
    is_last: bool
    """True when the table has no rows behind it."""

    def put_into(self, batch: Engine) -> dict[bytes, tuple[int, int]]:
        """Put everything but the end of the work into `batch`; returns what it does to figures, by source."""
        source = self.source.source
        size_bytes = 0
        for entry in self.entries:
            batch.put(source + entry.key, entry.row)
            size_bytes += row_size_bytes(entry.row)
        if self.is_last:
            batch.delete(layout.backfill_key(source))
        else:
            batch.put(layout.backfill_key(source), self.position)
        return {source: (len(self.entries), size_bytes)} if self.entries else {}


class Backfills:
    """How far the CREATING indexes of a store have been built."""

    def __init__(self, store: Workplace) -> None:
        self._store = store
        self.positions: dict[bytes, Key] = {}
        """Source of the index → key of the last row that has its entry; empty: none has."""

    def load(self, engine: Engine) -> None:
        """Read the positions from a newly opened engine."""
        prefix_bytes = len(layout.BACKFILL_PREFIX)
        stored = {key[prefix_bytes:]: Key(row) for key, row in scan_prefix(engine, layout.BACKFILL_PREFIX)}
        self.positions = {
            source: stored.get(source, _START)
            for table in self._store.catalog.all_tables()
            for source in [index_source_id(table, index) for index in table.indexes if index.state == "CREATING"]
        }

    def watch(self, table: Table) -> bool:
        """Take in the CREATING indexes of a table; True when there was a new one."""
        sources = [index_source_id(table, index) for index in table.indexes if index.state == "CREATING"]
        added = {source: _START for source in sources if source not in self.positions}
        self.positions |= added
        return bool(added)

    def forget(self, lower: bytes, upper: bytes) -> None:
        """Drop the positions of sources that are gone."""
        for source in [source for source in self.positions if lower <= source < upper]:
            del self.positions[source]

    def maintained(self, changes: Sequence[Change]) -> Sequence[Change]:
        """The changes with those entries only that are to be written now, and not by the walk."""
        if not self.positions:
            return changes
        positions = self.positions
        kept = []
        for change in changes:
            key = change.key
            entries = [
                entry
                for entry in change.entries
                if entry.source.source not in positions or key <= positions[entry.source.source]
            ]
            kept.append(change._replace(entries=entries) if len(entries) < len(change.entries) else change)
        return kept

    def going_on(self) -> list[tuple[Table, Index]]:
        """The indexes that are being built."""
        found = []
        for source in self.positions:
            table = self._store.catalog.by_id[int.from_bytes(source[:4], "big")]
            found += [(table, index) for index in table.indexes if index_source_id(table, index) == source]
        return found

    async def advance(self, table: Table, index: Index, limit_rows: int) -> Backfilled:
        """As `Store.backfill`. From reading the rows to the commit nothing suspends; what did is begun again."""
        store = self._store
        skipped_keys_max = SKIPPED_KEYS_MAX
        attempt = 0
        while True:
            await store.wait_for_room()
            stored = store.catalog.by_id.get(table.table_id)
            source = None if stored is None else _source_of(stored, index)
            if stored is None or source is None or source.source not in self.positions:
                return Backfilled(0, is_complete=True)
            try:
                with undisturbed():  # UpdateTable makes the first slice within its request
                    built = self._next_slice(source, limit_rows, skipped_keys_max)
            except Exception as error:
                fault = store.fail(error)
                if not isinstance(fault, StorageBusy) or not skipped_keys_max:
                    raise fault from error
                skipped_keys_max = 0
                await store.compact(table.source, layout.prefix_end(table.source))
                continue
            batch = new_batch()
            deltas = built.put_into(batch)
            complete = _activated(stored, index) if built.is_last else None
            if complete is not None:
                batch.put(layout.catalog_key(complete.table_id), layout.encode_table(complete))
            try:
                store.write_batch(batch, deltas)
            except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
                await store.wait_out_stall(error, attempt)
                attempt += 1
                continue
            store.committed()
            if complete is None:
                self.positions[source.source] = built.position
            else:
                del self.positions[source.source]
                store.catalog.adopt(complete)
            return Backfilled(built.row_count, built.is_last)

    def _next_slice(self, source: ReadSource, limit_rows: int, skipped_keys_max: int) -> Slice:
        """The next rows and their entries. Raises the engine's bare exceptions."""
        position = self.positions[source.source]
        table = source.table
        lower, upper = table.source + position, layout.prefix_end(table.source)
        if position:
            lower += b"\x00"
        cursor = Cursor(self._store.engine, lower, upper, is_reverse=False, skipped_keys_max=skipped_keys_max)
        try:
            rows, is_last = _read(cursor, limit_rows)
        finally:
            cursor.drop()
        derived = [derive_entry(source, key, decode_row(row), row) for key, row in rows]
        entries = [entry for entry in derived if entry is not None]
        return Slice(source, len(rows), rows[-1][0] if rows else position, entries, is_last)


def _read(cursor: Cursor, limit_rows: int) -> tuple[list[tuple[Key, Row]], bool]:
    """Rows up to a number or size, at least one; and whether they are the last ones."""
    rows: list[tuple[Key, Row]] = []
    size_bytes = 0
    while True:
        left = limit_rows - len(rows)
        wanted = min(left, _FIRST_CHUNK_ROWS)
        if rows:
            wanted = min(left, _CHUNK_ROWS, (SLICE_BYTES_MAX - size_bytes) * len(rows) // size_bytes + 1)
        chunk = cursor.read(wanted)
        for engine_key, row in chunk:
            rows.append((Key(engine_key[SOURCE_BYTES:]), Row(row)))
            size_bytes += len(row)
            if size_bytes >= SLICE_BYTES_MAX or len(rows) == limit_rows:
                return rows, False
        if len(chunk) < wanted:
            return rows, True


def _activated(table: Table, index: Index) -> Table:
    """The table with an index that is complete."""
    indexes = [
        msgspec.structs.replace(one, state="ACTIVE") if one.index_id == index.index_id else one for one in table.indexes
    ]
    return msgspec.structs.replace(table, indexes=tuple(indexes))


def _source_of(table: Table, index: Index) -> ReadSource | None:
    """The index of that id, if the table still has it."""
    return next((one for one in index_sources(table) if one.index and one.index.index_id == index.index_id), None)
