"""Which streams and shards does a store have, and when is a shard replaced or deleted?
Both are rows in the engine, and objects in memory.

A stream begins and ends in the commit that switches it on or off for its table, or deletes the table. A shard ends with
its stream, or after some hours, or when its partition splits; in the last two cases child shards follow it. A day after
their end, shards and streams are deleted. Why: docs/adr/0031-streams.md.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import bounded
from hashrange.store.embedded.stream_states import (
    StoredStreams,
    StreamName,
    StreamState,
    TableLog,
    WaitingPartition,
    name_of,
)
from hashrange.tables import streams as rules
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Table
from hashrange.tables.source_id import make_source_id
from hashrange.tables.streams import Shard, Stream
from hashrange.work_threads import free_entries

SHARDS_TENDED_MAX = 256
"""Shards that one slice of the job replaces, in one commit."""
SHARDS_DROPPED_MAX = 32
"""Shards that one slice of the job deletes: to find out whether a partition has records reads one of them."""


class EmbeddedStreams:
    """All streams of a store."""

    def __init__(self) -> None:
        self.by_id: dict[int, StreamState] = {}
        self.by_name: dict[StreamName, StreamState] = {}
        self.logs: dict[int, TableLog] = {}
        """Table id → the table's change log, for each table that has been followed."""
        self.waiting: dict[bytes, WaitingPartition] = {}
        """First bytes of the engine keys of a partition's records → those changes whose index entries wait."""
        self.holds: dict[Hashable, tuple[int, rules.Sequence]] = {}
        """Who else than streams needs a table's records → table id, and the first sequence number that is needed."""
        self.last: rules.Sequence = 0
        """Sequence number that was assigned last."""
        self.begun: rules.Sequence = 0
        """`last` when the content was loaded, which counts as a change of every shard."""
        self.wake: Callable[[], None] | None = None
        """Called after each commit that wrote records, or began or ended a stream or shard; None: nobody follows."""
        self._next_id = 1
        self.is_ahead = False
        """True if the content does not show that `last` has been given out, because it took the
        place of the content that does."""

    def content_goes(self) -> None:
        """Note that other content is about to be loaded: all that is given out from then on
        belongs to a later millisecond.

        So neither sequence numbers nor ids of shards, which consist of a millisecond and a number, are given out again.
        """
        if self.last:
            self.last = ((self.last >> rules.SEQUENCE_COUNTER_BITS) + 1) << rules.SEQUENCE_COUNTER_BITS

    def load(self, stored: StoredStreams) -> None:
        """Replace all streams by those of a newly opened engine, however many there are, in some microseconds.

        Whoever keeps the former `content` frees the former streams.
        """
        self.by_id, self.by_name, self.logs, self._next_id = stored.by_id, stored.by_name, stored.logs, stored.next_id
        self.holds = stored.holds
        self.is_ahead = self.last > stored.last
        self.last = self.begun = max(self.last, stored.last)

    @property
    def content(self) -> Sequence[dict[Any, Any]]:
        """What takes long to free of all streams. Other dicts take the place of these when the engine is replaced."""
        return self.by_id, self.by_name, self.logs, self.holds

    def drop(self) -> None:
        """Free all streams, on any thread, once nobody asks for them any more."""
        free_entries(*self.content)

    def on(self, table_id: int, purpose: rules.Purpose) -> StreamState | None:
        """The table's stream of this purpose that is on; None if there is none."""
        log = self.logs.get(table_id)
        return None if log is None else log.views.get(purpose)

    def log_of(self, table_id: int) -> TableLog:
        """The change log of a table."""
        return self.logs.setdefault(table_id, TableLog(table_id))

    def keep_last(self, draft: Draft) -> None:
        """Add to the draft which sequence number was given out last, so that a restart after a restore finds it."""
        draft.batch.put(layout.SEQUENCE_KEY, layout.encode_sequence(self.last))

    def written_up_to(self, sequence: rules.Sequence, written: Mapping[bytes, TableLog]) -> None:
        """Note that a commit with records up to `sequence` has been written.
        `written`: first bytes of the keys of a partition's records → the log.
        """
        self.last = sequence
        for prefix, log in written.items():
            for state in log.views.values():
                state.last = state.news.fresh[prefix] = sequence
        if self.wake is not None:
            self.wake()

    def record_written(self, sequence: rules.Sequence, prefix: bytes, log: TableLog, size_bytes: int) -> None:
        """The same as `written_up_to` for a commit with one record, whose bytes are counted for recovery."""
        self.last = sequence
        window = log.window
        if window is not None:
            window.unmarked_bytes += size_bytes
        if log.views:
            for state in log.views.values():
                state.last = state.news.fresh[prefix] = sequence
            if self.wake is not None:
                self.wake()

    def _changed(self, last: rules.Sequence, state: StreamState, shards: Sequence[Shard] = ()) -> None:
        """Note that a commit has begun or ended a stream, or these shards of it, at sequence number `last`."""
        state.set(shards)
        last = state.last = max(self.last, last)
        state.note(shards, last)
        self.written_up_to(last, {})

    # --- what follows from a change of a table -----------------------------------------------------

    def begin(
        self, draft: Draft, table: Table, partitions: Sequence[Partition], purpose: rules.Purpose = "readers"
    ) -> None:
        """Add to the draft a new stream of the table, with a shard for each partition of the table's own rows."""
        stream = rules.stream_of(table, self._next_id, draft.at_seconds, purpose)
        first = rules.next_sequence(self.last, draft.at_seconds)
        shards = [rules.shard_of(stream.stream_id, number, one, first) for number, one in enumerate(partitions, 1)]
        draft.batch.put(layout.NEXT_STREAM_ID_KEY, layout.encode_counter(stream.stream_id + 1))
        draft.batch.put(layout.stream_key(stream.stream_id), layout.encode_stream(stream))
        _put_shards(draft, shards)
        draft.afterwards.append(lambda: self._begun(stream, shards, first))

    def _begun(self, stream: Stream, shards: Sequence[Shard], first: rules.Sequence) -> None:
        state = StreamState(stream)
        self._next_id = stream.stream_id + 1
        self.by_id[stream.stream_id] = self.by_name[name_of(stream)] = state
        self.log_of(stream.table_id).add(state)
        self._changed(first, state, shards)

    def retarget(self, draft: Draft, state: StreamState, table: Table) -> None:
        """Add to the draft where a feed's records go after this change of its table, if that differs."""
        stream = rules.retargeted(state.stream, table)
        if stream is not state.stream:
            draft.batch.put(layout.stream_key(stream.stream_id), layout.encode_stream(stream))
            draft.afterwards.append(lambda: self._retargeted(state, stream))

    def _retargeted(self, state: StreamState, stream: Stream) -> None:
        state.stream = stream
        self._changed(self.last, state)

    def end(self, draft: Draft, state: StreamState, table: Table | None) -> None:
        """Add to the draft that a stream ends, and its shards close. `table`: the table afterwards; None: deleted."""
        last = rules.next_sequence(self.last, draft.at_seconds)
        closed = [Shard(*one[:-1], last) for one in state.open]  # `_replace` takes four times as long
        stream = rules.ended_stream(state.stream, table, draft.at_seconds)
        draft.batch.put(layout.stream_key(stream.stream_id), layout.encode_stream(stream))
        _put_shards(draft, closed)
        draft.afterwards.append(lambda: self._ended(state, stream, closed, last))

    def _ended(self, state: StreamState, stream: Stream, closed: Sequence[Shard], last: rules.Sequence) -> None:
        state.stream = stream
        self.log_of(stream.table_id).remove(state)
        self._changed(last, state, closed)

    def succeed(self, draft: Draft, state: StreamState, successors: Mapping[Shard, Sequence[Partition]]) -> None:
        """Close the open shards in `successors`, and open a child of each shard for every partition given for it."""
        last = rules.next_sequence(self.last, draft.at_seconds)
        first, number = last + 1, next(reversed(state.shards)) + 1
        changed: list[Shard] = []
        for parent, partitions in successors.items():
            changed.append(parent._replace(last=last))
            for partition in partitions:
                child = rules.shard_of(parent.stream_id, number, partition, first)
                changed.append(child._replace(parent=parent.number))
                number += 1
        _put_shards(draft, changed)
        draft.afterwards.append(lambda: self._changed(first, state, changed))

    # --- shards that are due -----------------------------------------------------------------------

    def tend(self, draft: Draft) -> float | None:
        """For the stream due first, replace shards that were open long enough or, if none of the first was, delete old
        ones.

        At most SHARDS_TENDED_MAX or SHARDS_DROPPED_MAX of them, in some 5 ms; 0.1 ms if none of 2,500 streams is due.
        Returns the seconds of service time until there is more to do, 0 if something was done; None if there is no
        stream.
        """
        now_seconds = draft.at_seconds
        state = min(self.by_id.values(), key=attrgetter("due_seconds"), default=None)
        if state is None:
            return None
        if state.due_seconds > now_seconds:
            return state.due_seconds - now_seconds
        due = state.due(now_seconds, SHARDS_DROPPED_MAX)
        if any(one.last is None for one in due):
            due = state.due(now_seconds, SHARDS_TENDED_MAX)
        overdue = [one for one in due if one.last is None]
        if overdue:
            source_id = make_source_id(state.stream.table_id)
            self.succeed(draft, state, {one: (Partition(source_id, one.partition, one.hashes),) for one in overdue})
        else:
            self._drop(draft, state, due[:SHARDS_DROPPED_MAX])
        return 0.0

    def _drop(self, draft: Draft, state: StreamState, gone: Sequence[Shard]) -> None:
        """Delete shards, with the records that no other shard shows; if no shard of the stream is left, delete the
        stream too.
        """
        for one in gone:
            draft.batch.delete(layout.shard_key(one.stream_id, one.number))
        self.trim(draft, state.stream.table_id, {one.partition for one in gone}, state, {one.number for one in gone})
        is_last = len(gone) == len(state.shards)
        if is_last:
            draft.batch.delete(layout.stream_key(state.stream.stream_id))
        draft.afterwards.append(lambda: self._dropped(state, gone, is_last=is_last))

    def trim(
        self,
        draft: Draft,
        table_id: int,
        partitions: Collection[int],
        state: StreamState | None = None,
        gone: Collection[int] = (),
        without: WaitingPartition | None = None,
    ) -> None:
        """Add to the draft the deletion of those partitions' records that are older than all that are needed: that a
        shard shows, except those of the stream `state` with the numbers `gone`, that is held, or whose index entries
        wait, except those of the partition `without`.
        4 µs for each partition.
        """
        states = [one for one in self.by_id.values() if one.stream.table_id == table_id]
        held = [first for held_id, first in self.holds.values() if held_id == table_id]
        for partition in sorted(partitions):
            prefix = layout.log_prefix(table_id, partition)
            needed = [one.first_needed(partition, gone if one is state else ()) for one in states]
            first, waiting = min([*needed, *held], default=rules.SEQUENCE_MAX), self.waiting.get(prefix)
            if waiting is not None and waiting is not without and waiting.first < first:
                first = waiting.first
                draft.afterwards.append(partial(setattr, waiting, "keeps_others", True))
            delete_rows(draft, prefix, prefix + layout.encode_sequence(first))

    def is_held(self, table_id: int) -> bool:
        """True if records of the table are needed by others than streams."""
        return any(held_id == table_id for held_id, _ in self.holds.values())

    def shown_up_to(self, table_id: int) -> dict[int, rules.Sequence]:
        """Number of each partition of which any shard shows records → the sequence number behind which none does."""
        found: dict[int, rules.Sequence] = {}
        for state in self.by_id.values():
            if state.stream.table_id == table_id:
                for one in state.shards.values():
                    last = rules.SEQUENCE_MAX if one.last is None else one.last
                    found[one.partition] = max(last, found.get(one.partition, 0))
        return found

    def _dropped(self, state: StreamState, gone: Sequence[Shard], *, is_last: bool) -> None:
        state.forget(gone)
        if is_last:
            del self.by_id[state.stream.stream_id], self.by_name[name_of(state.stream)]


def delete_rows(draft: Draft, lower: bytes, upper: bytes) -> None:
    """Delete the rows from engine key `lower` up to, not including, `upper`, if there are any:
    each range deletion slows reads down, all the more if others lie within it.
    """
    first = next(iter(draft.engine.keys(from_key=lower, read_opt=bounded(upper, 0))), None)
    if first is not None:
        draft.batch.delete_range(first, upper)


def _put_shards(draft: Draft, shards: Sequence[Shard]) -> None:
    for one in shards:
        draft.batch.put(layout.shard_key(one.stream_id, one.number), layout.encode_shard(one))
