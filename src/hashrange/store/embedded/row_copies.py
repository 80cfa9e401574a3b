"""How are rows read as of one moment while they are written? A write to a row that a copy has not passed keeps the
former row for it; changes between a moment in the past and the begin of the copy are undone by the table's change log.

    prefix ‖ number of the copy ‖ key     → sequence number of the change ‖ row before it (nothing: there was none)

So a copy walks over the present rows in the order of their keys, and takes the kept row where there is one. Writers
never wait, and all that a copy is stands in the engine: it goes on after a kill. Rows may stay without their table,
while a copy reads them or an owner keeps them. Why: docs/adr/0071-row-copies.md.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import msgspec

from hashrange.errors import StorageBusy
from hashrange.items.keys import prefix_upper_bound
from hashrange.items.row_layout import row_sizes_bytes
from hashrange.items.types import Item, Key, Row
from hashrange.store.embedded import layout
from hashrange.store.embedded.catalog import RECLAIMED_BYTES_MIN, EmbeddedCatalog
from hashrange.store.embedded.change_log import ChangeLog
from hashrange.store.embedded.changed_rows import LoggedChange, before_and_behind, changed_row
from hashrange.store.embedded.commits import Commits
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import SKIPPED_KEYS_MAX, Engine
from hashrange.store.embedded.open_tables import StoredTable
from hashrange.store.embedded.reading import read_range, scan_range
from hashrange.store.embedded.staged_rows import StagedRows, StoredCopy, encode_copy
from hashrange.store.embedded.stalls import wait_while_behind, wait_while_flushing
from hashrange.store.embedded.statistics import NO_ROWS
from hashrange.store.embedded.streams import delete_rows
from hashrange.store.row_copies import NO_ITEMS, Begun, ChangedRows, CopiedRows, Moved, RowCopy
from hashrange.store.statistics import Statistics
from hashrange.tables.change import Change, Origin, followed_item
from hashrange.tables.entries import derive_entry_writes
from hashrange.tables.keys import key_functions
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from hashrange.tables.source_id import SOURCE_BYTES, SourceId, make_source_id, table_id_of
from hashrange.tables.stream_records import keys_of, plain_record, split_record
from hashrange.tables.streams import SEQUENCE_BYTES, last_sequence_at, sequence_at

T = TypeVar("T")
SLICE_BYTES, SLICE_ROWS = 64 * 1024, 256
"""Rows that one slice moves: 0.3 to 0.5 ms for small items without indexes."""
FIRST_SLICES = 4
"""The operation that begins a copy moves as many rows as so many slices, which are all rows of a small table."""
STORED_SLICES = 2048
"""After so many slices a large copy and the statistics of its target are stored: 128 MB, which a kill lets count again.
"""
ALONE_BYTES_MIN = 4_000_000
"""Size of the source from which on the rows of its copy are moved by commits that write nothing else: a memtable."""
UNDONE_TOGETHER, UNDONE_BYTES = 256, 512 * 1024
"""Changes that one slice undoes, and the length of their records."""


class EmbeddedRowCopies:
    """Implements `row_copies.RowCopies`."""

    def __init__(self, commits: Commits, catalog: EmbeddedCatalog) -> None:
        self._commits, self._site, self._catalog = commits, commits.site, catalog
        self._opened = self._site.tables
        participants = self._opened.participants
        self._staged = next(one for one in participants if isinstance(one, StagedRows))
        self._windows = next(one.windows for one in participants if isinstance(one, ChangeLog))
        self.attended: set[str] = set()

    @contextmanager
    def attending(self, owner: str) -> Iterator[None]:
        """Implements `RowCopies.attending`."""
        self.attended.add(owner)
        try:
            yield
        finally:
            self.attended.discard(owner)

    # --- what there is ----------------------------------------------------------------------------

    def owners(self) -> Collection[str]:
        """Implements `RowCopies.owners`."""
        return self._staged.by_owner.keys()

    def copy_of(self, owner: str) -> RowCopy | None:
        """Implements `RowCopies.copy_of`."""
        number = self._staged.by_owner.get(owner)
        if number is None:
            return None
        one = self._staged.by_number[number]
        return RowCopy(number, SourceId(one.source_id), one.at_seconds, one.is_ready, Key(one.passed))

    def begun_after(self, number: int) -> Sequence[tuple[int, str]]:
        """Implements `RowCopies.begun_after`."""
        return self._staged.begun_after(number)

    def kept(self) -> dict[str, SourceId]:
        """Implements `RowCopies.kept`."""
        return self._staged.kept

    def users(self, source_id: SourceId) -> Collection[str]:
        """Implements `RowCopies.users`."""
        return self._staged.users(source_id)

    def kept_statistics(self, source_id: SourceId) -> Statistics:
        """Implements `RowCopies.kept_statistics`."""
        return self._site.statistics.of(source_id)

    def restorable_since(self, table: Table) -> float | None:
        """Implements `RowCopies.restorable_since`."""
        return self._windows.since_seconds(table, self._site.clock.service_time())

    # --- the begin and the end of a copy ----------------------------------------------------------

    async def begin(self, owner: str, table: Table, at_seconds: float | None = None) -> Begun | None:
        """Implements `RowCopies.begin`. Suspends only if the engine is stalled."""
        return await self._commits.commit(lambda draft: self._begin(draft, owner, table, at_seconds))

    def _begin(self, draft: Draft, owner: str, table: Table, at_seconds: float | None) -> Begun | None:
        opened = self._opened.find(table.table_id)
        if opened is None or opened.schema.uuid != table.uuid:
            return None
        source_id = opened.source_id
        last = self._windows.last_sequence
        since = last + 1 if at_seconds is None else last_sequence_at(at_seconds) + 1
        moment = draft.at_seconds if at_seconds is None else at_seconds
        is_ready = since > last
        ends = layout.encode_sequence(since), layout.encode_sequence(last)
        self._put_new(draft, StoredCopy(owner, source_id, opened.keys, moment, *ends, is_ready=is_ready))
        draft.afterwards.append(lambda: self._catalog.reopen_table(table.table_id))
        return Begun(opened.schema, self._site.statistics.of(source_id))

    async def begin_of_changes(
        self, owner: str, table: Table, since_seconds: float, until_seconds: float
    ) -> Begun | None:
        """Implements `RowCopies.begin_of_changes`. Suspends only if the engine is stalled."""

        def begin(draft: Draft) -> Begun | None:
            opened = self._opened.find(table.table_id)
            if opened is None or opened.schema.uuid != table.uuid:
                return None
            until = min(sequence_at(until_seconds) - 1, self._windows.last_sequence)
            ends = layout.encode_sequence(sequence_at(since_seconds)), layout.encode_sequence(until)
            source_id = opened.source_id
            copy = StoredCopy(owner, source_id, opened.keys, until_seconds, *ends, is_ready=False, is_of_changes=True)
            self._put_new(draft, copy)
            return Begun(opened.schema, self._site.statistics.of(source_id))

        return await self._commits.commit(begin)

    async def begin_of_kept(self, owner: str, source_id: SourceId) -> None:
        """Implements `RowCopies.begin_of_kept`."""
        nothing = layout.encode_sequence(0)
        copy = StoredCopy(owner, source_id, None, self._site.clock.service_time(), nothing, nothing)
        await self._commits.commit(partial(self._put_new, copy=copy))

    def _put_new(self, draft: Draft, copy: StoredCopy) -> None:
        if copy.owner in self._staged.by_owner:
            return  # a job has begun it, while the engine kept its operation waiting
        self._put(draft, self._staged.last_number + 1, copy)

    def _put(self, draft: Draft, number: int, copy: StoredCopy) -> None:
        draft.batch.put(layout.COPY_PREFIX + layout.encode_short(number), encode_copy(copy))
        draft.afterwards.append(lambda: self._staged.see(number, copy))

    async def end(self, owner: str) -> None:
        """Implements `RowCopies.end`."""
        if owner in self._staged.by_owner:
            await self._commits.commit(lambda draft: self._end(draft, owner))

    def _end(self, draft: Draft, owner: str) -> None:
        number = self._staged.by_owner.get(owner)
        if number is None:
            return
        copy = self._staged.by_number[number]
        table_id = table_id_of(copy.source_id)
        draft.batch.delete(layout.COPY_PREFIX + layout.encode_short(number))
        self._store_statistics(draft, number, copy.target)
        lower = layout.staged_prefix(number)
        delete_rows(draft, lower, prefix_upper_bound(lower))
        draft.afterwards.append(lambda: self._staged.forget(number))
        if not copy.is_ready:
            self._windows.leave_untrimmed(draft, table_id)
        if self._opened.find(table_id) is None:
            self._delete_unneeded(draft, copy.source_id, owner)
        else:
            draft.afterwards.append(lambda: self._catalog.reopen_table(table_id))

    def _store_statistics(self, draft: Draft, number: int, target: bytes) -> None:
        """Store the statistics of a target that still is there, of a copy that ends before it has all rows; what they
        do not count is deleted.
        """
        if not self._site.statistics.has_table(target):
            return
        if number in self._staged.uncounted:
            lower = target + self._staged.uncounted[number] + b"\x00"
            draft.batch.delete_range(lower, prefix_upper_bound(target))
        if number in self._staged.uncounted or number in self._staged.unstored:
            draft.deltas = {target: NO_ROWS}

    # --- the rows of a copy -----------------------------------------------------------------------

    async def read(self, owner: str, after: Key, limit_bytes: int) -> CopiedRows:
        """Implements `RowCopies.read`."""
        number = self._staged.by_owner[owner]
        copy = self._staged.by_number[number]
        if not copy.is_ready:
            await self._undo(number)
            return CopiedRows((), after, is_last=False)
        return await self._rows(number, copy, after, limit_bytes, SLICE_ROWS)

    async def _rows(self, number: int, copy: StoredCopy, after: Key, limit_bytes: int, limit_rows: int) -> CopiedRows:
        return await self._scan(
            copy.source_id, partial(_merged, number, copy.source_id, after, limit_bytes, limit_rows)
        )

    async def _scan(self, source_id: bytes, look: Callable[[Engine, int], T]) -> T:
        """The result of `look`, called with how many deleted keys it may pass; again, with any number, when what it
        reads has been compacted.
        """
        try:
            with self._site.failures():
                return look(self._site.engine, SKIPPED_KEYS_MAX)
        except StorageBusy:
            await self._site.compact(source_id, prefix_upper_bound(source_id))
        with self._site.failures():
            return look(self._site.engine, 0)

    async def read_changes(self, owner: str, after: Key, limit_bytes: int) -> ChangedRows:
        """Implements `RowCopies.read_changes`."""
        number = self._staged.by_owner[owner]
        if not self._staged.by_number[number].is_ready:
            await self._undo(number)
            return ChangedRows((), after, is_last=False)
        prefix = layout.staged_prefix(number)
        lower = prefix + (after + b"\x00" if after else b"")
        with self._site.failures():
            upper = prefix_upper_bound(prefix)
            staged, has_all = read_range(self._site.engine, lower, upper, SLICE_ROWS, limit_bytes)
            rows = [changed_row(Key(engine_key[len(prefix) :]), kept) for engine_key, kept in staged]
        return ChangedRows(rows, rows[-1].key if rows else after, has_all)

    async def passed(self, owner: str, key: Key) -> None:
        """Implements `RowCopies.passed`."""
        number = self._staged.by_owner[owner]
        await self._commits.commit(lambda draft: self._pass(draft, number, key))

    def _pass(self, draft: Draft, number: int, key: Key) -> None:
        assert number not in self._staged.unstored
        self._put(draft, number, msgspec.structs.replace(self._staged.by_number[number], passed=key))

    async def move(self, owner: str, target: SourceId | OpenTable) -> Moved:
        """Implements `RowCopies.move`."""
        number = self._staged.by_owner[owner]
        copy = self._staged.by_number[number]
        if not copy.is_ready:
            await self._undo(number)
            return Moved(0, 0, is_last=False)
        if number in self._staged.uncounted:
            await self._count_moved(number, copy)
            return Moved(0, 0, is_last=False)
        if copy.passed:  # an operation moves the first rows, and its client waits
            await wait_while_behind(self._site)
        filled = self._opened.existing(target) if isinstance(target, OpenTable) else None
        source_id = _source_of(target)
        if (filled is None or not filled.participants) and self._is_large(copy):
            return await self._move_alone(number, source_id)
        self._site.is_loaded = True
        sources = 1 if filled is None else 1 + len(filled.entry_sources)
        slices = 1 if copy.passed else FIRST_SLICES
        limits = slices * SLICE_BYTES // sources, slices * SLICE_ROWS // sources
        part = await self._rows(number, copy, Key(copy.passed), *limits)
        add: Callable[[Draft], None]
        if filled is not None and filled.participants:
            changes = [_followed(filled, key, None, row, "restore") for key, row in part.rows]
            add = partial(self._commits.put_changes, table=filled, changes=changes)
        else:
            add = partial(_put_rows, source_id=source_id, rows=part.rows)

        def write(draft: Draft) -> None:
            add(draft)
            self._store(draft, number, source_id, part.last_key)

        await self._commits.commit(write)
        self._forget_change(source_id)
        return Moved(len(part.rows), sum(row_sizes_bytes([row for _, row in part.rows])), part.is_last)

    def _is_large(self, copy: StoredCopy) -> bool:
        """True if a copy is worth memtables of its own."""
        return self._site.statistics.of(copy.source_id).size_bytes >= ALONE_BYTES_MIN

    async def _move_alone(self, number: int, target: SourceId) -> Moved:
        """Move the next rows of a copy by a commit that writes nothing else, or store the copy by one that moves no
        rows. A flush separates the two, so that the data files of rows hold nothing else: no other file overlaps them,
        and the engine moves them from level to level as they are.
        """
        staged, is_last = self._staged, False
        copy, unstored = staged.by_number[number], staged.unstored.get(number, 0)
        rows: Sequence[tuple[Key, Row]] = ()
        passed = copy.passed
        if copy.target == target and unstored < STORED_SLICES:
            if number in staged.mixed:
                await self._flush()
            rows, passed, is_last = await self._rows(number, copy, Key(passed), SLICE_BYTES, SLICE_ROWS)
        if not rows and unstored:
            await self._flush()
        if staged.by_number.get(number) is not copy:
            return Moved(0, 0, is_last=False)  # it has ended meanwhile

        def write(draft: Draft) -> None:
            if rows:
                _put_rows(draft, target, rows)
                self._leave_unstored(draft, number, target, rows[-1][0])
            else:
                self._store(draft, number, target, passed)
                draft.afterwards.append(lambda: staged.mixed.add(number))

        await self._commits.commit(write)
        self._site.moves_alone += 1
        self._forget_change(target)
        return Moved(len(rows), sum(row_sizes_bytes([row for _, row in rows])), is_last and not rows)

    def _store(self, draft: Draft, number: int, target: SourceId, passed: bytes) -> None:
        """Store that a copy has come further, and the statistics of its target."""
        draft.only_of = table_id_of(target)
        draft.deltas.setdefault(target, NO_ROWS)
        self._put(draft, number, msgspec.structs.replace(self._staged.by_number[number], passed=passed, target=target))

    def _leave_unstored(self, draft: Draft, number: int, target: SourceId, passed: Key) -> None:
        """Note that the draft moves rows of a copy, the last of which tells how far it is. Keys behind it that have
        been read are read again: nothing else would tell that they are passed.
        """
        staged, (deltas, draft.deltas) = self._staged, (draft.deltas, {})
        further = msgspec.structs.replace(staged.by_number[number], passed=passed)
        unstored = staged.unstored.get(number, 0) + 1
        draft.only_of = table_id_of(target)
        draft.afterwards.append(lambda: self._site.statistics.count(deltas))
        draft.afterwards.append(lambda: staged.see(number, further, unstored))

    async def _flush(self) -> None:
        """Have the memtable written into a file, and wait for that: memtables that wait together share a file."""
        site = self._site
        if site.is_served:
            await wait_while_flushing(site)
        with site.failures():
            site.engine.flush(not site.is_served)
        if site.is_served:
            await wait_while_flushing(site)

    def _forget_change(self, target: SourceId) -> None:
        """Forget when rows were moved that are no table's: nobody reads them, and waits for a sync."""
        table_id = table_id_of(target)
        if self._opened.find(table_id) is None:
            self._site.changed_at.pop(table_id, None)

    async def _count_moved(self, number: int, copy: StoredCopy) -> None:
        """Count the next rows in the target of a copy that were moved by slices that were not stored."""
        after = self._staged.uncounted[number]
        rows, has_all = await self._scan(copy.target, partial(_behind, copy.target, after))
        if self._staged.by_number.get(number) is not copy:
            return  # it has ended meanwhile
        sizes_bytes = row_sizes_bytes([Row(row) for _, row in rows])
        self._site.statistics.count({copy.target: (len(rows), sum(sizes_bytes))})
        if has_all:
            del self._staged.uncounted[number]
            self._staged.see(number, copy, unstored=1)
        else:
            self._staged.uncounted[number] = Key(rows[-1][0][SOURCE_BYTES:])

    async def load(
        self,
        table: OpenTable,
        rows: Mapping[Key, Row],
        items: Mapping[Key, Item] = NO_ITEMS,
        perhaps_there: Collection[Key] | None = None,
    ) -> None:
        """Implements `RowCopies.load`. 2 µs a row without indexes, and 5 µs to look whether it is new."""
        await wait_while_behind(self._site)
        self._site.is_loaded = True
        ahead = self._changes_ahead(table, rows, items, perhaps_there)

        def write(draft: Draft) -> None:
            opened = self._opened.existing(table)
            get, source_id = draft.engine.get, opened.source_id
            found = {key: get(source_id + key) for key in (rows if perhaps_there is None else perhaps_there)}
            former: dict[Key, Row] = {key: row for key, row in found.items() if row is not None}
            written = [(key, row) for key, row in rows.items() if former.get(key) != row]
            if opened.participants:
                changes = [_loaded(opened, key, former.get(key), row, items.get(key), ahead) for key, row in written]
                self._commits.put_changes(draft, opened, changes)
            else:
                _put_rows(draft, source_id, written, [former[key] for key, _ in written if key in former])
            draft.only_of = opened.table_id

        await self._commits.commit(write)

    def _changes_ahead(
        self,
        table: OpenTable,
        rows: Mapping[Key, Row],
        items: Mapping[Key, Item],
        perhaps_there: Collection[Key] | None,
    ) -> dict[Key, Change]:
        """The changes of rows that are loaded, with their index entries, before the commit is put together: may give
        way, so that the former rows may change. Nothing for a table without indexes and time to live.
        """
        opened = self._opened.existing(table)
        if not opened.entry_sources and not opened.reads_items:
            return {}
        with self._site.failures():
            get, source_id = self._site.engine.get, opened.source_id
            found = {key: get(source_id + key) for key in (rows if perhaps_there is None else perhaps_there)}
        former: dict[Key, Row] = {key: row for key, row in found.items() if row is not None}
        return {key: _loaded(opened, key, former.get(key), row, items.get(key), {}) for key, row in rows.items()}

    async def _undo(self, number: int) -> None:
        """Undo the next changes between the moment of a copy and its begin."""
        if self._staged.by_number[number].undone_down_to:
            await wait_while_behind(self._site)
        self._site.is_loaded = True
        await self._commits.commit(lambda draft: self._undo_some(draft, number))

    def _undo_some(self, draft: Draft, number: int) -> None:
        copy = self._staged.by_number[number]
        assert copy.keys is not None
        names, make_key, prefix = copy.keys.names, key_functions(copy.keys).item, layout.staged_prefix(number)
        staged: dict[bytes, bytes] = {}
        left_bytes, undone = UNDONE_BYTES, copy.undone_down_to
        records = records_before(draft.engine, table_id_of(copy.source_id), undone, copy.since, copy.until)
        is_last = True
        for count, (place, record) in enumerate(records):
            if count == UNDONE_TOGETHER or left_bytes <= 0:
                is_last = False
                break
            undone, sequence = place, place[4:]
            told = split_record(plain_record(record))
            staged_key = prefix + make_key(keys_of(told, names))
            if copy.is_of_changes:
                before = staged.get(staged_key) or draft.engine.get(staged_key)
                staged[staged_key] = before_and_behind(before, LoggedChange(sequence, told.old, told.new))
            else:  # what is staged of the row is of a later change
                staged[staged_key] = sequence + (told.old or b"")
            left_bytes -= len(record)
        for staged_key, kept in staged.items():
            draft.batch.put(staged_key, kept)
        if is_last:
            self._windows.leave_untrimmed(draft, table_id_of(copy.source_id))
        self._put(draft, number, msgspec.structs.replace(copy, undone_down_to=undone, is_ready=is_last))

    # --- kept rows --------------------------------------------------------------------------------

    async def keep(self, owner: str, table: Table | None) -> SourceId | None:
        """Implements `RowCopies.keep`."""
        return await self._commits.commit(lambda draft: self._keep(draft, owner, table))

    def _keep(self, draft: Draft, owner: str, table: Table | None) -> SourceId | None:
        if table is None:
            source_id = make_source_id(self._catalog.take_table_id(draft))
        else:
            opened = self._opened.find(table.table_id)
            if opened is None or opened.schema.uuid != table.uuid:
                return None
            source_id = opened.source_id
        draft.batch.put(layout.kept_key(table_id_of(source_id), owner), b"")
        draft.afterwards.append(lambda: self._staged.keep(owner, source_id))
        return source_id

    async def drop(self, owner: str) -> None:
        """Implements `RowCopies.drop`."""
        if owner in self._staged.kept:
            await self._commits.commit(lambda draft: self._drop(draft, owner))

    def _drop(self, draft: Draft, owner: str) -> None:
        source_id = self._staged.kept.get(owner)
        if source_id is None:
            return
        draft.batch.delete(layout.kept_key(table_id_of(source_id), owner))
        draft.afterwards.append(lambda: self._staged.keep_no_longer(owner))
        if self._opened.find(table_id_of(source_id)) is None:
            self._delete_unneeded(draft, source_id, owner)

    def _delete_unneeded(self, draft: Draft, source_id: bytes, owner: str) -> None:
        """Delete rows of no table, unless anybody else than the owner needs them."""
        if self._staged.needs(source_id, without=owner):
            return
        upper = prefix_upper_bound(source_id)
        draft.batch.delete_range(source_id, upper)
        size_bytes = self._site.statistics.drop(draft, source_id, upper)
        site = self._site
        if size_bytes >= RECLAIMED_BYTES_MIN and site.is_served:
            draft.afterwards.append(lambda: site.housekeeper.compact(site.engine, source_id, upper))


def _source_of(target: SourceId | OpenTable) -> SourceId:
    return target.source_id if isinstance(target, OpenTable) else target


def _put_rows(draft: Draft, source_id: SourceId, rows: Sequence[tuple[Key, Row]], former: Sequence[Row] = ()) -> None:
    """Add rows from which nothing else follows. `former`: the rows that they replace."""
    put = draft.batch.put
    for key, row in rows:
        put(source_id + key, row)
    size_bytes = sum(row_sizes_bytes([row for _, row in rows])) - sum(row_sizes_bytes(former))
    draft.deltas = {source_id: (len(rows) - len(former), size_bytes)}


def _loaded(
    table: StoredTable, key: Key, old: Row | None, new: Row, item: Item | None, ahead: Mapping[Key, Change]
) -> Change:
    """The change of a row that is loaded: the one of `ahead` if it is the same, so that nothing is derived again."""
    made = ahead.get(key)
    if made is not None and made.table is table and made.old == old:
        return made
    return _followed(table, key, old, new, "import", item)


def _followed(
    table: StoredTable, key: Key, old: Row | None, new: Row, origin: Origin, item: Item | None = None
) -> Change:
    """The change of a row, with its index entries and what participants read of its items. May give way."""
    entries = derive_entry_writes(table, key, old, new, None, item)
    old_item = None
    if table.reads_items:
        old_item, item = followed_item(table, old, None), followed_item(table, new, item)
    return Change(table, key, old, new, entries, origin, old_item=old_item, new_item=item)


def _behind(
    source_id: bytes, after: Key, engine: Engine, skipped_keys_max: int
) -> tuple[list[tuple[bytes, bytes]], bool]:
    """The next rows of a source behind a key, as `read_range`."""
    lower, upper = source_id + (after + b"\x00" if after else b""), prefix_upper_bound(source_id)
    return read_range(engine, lower, upper, SLICE_ROWS, SLICE_BYTES, skipped_keys_max)


def _merged(
    number: int,
    source_id: bytes,
    after: Key,
    limit_bytes: int,
    limit_rows: int,
    engine: Engine,
    skipped_keys_max: int,
) -> CopiedRows:
    """The next rows of a copy: the present ones, and in their place those that were kept for it."""
    lower = after + b"\x00" if after else b""
    present, has_all = read_range(
        engine, source_id + lower, prefix_upper_bound(source_id), limit_rows, limit_bytes, skipped_keys_max
    )
    # Key() and Row() would cost calls
    rows: list[tuple[Key, Row]] = [(key[SOURCE_BYTES:], row) for key, row in present]  # type: ignore[misc]
    last = None if has_all else rows[-1][0]
    prefix = layout.staged_prefix(number)
    upper = prefix_upper_bound(prefix) if last is None else prefix + last + b"\x00"
    former, has_all = read_range(engine, prefix + lower, upper, limit_rows, limit_bytes)
    staged = [(Key(key[len(prefix) :]), kept) for key, kept in former]
    if not has_all:
        last = staged[-1][0]
    if staged:
        merged: dict[Key, Row] = {key: row for key, row in rows if last is None or key <= last}
        for key, kept in staged:
            if len(kept) > SEQUENCE_BYTES:
                merged[key] = Row(kept[SEQUENCE_BYTES:])
            else:
                merged.pop(key, None)
        rows = sorted(merged.items())
    if last is None:
        keys = [key for key, _ in (*rows[-1:], *staged[-1:])]
        return CopiedRows(rows, max(keys, default=after), is_last=True)
    return CopiedRows(rows, last, is_last=False)


def records_before(
    engine: Engine, table_id: int, before: bytes, since: bytes, until: bytes
) -> Iterator[tuple[bytes, bytes]]:
    """Number of the partition ‖ sequence number, and record, of a table's records with `since <= sequence <= until`
    before the place `before` (nothing: before the end), backwards: those of a partition before those of the partition
    from which it has been split. So the changes of each row come from the last to the first.

    Raises StorageCorruption and the engine's bare exceptions.
    """
    prefix = layout.table_log_prefix(table_id)
    lower, upper = prefix, prefix + before if before else prefix_upper_bound(prefix)
    while True:
        for engine_key, record in scan_range(engine, lower, upper, is_reverse=True):
            place = engine_key[len(prefix) : len(prefix) + 4 + SEQUENCE_BYTES]
            partition, sequence = place[:4], place[4:]
            if sequence > until:
                upper = prefix + partition + until + b"\x00"
                break
            if sequence < since:
                upper = prefix + partition
                break
            yield place, record
        else:
            return
