"""How is a source filled from a table that is written meanwhile? By a walk over the table's rows, in order of their keys.

A source to be filled (a new index, or a table's queue of expiries) has a position that divides the table. What follows
from rows up to the position is in the source, and writes maintain it; what follows from later rows is not, and writes
to them leave the source alone, because the walk is still to come. So each slice and each write is exact by itself,
nothing has to be looked up first, and statistics are correct at any time. The position is committed with the slice that
it stands for (docs/adr/0015-online-indexes.md).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hashrange.items.keys import prefix_upper_bound
from hashrange.items.steps import PIECE_BYTES
from hashrange.items.types import Key, Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.participant import Participant
from hashrange.store.embedded.reading import Cursor, scan_prefix
from hashrange.tables.change import Change
from hashrange.tables.entries import EntryWrite
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from hashrange.tables.source_id import key_in_source, table_prefix

SLICE_BYTES_MAX = 256 * 1024
"""Bytes of rows decoded in one slice: some 3 ms."""
_FIRST_CHUNK_ROWS = 1
"""Rows read before their length is known: their JSON has up to 4 MB."""
_CHUNK_ROWS = 128
_START = Key(b"")


class Clogged(Exception):
    """Too many deleted rows stand in the walk's way."""


class Outrun(Exception):
    """Large rows were written while a walk derived entries from them."""


class Limits(NamedTuple):
    """Limits of one slice of a walk."""

    rows: int
    skipped_keys: int
    """Deleted keys that may stand in the way; 0: no limit."""
    patience: int
    """How often the slice may still be outrun."""


class WalkSlice(NamedTuple):
    """The next rows of a walk."""

    rows: list[tuple[Key, Row]]
    is_last: bool
    """True if the table has no rows after these."""


class Ahead(NamedTuple):
    """The next rows of a walk, as they were before the commit, with what was derived from each."""

    engine: Engine
    position: int
    """Position of the next commit when the rows were read."""
    table: OpenTable
    part: WalkSlice
    derived: dict[Key, tuple[Row, Any]]


class Walks:
    """All walks of a store, and their positions."""

    def __init__(self, participants: Sequence[Participant], wake: Callable[[], None]) -> None:
        self._participants = participants
        self._wake = wake
        self.positions: dict[bytes, Key] = {}
        """Source → key of the last row that it was filled from; at first empty."""

    def load(self, engine: Engine, tables: Sequence[OpenTable]) -> None:
        """Read the positions from a newly opened engine, after the participants have been loaded."""
        prefix_bytes = len(layout.BACKFILL_PREFIX)
        stored = {key[prefix_bytes:]: Key(row) for key, row in scan_prefix(engine, layout.BACKFILL_PREFIX)}
        self.positions = {
            source_id: stored.get(source_id, _START) for table in tables for source_id in self._wanted(table.schema)
        }

    def _wanted(self, table: Table) -> list[bytes]:
        return [source_id for participant in self._participants for source_id in participant.walks(table)]

    def table_changes(self, draft: Draft, table: Table) -> None:
        """Begin and end walks of a table that is made or replaced."""
        wanted = self._wanted(table)
        own = table_prefix(table.source_id)
        for source_id in [one for one in self.positions if one.startswith(own) and one not in wanted]:
            self.drop(draft, source_id, source_id + b"\x00")
        draft.afterwards.append(lambda: self._begin(wanted))

    def _begin(self, wanted: list[bytes]) -> None:
        added = {source_id: _START for source_id in wanted if source_id not in self.positions}
        self.positions |= added
        if added:
            self._wake()

    def drop(self, draft: Draft, lower: bytes, upper: bytes) -> None:
        """End the walks of deleted sources, from `lower` on, before `upper`."""
        draft.batch.delete_range(layout.backfill_key(lower), layout.backfill_key(upper))
        draft.afterwards.append(lambda: self._forget(lower, upper))

    def _forget(self, lower: bytes, upper: bytes) -> None:
        for source_id in [source_id for source_id in self.positions if lower <= source_id < upper]:
            del self.positions[source_id]

    # --- for writes during a walk ---------------------------------------------------------------

    def has_passed(self, source_id: bytes, key: Key) -> bool:
        """True if a write to the row at `key` must maintain the source; always so once the walk has ended."""
        position = self.positions.get(source_id)
        return position is None or key <= position

    def passed(self, changes: Sequence[Change]) -> Sequence[EntryWrite]:
        """The index entry writes of these changes, without those that are left to a walk."""
        if self.positions:
            return [
                one for change in changes for one in change.entries if self.has_passed(one.source.source_id, change.key)
            ]
        return [one for change in changes for one in change.entries]

    # --- the walk -------------------------------------------------------------------------------

    def look_ahead(self, engine: Engine, position: int, table: OpenTable, source_id: bytes, limits: Limits) -> Ahead:
        """Read the next rows, and derive what follows from them. May give way. Raises the engine's bare exceptions."""
        filler = self._filler(table.schema, source_id)
        part = _read_slice(engine, table, self.positions[source_id], limits)
        derived = {key: (row, filler.derive(table, source_id, key, row)) for key, row in part.rows}
        return Ahead(engine, position, table, part, derived)

    def next_slice(self, draft: Draft, table: OpenTable, source_id: bytes, limits: Limits, ahead: Ahead) -> WalkSlice:
        """Add to the commit what follows from the next rows, and the walk's new position.

        If anything was committed since `ahead`, the rows are read again, and only results from unchanged rows are used.
        Raises Outrun if large rows have changed, unless the limits have no patience left; and bare exceptions.
        """
        filler = self._filler(table.schema, source_id)
        part, derived = ahead.part, ahead.derived
        if (ahead.engine, ahead.position, ahead.table) != (draft.engine, draft.position, table):
            part = _read_slice(draft.engine, table, self.positions[source_id], limits)
            known = derived if ahead.table is table else {}
            derived = {key: known[key] for key, row in part.rows if key in known and known[key][0] == row}
            for key, row in part.rows:
                if key not in derived:
                    if len(row) > PIECE_BYTES and limits.patience:
                        raise Outrun
                    derived[key] = row, filler.derive(table, source_id, key, row)
        filler.fill(draft, table, source_id, [derived[key][1] for key, _ in part.rows])
        if part.is_last:
            draft.batch.delete(layout.backfill_key(source_id))
            draft.afterwards.append(lambda: self._forget(source_id, source_id + b"\x00"))
        else:
            position = part.rows[-1][0]
            draft.batch.put(layout.backfill_key(source_id), position)
            draft.afterwards.append(lambda: self.positions.update({source_id: position}))
        return part

    def filled(self, table: Table, source_id: bytes) -> Table:
        """The table's description once the source has been filled."""
        return self._filler(table, source_id).filled(table, source_id)

    def _filler(self, table: Table, source_id: bytes) -> Participant:
        """The participant that requested the walk for that source."""
        return next(one for one in self._participants if source_id in one.walks(table))


def _read_slice(engine: Engine, table: OpenTable, position: Key, limits: Limits) -> WalkSlice:
    """The rows after a walk's position. Raises the engine's bare exceptions."""
    lower, upper = table.source_id + position, prefix_upper_bound(table.source_id)
    if position:
        lower += b"\x00"
    cursor = Cursor(engine, lower, upper, is_reverse=False, skipped_keys_max=limits.skipped_keys)
    try:
        return _read(cursor, limits.rows)
    finally:
        cursor.drop()


def _read(cursor: Cursor, limit_rows: int) -> WalkSlice:
    """The next rows, at least one, until `limit_rows` or SLICE_BYTES_MAX is reached."""
    rows: list[tuple[Key, Row]] = []
    size_bytes = 0
    while True:
        left = limit_rows - len(rows)
        wanted = min(left, _FIRST_CHUNK_ROWS)
        if rows:
            wanted = min(left, _CHUNK_ROWS, (SLICE_BYTES_MAX - size_bytes) * len(rows) // size_bytes + 1)
        chunk = cursor.read(wanted)
        for engine_key, row in chunk:
            rows.append((key_in_source(engine_key), Row(row)))
            size_bytes += len(row)
            if size_bytes >= SLICE_BYTES_MAX or len(rows) == limit_rows:
                return WalkSlice(rows, is_last=False)
        if len(chunk) < wanted:
            return WalkSlice(rows, is_last=True)
