"""How are entries of global indexes written later than their items? They follow the change log.

With a delay, a change of a table with global indexes is recorded in the table's change log (`change_log.py`), with the
time at which its entries are due and the indexes that it concerns. Once it is due, the entries are derived from the
record and written, in the order of the changes of each partition. While any change waits, all entries of global indexes
that follow from writes wait, even if there is no delay any more, so that none overtakes another. Entries of local
indexes are never delayed.

A row says for each partition with waiting changes which one is next (docs/formats/store.md). The clock may have been
set back since the last process: a change found at the start is due at once if its due time is later than that of a
change made at the start would be.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import msgspec

from hashrange.items.keys import prefix_upper_bound
from hashrange.items.rows import decode_attributes
from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import SKIPPED_KEYS_MAX, Engine
from hashrange.store.embedded.participant import Terms
from hashrange.store.embedded.reading import scan_prefix, scan_range
from hashrange.store.embedded.stream_states import WaitingChange, WaitingPartition
from hashrange.store.interface import DelayOf, Payer
from hashrange.tables.change import Change
from hashrange.tables.entries import EntryWrite, derive_entry
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from hashrange.tables.source_id import TABLE_ID_BYTES
from hashrange.tables.stream_records import images_in, is_hidden, waiting_part
from hashrange.tables.streams import FOLLOWERS, SEQUENCE_MAX
from hashrange.tables.streams import Sequence as SequenceNumber

SLICE_BYTES_MAX = 512 * 1024
"""One commit reads records until these have this many bytes, and writes entries until the entries do: some 1 ms."""
KEPT_BYTES_MAX = 8 * 1024 * 1024
"""Entries that wait are kept in memory up to this many bytes; those of other changes are derived again when due."""
CHANGE_BYTES, ENTRY_BYTES = 400, 400
"""Bytes of the objects that a change is kept in, and each of its entries, without their rows."""


class Slice(msgspec.Struct):
    """What one commit may still do."""

    left_rows: int
    now_ms: int
    left_bytes: int

    @property
    def is_full(self) -> bool:
        """True if the commit must do no more."""
        return self.left_rows <= 0 or self.left_bytes <= 0


Advance = tuple[SequenceNumber, int, int]
"""How far one commit brings a partition: the change that is first then, its entries that are written, and when the
others are due. In place of it None if no change is left.
"""


class DelayedEntries:
    """Delays entries of global indexes; `ChangeLog` records them."""

    def __init__(self, terms: Terms) -> None:
        self._clock = terms.clock
        index_delay = terms.options.index_delay
        self._delay: DelayOf | None = None if index_delay is None else lambda changes, meter: index_delay()
        self._most_seconds: float | None = None
        """The longest delay, in seconds, that `_delay` can return; None: `_delay` always returns the same one."""
        self._find_table, self._find_index = terms.find_table, terms.find_index
        self._wake = terms.wake
        self._streams = terms.streams
        self.partitions = terms.streams.waiting
        self._last_due_ms = 0
        """No change that is made later is due before this time (docs/testing/faults.md, *Lagging indexes*)."""
        self._found_due_ms_max = 0
        """Due time (milliseconds of service time) that a change made at the time of `load` would have. A change that
        `load` found with a later due time is due at once: the clock may have been set back since."""
        self._kept_bytes = 0

    def delay_by(self, draw: DelayOf | None, most_seconds: float) -> None:
        """From now on, `draw` returns the delay of each commit's entries, at most `most_seconds`; None: no delay.

        The caller then reopens all tables (`EmbeddedCatalog.reopen`).
        """
        self._delay = draw
        self._most_seconds = most_seconds

    def load(self, engine: Engine) -> None:
        """Note which partitions of a newly opened engine have waiting changes; reads no change, however many wait.

        Raises StorageCorruption and the engine's bare exceptions.
        """
        self.partitions.clear()
        self._kept_bytes = 0
        for partition in waiting_partitions(engine):
            partition.found_last, partition.keeps_others = self._streams.last, True
            self.partitions[partition.prefix] = partition
        self._last_due_ms = 0
        most_seconds = self._most_seconds
        now_seconds = self._clock.service_time()
        if most_seconds is None:
            self._found_due_ms_max = self._due_ms((), now_seconds, None)
        else:
            self._found_due_ms_max = int((now_seconds + most_seconds) * 1000)

    @property
    def is_used(self) -> bool:
        """True if there is a delay, or any change waits."""
        return self._delay is not None or bool(self.partitions)

    def takes_part(self, table: Table) -> bool:
        """True for tables with global indexes, if there is a delay or any change waits."""
        return self.is_used and any(index.is_global for index in table.indexes)

    def _due_ms(self, changes: Sequence[Change], at_seconds: float, meter: Payer) -> int:
        """Draw the due time, in milliseconds of service time, of entries that follow from changes committed now."""
        delay_seconds = 0.0 if self._delay is None else self._delay(changes, meter)
        return int((at_seconds + delay_seconds) * 1000)

    # --- new changes ------------------------------------------------------------------------------

    def take(self, draft: Draft, changes: Sequence[Change]) -> tuple[int, dict[int, Sequence[EntryWrite]]]:
        """Take the entries of global indexes out of the draft. Returns when they are due, in milliseconds of service
        time, and for the id of each change that has any, these.
        """
        entries = draft.entries
        later = [entry for entry in entries if entry.source.is_global]
        if not later:
            return 0, {}
        if len(later) == len(entries):
            draft.entries = ()
        else:
            draft.entries = [entry for entry in entries if not entry.source.is_global]
        if len(changes) == 1:
            found: dict[int, Sequence[EntryWrite]] = {id(changes[0]): later}
        else:
            taken = set(map(id, later))
            by_change = [(id(change), [one for one in change.entries if id(one) in taken]) for change in changes]
            found = {which: some for which, some in by_change if some}
        return max(self._last_due_ms, self._due_ms(changes, draft.at_seconds, draft.meter)), found

    def add(self, draft: Draft, recorded: Sequence[tuple[bytes, WaitingChange]]) -> None:
        """Note in the draft the changes that are recorded in it and wait, in order. Each with the first bytes of the
        engine keys of its partition's records.
        """
        begun: set[bytes] = set()
        for prefix, change in recorded:
            if prefix not in self.partitions and prefix not in begun:
                begun.add(prefix)
                draft.batch.put(waiting_key(prefix), layout.encode_waiting(change.sequence, 0, change.due_ms))
        draft.afterwards.append(partial(self._added, recorded))

    def _added(self, recorded: Sequence[tuple[bytes, WaitingChange]]) -> None:
        for prefix, change in recorded:
            partition = self.partitions.get(prefix)
            if partition is None:
                partition = WaitingPartition(prefix, change.sequence, 0, change.due_ms)
                self.partitions[prefix] = partition
                self._wake()
            partition.kept.append(change)
            self._kept_bytes += change.size_bytes
        self._last_due_ms = change.due_ms
        if self._kept_bytes > KEPT_BYTES_MAX:
            for one in self.partitions.values():
                one.kept.clear()
            self._kept_bytes = 0

    def end(self, draft: Draft, table: Table) -> None:
        """Add to the draft that no change of a deleted table waits any more."""
        gone = [one for one in self.partitions.values() if one.table_id == table.table_id]
        shown_up_to = self._streams.shown_up_to(table.table_id) if gone else {}
        for one in gone:
            draft.batch.delete(waiting_key(one.prefix))
            last = shown_up_to.get(one.number)
            if last != SEQUENCE_MAX:
                lower = one.prefix if last is None else _record_key(one.prefix, last)
                draft.batch.delete_range(lower, prefix_upper_bound(one.prefix))
        draft.afterwards.append(lambda: self._forget(gone))

    def _forget(self, gone: Sequence[WaitingPartition]) -> None:
        for one in gone:
            self._kept_bytes -= sum([change.size_bytes for change in one.kept])
            del self.partitions[one.prefix]

    # --- writing what is due ----------------------------------------------------------------------

    def drain(self, draft: Draft, limit_rows: int) -> float | None:
        """Write the entries of changes that are due: of at most `limit_rows` changes, and until SLICE_BYTES_MAX of
        records and entries are read or written. Records that no stream shows are deleted.

        Returns 0.0 if any change was due, else the seconds of service time until the next one is; None if none waits.
        """
        if not self.partitions:
            return None
        part = Slice(limit_rows, int(self._clock.service_time() * 1000), SLICE_BYTES_MAX)
        partitions = self._next_partitions()
        due = sorted([one for one in partitions if self._is_due(one, one.first, one.due_ms, part)], key=_due_ms_of)
        if not due:
            return (min(map(_due_ms_of, partitions)) - part.now_ms) / 1000
        for partition in due:
            if part.is_full:
                break
            with closing(self._changes(draft.engine, partition)) as changes:
                advance = self._apply(draft, partition, changes, part)
            if advance is not None:
                draft.batch.put(waiting_key(partition.prefix), layout.encode_waiting(*advance))
                draft.afterwards.append(partial(self._advanced, partition, *advance))
                continue
            draft.batch.delete(waiting_key(partition.prefix))
            draft.afterwards.append(partial(self._forget, [partition]))
            if partition.keeps_others:
                self._streams.trim(draft, partition.table_id, [partition.number], without=partition)
        return 0.0

    def _next_partitions(self) -> Sequence[WaitingPartition]:
        """The partitions whose changes may be written next. Those of a partition that has been split go before all of
        their table: the partition's items are in others now. Of several, the one that was split first goes first.
        """
        split: dict[int, WaitingPartition] = {}
        present: dict[int, set[int]] = {}
        for one in self.partitions.values():
            if one.table_id not in present:
                present[one.table_id] = self._present(one.table_id)
            if one.number not in present[one.table_id]:
                former = split.setdefault(one.table_id, one)
                if one.prefix < former.prefix:
                    split[one.table_id] = one
        return [one for one in self.partitions.values() if split.get(one.table_id, one) is one]

    def _present(self, table_id: int) -> set[int]:
        """Numbers of the table's partitions."""
        table = self._find_table(table_id)
        return set() if table is None else {one.number for one in table.partitions[table.source_id]}

    def _is_due(self, partition: WaitingPartition, sequence: SequenceNumber, due_ms: int, part: Slice) -> bool:
        is_stray = due_ms > self._found_due_ms_max and sequence <= partition.found_last
        return self._delay is None or due_ms <= part.now_ms or is_stray

    def _apply(
        self, draft: Draft, partition: WaitingPartition, changes: Iterator[WaitingChange], part: Slice
    ) -> Advance | None:
        """Add the entries of a partition's next changes to the draft."""
        done = partition.done
        for change in changes:
            first = change.sequence
            if part.is_full or not self._is_due(partition, first, change.due_ms, part):
                return first, done, change.due_ms
            part.left_bytes -= change.read_bytes
            for place in range(done, len(change.entries)):
                if place > done and part.left_bytes <= 0:
                    return first, place, change.due_ms
                entry = change.entries[place]
                if entry is not None and self._find_index(entry.source.source_id) is not None:
                    draft.write_entry(entry)
                    part.left_bytes -= 0 if entry.new is None else len(entry.new.row)
            part.left_rows -= 1
            if change.is_hidden:
                draft.batch.delete(_record_key(partition.prefix, first))
            done = 0
        return None

    def _changes(self, engine: Engine, partition: WaitingPartition) -> Generator[WaitingChange]:
        """The partition's waiting changes, in order; the last of them without reading them."""
        kept = partition.kept
        if not kept or partition.first < kept[0].sequence:
            table = self._find_table(partition.table_id)
            upper = partition.prefix + layout.encode_sequence(kept[0].sequence) if kept else None
            if table is not None:
                yield from stored_changes(engine, table, partition, upper)
        yield from kept

    def _advanced(self, partition: WaitingPartition, first: SequenceNumber, done: int, due_ms: int) -> None:
        partition.first, partition.done, partition.due_ms = first, done, due_ms
        kept = partition.kept
        while kept and kept[0].sequence < first:
            self._kept_bytes -= kept.popleft().size_bytes


def _due_ms_of(partition: WaitingPartition) -> int:
    return partition.due_ms


def _record_key(prefix: bytes, sequence: SequenceNumber) -> bytes:
    return prefix + layout.encode_sequence(sequence)


def waiting_key(prefix: bytes) -> bytes:
    """Engine key of the row that says which change is next in a partition; `prefix`: of the partition's records."""
    return layout.WAITING_PREFIX + prefix[len(layout.LOG_PREFIX) :]


def waiting_partitions(engine: Engine) -> Iterator[WaitingPartition]:
    """The partitions that have waiting changes. Raises StorageCorruption and the engine's bare exceptions."""
    for engine_key, row in scan_prefix(engine, layout.WAITING_PREFIX):
        place = engine_key[len(layout.WAITING_PREFIX) :]
        yield WaitingPartition(layout.LOG_PREFIX + place, *layout.decode_waiting(row))


def stored_changes(
    engine: Engine, table: OpenTable, partition: WaitingPartition, upper: bytes | None = None
) -> Iterator[WaitingChange]:
    """A partition's waiting changes, in order, up to engine key `upper`; their entries are derived from the records.
    Changes between them that do not wait have no entries, so that whoever counts changes counts what was read.

    Raises StorageCorruption, StorageFormatUnknown and the engine's bare exceptions.
    """
    prefix = partition.prefix
    lower, upper = _record_key(prefix, partition.first), upper or prefix_upper_bound(prefix)
    for engine_key, record in scan_range(engine, lower, upper, skipped_keys_max=SKIPPED_KEYS_MAX):
        sequence, waiting = layout.record_sequence(engine_key), waiting_part(record)
        if waiting is None:
            yield WaitingChange(sequence, 0, (), False, 0, len(record))
        else:
            entries = StoredEntries(table, record, waiting.index_ids)
            hidden = all(is_hidden(record, purpose) for purpose in FOLLOWERS)
            yield WaitingChange(sequence, waiting.due_ms, entries, hidden, 0, len(record))


class StoredEntries(Sequence[EntryWrite | None]):
    """The entries of a recorded change, in the indexes with these ids; each is derived from the record when it is asked
    for. None stands for an index that is gone.
    """

    def __init__(self, table: OpenTable, record: bytes, index_ids: Sequence[bytes]) -> None:
        self._table, self._index_ids = table, index_ids
        names = {*table.keys.names}
        for one in table.indexes:
            names.update(one.key_names, one.projected_names or ())
        self._images = [
            None if row is None else (row, decode_attributes(row, tuple(sorted(names)))) for row in images_in(record)
        ]
        """For the old and the new image, the row and those of its attributes that keys and entries need."""
        _, item = next(one for one in self._images if one is not None)
        self._key = table.item_key(item)

    def __len__(self) -> int:
        return len(self._index_ids)

    def __getitem__(self, place: Any) -> Any:
        """The entry at a place."""
        index_id = self._index_ids[place]
        source = next((one for one in self._table.indexes if one.source_id[TABLE_ID_BYTES:] == index_id), None)
        if source is None:
            return None
        old, new = [None if one is None else derive_entry(source, self._key, one[1], one[0]) for one in self._images]
        return None if old == new else EntryWrite(source, old, new)


def waiting_writes(engine: Engine, find_table: Callable[[int], OpenTable | None]) -> Iterator[EntryWrite]:
    """All writes that wait, those of each item in order, for tools. Raises as `stored_changes` does."""
    for partition in waiting_partitions(engine):
        table = find_table(partition.table_id)
        for change in stored_changes(engine, table, partition) if table is not None else ():
            done = partition.done if change.sequence == partition.first else 0
            entries = [change.entries[place] for place in range(done, len(change.entries))]
            yield from [entry for entry in entries if entry is not None]


def kept_bytes(entries: Sequence[EntryWrite]) -> int:
    """About the bytes of memory that it takes to keep these entries."""
    size_bytes = CHANGE_BYTES
    for _, old, new in entries:
        size_bytes += ENTRY_BYTES + (0 if old is None else len(old.row)) + (0 if new is None else len(new.row))
    return size_bytes
