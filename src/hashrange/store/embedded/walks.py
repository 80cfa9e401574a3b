"""How is a source filled from a table that is written meanwhile?
By a walk over the table's rows, in order of their keys.

A source to be filled (a new index, or a table's queue of expiries) has a *position*: the key of the last row of the
table that the walk has passed. The entries or expiries of rows up to there are in the source, and writes maintain them;
those of later rows are not, and writes to these rows leave the source alone, because the walk is still to come. So each
slice and each write is exact by itself, without looking anything up first, and statistics are correct at any time. Each
slice commits the new position (docs/adr/0015-online-indexes.md).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hashrange.items.keys import prefix_upper_bound
from hashrange.items.steps import PIECE_BYTES
from hashrange.items.types import Key, Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.open_tables import OpenTables
from hashrange.store.embedded.participant import Participant
from hashrange.store.embedded.reading import scan_prefix, scan_range
from hashrange.tables.change import Change
from hashrange.tables.entries import EntryWrite
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from hashrange.tables.source_id import key_in_source, table_prefix

SLICE_BYTES_MAX = 256 * 1024
"""A slice ends with the row that makes its rows reach this length; to decode them takes some 3 ms."""
_START = Key(b"")


class Clogged(Exception):
    """A walk's read gave up because too many deleted rows stand in its way."""


class Outrun(Exception):
    """After other commits, a walk's slice has large rows that were not passed to `derive`; the slice is repeated."""


class Limits(NamedTuple):
    """Limits of one slice of a walk."""

    rows: int
    skipped_keys: int
    """Deleted keys that a read may pass before it gives up; 0: no limit."""
    patience: int
    """How often the slice may still raise Outrun, that is, be repeated because commits changed its rows meanwhile."""


class WalkSlice(NamedTuple):
    """The next rows of a walk, in order of their keys."""

    rows: list[tuple[Key, Row]]
    is_last: bool
    """True if the read has met the end of the table's rows; False: more rows may follow."""


class Ahead(NamedTuple):
    """A walk's next rows, read before the slice's commit is put together, with the results of `Participant.derive`."""

    engine: Engine
    position: int
    """Position of the next commit when the rows were read."""
    table: OpenTable
    part: WalkSlice
    derived: dict[Key, tuple[Row, Any]]


class Walks:
    """All walks of a store, each with the key of the last row that it has passed (its position)."""

    def __init__(self, opened: OpenTables, wake: Callable[[], None]) -> None:
        self._opened = opened
        self._wake = wake
        self.positions: dict[bytes, Key] = {}
        """Source id that a walk fills → key of the last row that the walk has passed; an empty key at the start."""

    def read(self, engine: Engine, tables: Sequence[Table]) -> dict[bytes, Key]:
        """Read from a newly opened engine with these tables how far each walk has come, on any thread."""
        prefix_bytes = len(layout.BACKFILL_PREFIX)
        stored = {key[prefix_bytes:]: Key(row) for key, row in scan_prefix(engine, layout.BACKFILL_PREFIX)}
        walking = [one for one in self._opened.participants if type(one).walks is not Participant.walks]
        return {
            source_id: stored.get(source_id, _START)
            for table in tables
            for participant in walking
            if participant.takes_part(table)
            for source_id in participant.walks(table)
        }

    def table_changes(self, draft: Draft, table: Table) -> None:
        """When a table is made or replaced, begin the walks that it now needs, and end its other walks."""
        wanted = [source_id for participant in self._opened.participants for source_id in participant.walks(table)]
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
        """End the walks that fill sources with `lower <= source id < upper`, which are complete or deleted."""
        draft.batch.delete_range(layout.BACKFILL_PREFIX + lower, layout.BACKFILL_PREFIX + upper)
        draft.afterwards.append(lambda: self._forget(lower, upper))

    def _forget(self, lower: bytes, upper: bytes) -> None:
        for source_id in [source_id for source_id in self.positions if lower <= source_id < upper]:
            del self.positions[source_id]

    # --- for writes during a walk ---------------------------------------------------------------

    def has_passed(self, source_id: bytes, key: Key) -> bool:
        """True if a write to the row at `key` must maintain the source: a walk has passed the key, or none fills it."""
        position = self.positions.get(source_id)
        return position is None or key <= position

    def passed(self, changes: Sequence[Change]) -> Sequence[EntryWrite]:
        """The index entry writes of these changes, except into indexes whose walk has not passed the changed row."""
        if self.positions:
            return [
                one for change in changes for one in change.entries if self.has_passed(one.source.source_id, change.key)
            ]
        return [one for change in changes for one in change.entries]

    # --- the walk -------------------------------------------------------------------------------

    def look_ahead(self, engine: Engine, position: int, table: OpenTable, source_id: bytes, limits: Limits) -> Ahead:
        """Read a walk's next rows, and call the participant's `derive` for each; may give way.

        `position`: of the next commit. Raises the engine's exceptions, not converted to StorageError.
        """
        filler = self.filler(table.schema, source_id)
        part = _read_slice(engine, table, self.positions[source_id], limits)
        derived = {key: (row, filler.derive(table, source_id, key, row)) for key, row in part.rows}
        return Ahead(engine, position, table, part, derived)

    def next_slice(self, draft: Draft, table: OpenTable, source_id: bytes, limits: Limits, ahead: Ahead) -> WalkSlice:
        """Add to the draft what `Participant.fill` makes of a walk's next rows, and the last row's key as position.

        If a commit was made since `ahead` was read, the rows are read again, and `ahead` is used for unchanged ones,
        if the table's description is unchanged too. Raises Outrun if `ahead` cannot be used for a large row, and
        `limits.patience` is above 0; or the engine's exceptions, not converted to StorageError.
        """
        filler = self.filler(table.schema, source_id)
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
            draft.batch.delete(layout.BACKFILL_PREFIX + source_id)
            draft.afterwards.append(lambda: self._forget(source_id, source_id + b"\x00"))
        else:
            position = part.rows[-1][0]
            draft.batch.put(layout.BACKFILL_PREFIX + source_id, position)
            draft.afterwards.append(lambda: self.positions.update({source_id: position}))
        return part

    def filler(self, table: Table, source_id: bytes) -> Participant:
        """The participant that requested the walk that fills `source_id`."""
        return next(one for one in self._opened.participants if source_id in one.walks(table))


def _read_slice(engine: Engine, table: OpenTable, position: Key, limits: Limits) -> WalkSlice:
    """The table's next rows after key `position`, at least one if there is any, until the limit of rows or
    SLICE_BYTES_MAX is reached. Raises the engine's exceptions, not converted to StorageError.
    """
    lower, upper = table.source_id + position, prefix_upper_bound(table.source_id)
    if position:
        lower += b"\x00"
    rows: list[tuple[Key, Row]] = []
    size_bytes = 0
    for engine_key, row in scan_range(engine, lower, upper, skipped_keys_max=limits.skipped_keys):
        rows.append((key_in_source(engine_key), Row(row)))
        size_bytes += len(row)
        if size_bytes >= SLICE_BYTES_MAX or len(rows) == limits.rows:
            return WalkSlice(rows, is_last=False)
    return WalkSlice(rows, is_last=True)
