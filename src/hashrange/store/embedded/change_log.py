"""How does a write become a record of its table's change log? As one row of the same commit, whoever follows the table.

    prefix ‖ table ‖ partition ‖ sequence number     → the record, which `tables/stream_records.py` defines

Streams, and the feeds of Kinesis destinations, are views of the log: their shards are ranges of sequence numbers in one
partition. Point-in-time recovery keeps all records of a table for some days (`recovery_windows.py`). A table without
followers has no log. Why: docs/adr/0031-streams.md, docs/adr/0068-change-log.md.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from hashrange.store.embedded import recovery_windows
from hashrange.store.embedded.delayed_entries import DelayedEntries, kept_bytes, waiting_partitions
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine, WriteBatch
from hashrange.store.embedded.former_formats import FormerWrite, former_delays
from hashrange.store.embedded.participant import Participant, Terms
from hashrange.store.embedded.recovery_windows import RecoveryWindows
from hashrange.store.embedded.stream_states import (
    RecoveryWindow,
    StoredStreams,
    TableLog,
    WaitingChange,
    WaitingPartition,
    read_streams,
)
from hashrange.tables.change import Change
from hashrange.tables.entries import EntryWrite
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Table
from hashrange.tables.source_id import TABLE_ID_BYTES
from hashrange.tables.stream_records import UNRECORDED, encode_waiting_part, hidden_record
from hashrange.tables.streams import FOLLOWERS, SEQUENCE_BYTES, Purpose, sequence_at, view_types_on

NOTHING_WAITS: tuple[int, dict[int, Sequence[EntryWrite]]] = (0, {})


class StoredLog(NamedTuple):
    """What an engine holds of all change logs."""

    streams: StoredStreams
    missing: list[int]
    """Ids of tables whose description says that a stream for clients is on, but which have none."""
    waiting: list[WaitingPartition]


class ChangeLog(Participant):
    """The participant that adds records to the change logs of tables."""

    needs_time = True

    def __init__(self, terms: Terms) -> None:
        self._streams = terms.streams
        self._find_table = terms.find_table
        self._wake = terms.wake
        self._missing: list[int] = []
        """Ids of tables whose streams `recover` is to begin."""
        self._find_index = terms.find_index
        self.delayed = DelayedEntries(terms)
        self.windows = RecoveryWindows(terms)

    def read(self, engine: Engine, tables: Sequence[Table]) -> StoredLog:
        """Read all streams and windows, which tables lack their streams, and where changes wait."""
        streams = read_streams(engine)
        return StoredLog(streams, streams.missing(tables), list(waiting_partitions(engine)))

    def load(self, engine: Engine, stored: StoredLog) -> None:
        """Replace all streams and windows."""
        self._streams.load(stored.streams)
        self._missing = stored.missing
        self.delayed.load(stored.waiting)
        self.windows.load(stored.streams)

    def recover(self, engine: Engine) -> Iterator[Callable[[Draft], None]]:
        """Yield functions that begin the streams of tables of an older format, each in the draft of one commit.

        In that format, tables only described their streams. Others write the index entries that waited in formats
        before 13. Behind a restore, also one that keeps the last sequence number.
        """
        for keys, writes in former_delays(engine):
            yield partial(self._write_former, keys=keys, writes=writes)
        if self._streams.is_ahead:
            yield self._streams.keep_last
        missing, self._missing = self._missing, []
        for table_id in missing:
            opened = self._find_table(table_id)
            assert opened is not None
            table, partitions = opened.schema, opened.partitions[opened.source_id]
            yield lambda draft, table=table, partitions=partitions: (  # type: ignore[misc]
                self._streams.begin(draft, table, partitions)
            )

    def _write_former(self, draft: Draft, keys: Sequence[bytes], writes: Sequence[FormerWrite]) -> None:
        for source_id, old, new in writes:
            index = self._find_index(source_id)
            if index is not None:
                draft.write_entry(EntryWrite(index, old, new))
        for engine_key in keys:
            draft.batch.delete(engine_key)

    def takes_part(self, table: Table) -> bool:
        """True for tables with a stream that is on, and with global indexes whose entries are written later."""
        return bool(view_types_on(table)) or self.delayed.takes_part(table)

    def add(self, draft: Draft, changes: Sequence[Change]) -> None:
        """Add a record for each change of an item, except by imports and restores. 2 µs each, plus engine time.

        Entries of global indexes that are to be written later are taken out of the draft, and recorded whatever has
        caused the change.
        """
        streams, put = self._streams, draft.batch.put
        logs, last, first = streams.logs, streams.last, sequence_at(draft.at_seconds)
        due_ms, waiting = self.delayed.take(draft, changes) if draft.entries and self.delayed.is_used else NOTHING_WAITS
        written: dict[bytes, TableLog] = {}
        grown: dict[RecoveryWindow, tuple[int, int]] = {}
        """Window of recovery → the last record of the commit that is in it, and the bytes of all of them."""
        recorded: list[tuple[bytes, WaitingChange]] = []
        for change in changes:
            log = logs.get(change.table.table_id)
            is_hidden = log is None or not log.is_followed or change.origin in UNRECORDED
            entries = waiting.get(id(change)) if waiting else None
            if is_hidden and entries is None:
                continue
            if log is None:
                log = streams.log_of(change.table.table_id)
            last = first if first > last else last + 1
            if change.table is not log.table:
                log.arrange(change.table)
            prefix = log.only_prefix or log.prefix_of(change.key)
            if entries is None:
                record = log.encode(change, b"")
            else:
                index_ids = [one.source.source_id[TABLE_ID_BYTES:] for one in entries]
                encode = hidden_record if is_hidden else log.encode_whole
                record = encode(change, encode_waiting_part(due_ms, index_ids))
                recorded.append((prefix, WaitingChange(last, due_ms, entries, is_hidden, kept_bytes(entries))))
            put(prefix + last.to_bytes(SEQUENCE_BYTES, "big"), record)
            written[prefix] = log
            if log.window is not None:
                _, size_bytes = grown.get(log.window, (0, 0))
                grown[log.window] = last, size_bytes + len(record)
        for window, (sequence, size_bytes) in grown.items():
            self.windows.count(draft.batch, draft.afterwards, window, sequence, size_bytes)
        draft.afterwards.append(partial(streams.written_up_to, last, written))
        if recorded:
            self.delayed.add(draft, recorded)

    def add_row(self, batch: WriteBatch, change: Change, afterwards: list[Callable[[], object]]) -> None:
        """Add the record of one change, whose index entries do not wait because the table has none."""
        streams, table = self._streams, change.table
        log = streams.logs.get(table.table_id)
        if log is None or not log.is_followed or change.origin in UNRECORDED:
            return
        if table is not log.table:
            log.arrange(table)
        first, last = sequence_at(change.at_seconds), streams.last
        sequence = first if first > last else last + 1
        prefix = log.only_prefix or log.prefix_of(change.key)
        record = log.encode(change, b"")
        size_bytes = len(record)
        batch[prefix + sequence.to_bytes(SEQUENCE_BYTES, "big")] = record
        afterwards.append(partial(streams.record_written, sequence, prefix, log, size_bytes))
        window = log.window
        if window is not None and (
            window.unmarked_bytes + size_bytes >= recovery_windows.MARK_BYTES or sequence > window.mark_until
        ):
            self.windows.mark(batch, afterwards, window, sequence, size_bytes)

    def table_changes(
        self, draft: Draft, old: Table | None, new: Table | None, partitions: Sequence[Partition]
    ) -> None:
        """End those of the table's streams that `new` does not have, and begin those that only `new` has; note where
        the records of a feed that stays on go.
        """
        for purpose in FOLLOWERS:
            self._follow(draft, old, new, partitions, purpose)
        self.windows.table_changes(draft, old, new)
        if old is not None and new is None:
            self.delayed.end(draft, old)
            draft.afterwards.append(lambda: self._streams.logs.pop(old.table_id, None))

    def _follow(
        self, draft: Draft, old: Table | None, new: Table | None, partitions: Sequence[Partition], purpose: Purpose
    ) -> None:
        label = None if new is None else FOLLOWERS[purpose].label_on(new)
        state = None if old is None else self._streams.on(old.table_id, purpose)
        if state is not None and state.stream.label != label:
            self._streams.end(draft, state, new)
            state = None
        if new is None or label is None:
            return
        if state is None:
            self._streams.begin(draft, new, partitions, purpose)
            draft.afterwards.append(self._wake)
        else:
            self._streams.retarget(draft, state, new)

    def partition_splits(self, draft: Draft, table: Table, partition: Partition, children: Sequence[Partition]) -> None:
        """Replace the open shard of `partition` in each stream by two. Does nothing without a stream, or for an index's
        partition.
        """
        log = self._streams.logs.get(table.table_id)
        if log is None or partition.source_id != table.source_id:
            return
        for state in log.views.values():
            shard = next(one for one in state.open if one.partition == partition.number)
            self._streams.succeed(draft, state, {shard: children})
