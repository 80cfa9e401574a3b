"""How are entries of global indexes written later than their items? They follow the change log.

With a delay, a change of a table with global indexes is recorded in the table's change log (`change_log.py`), with the
time at which its entries are due and the indexes that it concerns. Once it is due, the entries are derived from the
record, which may give way, and then written by commits of a bounded number of entries and bytes, in the order of the
changes of each partition. While any change waits, all entries of global indexes that follow from writes wait, even if
there is no delay any more, so that none overtakes another. Entries of local indexes are never delayed.

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
from hashrange.items.steps import spend
from hashrange.items.types import Item, Row
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
SLICE_ENTRIES_MAX = 256
"""Entries that one commit writes or deletes at most, however small they are: 1.5 to 3 ms."""
DERIVING_STEPS = 20
"""Steps (`hashrange.items.steps`) of deriving one of an item's entries from the old or the new image."""
KEPT_BYTES_MAX = 8 * 1024 * 1024
"""Entries that wait are kept in memory up to this many bytes; those of other changes are derived again when due."""
CHANGE_BYTES, ENTRY_BYTES = 400, 400
"""Bytes of the objects that a change is kept in, and each of its entries, without their rows."""


class Slice(msgspec.Struct):
    """What one commit may still do."""

    left_rows: int
    now_ms: int
    left_bytes: int
    left_entries: int

    @property
    def is_full(self) -> bool:
        """True if the commit must do no more."""
        return self.left_rows <= 0 or self.left_bytes <= 0 or self.left_entries <= 0


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
        self.expected = 0
        """How many callers are about to set a delay. Before one is in force, all tables with global indexes that are
        written to must have chosen the log: a commit of two tables takes the entries of both."""
        self._last_due_ms = 0
        """No change that is made later is due before this time (docs/testing/faults.md, *Lagging indexes*)."""
        self._found_due_ms_max = 0
        """Due time (milliseconds of service time) that a change made at the time of `load` would have. A change that
        `load` found with a later due time is due at once: the clock may have been set back since."""
        self._kept_bytes = 0
        self._ahead: dict[bytes, list[WaitingChange]] = {}
        """First bytes of a partition's records → the changes that `look_ahead` has read, in order."""

    def delay_by(self, draw: DelayOf | None, most_seconds: float) -> None:
        """From now on, `draw` returns the delay of each commit's entries, at most `most_seconds`; None: no delay.

        With a delay, the log takes part in the writes of all tables with global indexes (`expected`).
        """
        self._delay = draw
        self._most_seconds = most_seconds

    def load(self, found: Sequence[WaitingPartition]) -> None:
        """Note which partitions of a newly opened engine have waiting changes (`waiting_partitions`)."""
        self.partitions.clear()
        self._kept_bytes = 0
        self._ahead = {}
        for partition in found:
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
        """True for tables with global indexes, if there is a delay, will soon be one, or any change waits."""
        return (self.is_used or self.expected > 0) and any(index.is_global for index in table.indexes)

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
            last = SEQUENCE_MAX if self._streams.is_held(table.table_id) else shown_up_to.get(one.number)
            if last != SEQUENCE_MAX:
                lower = one.prefix if last is None else _record_key(one.prefix, last)
                draft.batch.delete_range(lower, prefix_upper_bound(one.prefix))
        draft.afterwards.append(lambda: self._forget(gone))

    def _forget(self, gone: Sequence[WaitingPartition]) -> None:
        for one in gone:
            self._kept_bytes -= sum([change.size_bytes for change in one.kept])
            del self.partitions[one.prefix]

    # --- writing what is due ----------------------------------------------------------------------

    def look_ahead(self, engine: Engine, limit_rows: int) -> None:
        """Derive the entries that `drain` writes next from their records; may give way.

        A record, and what follows from it, stays the same until `drain` has written all of its entries. Raises
        StorageCorruption, StorageFormatUnknown and the engine's bare exceptions.
        """
        ahead: dict[bytes, list[WaitingChange]] = {}
        todo: list[tuple[StoredEntries, int]] = []
        part = self._slice(limit_rows)
        for partition in self._due(part):
            if part.is_full:
                break
            found = ahead[partition.prefix] = []
            with closing(self._stored(engine, partition)) as changes:  # nothing gives way here
                for change in changes:
                    if part.is_full or not self._is_due(partition, change.sequence, change.due_ms, part):
                        break
                    done = partition.done if change.sequence == partition.first else 0
                    part.left_rows -= 1
                    part.left_bytes -= change.read_bytes
                    part.left_entries -= len(change.entries) - done
                    found.append(change)
                    if isinstance(change.entries, StoredEntries):
                        todo.append((change.entries, done))
        self._ahead = ahead
        left_bytes = SLICE_BYTES_MAX
        for entries, done in todo:
            left_bytes = entries.derive(done, left_bytes)
            if left_bytes <= 0:
                break

    def drain(self, draft: Draft, limit_rows: int) -> float | None:
        """Write the entries of changes that are due: of at most `limit_rows` changes, and until SLICE_BYTES_MAX of
        records and entries are read or written, or SLICE_ENTRIES_MAX entries are written. Entries that must be derived
        from records are written if `look_ahead` has done so. Records that no stream shows are deleted.

        Returns 0.0 if any change was due, else the seconds of service time until the next one is; None if none waits.
        """
        if not self.partitions:
            return None
        part = self._slice(limit_rows)
        due = self._due(part)
        if not due:
            return (min(map(_due_ms_of, self._next_partitions())) - part.now_ms) / 1000
        for partition in due:
            if part.is_full:
                break
            with closing(self._changes(draft.engine, partition)) as changes:
                advance = self._apply(draft, partition, changes, part)
            if advance is None:
                draft.batch.delete(waiting_key(partition.prefix))
                draft.afterwards.append(partial(self._forget, [partition]))
                if partition.keeps_others:
                    self._streams.trim(draft, partition.table_id, [partition.number], without=partition)
            elif advance != (partition.first, partition.done, partition.due_ms):
                draft.batch.put(waiting_key(partition.prefix), layout.encode_waiting(*advance))
                draft.afterwards.append(partial(self._advanced, partition, *advance))
        return 0.0

    def _slice(self, limit_rows: int) -> Slice:
        """What one commit may do that begins now."""
        return Slice(limit_rows, int(self._clock.service_time() * 1000), SLICE_BYTES_MAX, SLICE_ENTRIES_MAX)

    def _due(self, part: Slice) -> list[WaitingPartition]:
        """The partitions whose first change may be written now, in order of their due times."""
        partitions = self._next_partitions()
        return sorted([one for one in partitions if self._is_due(one, one.first, one.due_ms, part)], key=_due_ms_of)

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
            entries = change.entries
            derived = entries.derived_up_to if isinstance(entries, StoredEntries) else len(entries)
            for place in range(done, len(entries)):
                if place >= derived or (place > done and part.is_full):
                    return first, place, change.due_ms
                entry = entries[place]
                part.left_entries -= 1
                if entry is not None and self._find_index(entry.source.source_id) is not None:
                    draft.write_entry(entry)
                    part.left_bytes -= _written_bytes(entry)
            part.left_rows -= 1
            if change.is_hidden:
                draft.batch.delete(_record_key(partition.prefix, first))
            done = 0
        return None

    def _changes(self, engine: Engine, partition: WaitingPartition) -> Generator[WaitingChange]:
        """The partition's waiting changes, in order; the last of them without reading them."""
        yield from self._stored(engine, partition)
        yield from partition.kept

    def _stored(self, engine: Engine, partition: WaitingPartition) -> Generator[WaitingChange]:
        """Those of the partition's waiting changes that are not kept, in order; reads those that `look_ahead` has not
        read.
        """
        kept, first = partition.kept, partition.first
        for change in self._ahead.get(partition.prefix, ()):
            if change.sequence >= first:
                yield change
                first = change.sequence + 1
        if not kept or first < kept[0].sequence:
            table = self._find_table(partition.table_id)
            upper = _record_key(partition.prefix, kept[0].sequence) if kept else None
            if table is not None:
                yield from stored_changes(engine, table, partition.prefix, first, upper)

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
    engine: Engine, table: OpenTable, prefix: bytes, first: SequenceNumber, upper: bytes | None = None
) -> Iterator[WaitingChange]:
    """A partition's waiting changes from `first` on, in order, up to engine key `upper`; their entries can be derived
    from the records. Changes between them that do not wait have no entries, so that whoever counts changes counts what
    was read. `prefix`: of the partition's records.

    Raises StorageCorruption, StorageFormatUnknown and the engine's bare exceptions.
    """
    indexes = RecordedIndexes(table)
    lower, upper = _record_key(prefix, first), upper or prefix_upper_bound(prefix)
    for engine_key, record in scan_range(engine, lower, upper, skipped_keys_max=SKIPPED_KEYS_MAX):
        sequence, waiting = layout.record_sequence(engine_key), waiting_part(record)
        if waiting is None:
            yield WaitingChange(sequence, 0, (), False, 0, len(record))
        else:
            entries = StoredEntries(indexes, record, waiting.index_ids)
            hidden = all(is_hidden(record, purpose) for purpose in FOLLOWERS)
            yield WaitingChange(sequence, waiting.due_ms, entries, hidden, 0, len(record))


class RecordedIndexes:
    """What the entries of all recorded changes of one table are derived by."""

    def __init__(self, table: OpenTable) -> None:
        self.item_key = table.item_key
        self.by_id = {one.source_id[TABLE_ID_BYTES:]: one for one in table.indexes}
        names = {*table.keys.names}
        for one in table.indexes:
            names.update(one.key_names, one.projected_names or ())
        self.names = tuple(sorted(names))
        """The attributes that keys and entries need."""


class StoredEntries(Sequence[EntryWrite | None]):
    """The entries of a recorded change, in the indexes with these ids. Each is derived from the record when it is asked
    for, or before by `derive`. None stands for an index that is gone.
    """

    def __init__(self, indexes: RecordedIndexes, record: bytes, index_ids: Sequence[bytes]) -> None:
        self._indexes, self._record, self._index_ids = indexes, record, index_ids
        self._images: list[tuple[Row, Item] | None] = []
        """For the old and the new image, the row and those of its attributes that keys and entries need; empty until an
        entry is derived.
        """
        self._derived: dict[int, EntryWrite | None] = {}
        self.derived_up_to = 0
        """The first place whose entry has not been derived by `derive`."""

    def __len__(self) -> int:
        return len(self._index_ids)

    def __getitem__(self, place: Any) -> Any:
        """The entry at a place."""
        return self._derived[place] if place in self._derived else self._derive(place)

    def derive(self, done: int, left_bytes: int) -> int:
        """Derive the entries from place `done` on, until their rows have `left_bytes`; may give way before each.
        Returns how many bytes are left.
        """
        self._derived = {place: entry for place, entry in self._derived.items() if place >= done}
        for place in range(done, len(self)):
            if left_bytes <= 0:
                break
            if place not in self._derived:
                self._derived[place] = self._derive(place)
                self.derived_up_to = place + 1
            left_bytes -= _written_bytes(self._derived[place])
        return left_bytes

    def _derive(self, place: int) -> EntryWrite | None:
        source = self._indexes.by_id.get(self._index_ids[place])
        if source is None:
            return None
        if not self._images:
            self._images = [
                None if row is None else (row, decode_attributes(row, self._indexes.names))
                for row in images_in(self._record)
            ]
        key = self._indexes.item_key(next(one for one in self._images if one is not None)[1])
        entries = []
        for image in self._images:
            spend(DERIVING_STEPS)
            entries.append(None if image is None else derive_entry(source, key, image[1], image[0]))
        old, new = entries
        return None if old == new else EntryWrite(source, old, new)


def _written_bytes(entry: EntryWrite | None) -> int:
    """Bytes of the keys and of the row that the write of an entry gives to the engine."""
    if entry is None:
        return 0
    _, old, new = entry
    return (0 if old is None else len(old.key)) + (0 if new is None else len(new.key) + len(new.row))


def waiting_writes(engine: Engine, find_table: Callable[[int], OpenTable | None]) -> Iterator[EntryWrite]:
    """All writes that wait, those of each item in order, for tools. Raises as `stored_changes` does."""
    for partition in waiting_partitions(engine):
        table = find_table(partition.table_id)
        for change in stored_changes(engine, table, partition.prefix, partition.first) if table is not None else ():
            done = partition.done if change.sequence == partition.first else 0
            entries = [change.entries[place] for place in range(done, len(change.entries))]
            yield from [entry for entry in entries if entry is not None]


def kept_bytes(entries: Sequence[EntryWrite]) -> int:
    """About the bytes of memory that it takes to keep these entries."""
    size_bytes = CHANGE_BYTES
    for _, old, new in entries:
        size_bytes += ENTRY_BYTES + (0 if old is None else len(old.row)) + (0 if new is None else len(new.row))
    return size_bytes
