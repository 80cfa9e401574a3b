"""Which streams and shards does a store have, and when is a shard replaced or deleted? Both are rows in the engine, and objects in memory.

A stream begins and ends in the commit that switches it on or off for its table, or deletes the table. A shard ends with
its stream, or after some hours, or when its partition splits; in the last two cases child shards follow it. A day after
their end, shards and streams are deleted. Why: docs/adr/0031-streams.md.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import groupby
from math import inf
from operator import attrgetter

from hashrange.errors import StorageCorruption
from hashrange.items.keys import prefix_upper_bound
from hashrange.limits import RECORD_RETENTION_SECONDS, SHARD_SECONDS
from hashrange.store.embedded import layout
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.reading import Cursor, scan_prefix
from hashrange.store.embedded.shard_news import ShardNews
from hashrange.tables import streams as rules
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Table
from hashrange.tables.source_id import make_source_id
from hashrange.tables.stream_records import record_encoder
from hashrange.tables.streams import Shard, Stream

SHARDS_TENDED_MAX = 256
"""Shards that one slice of the job replaces or deletes, in one commit."""

StreamName = tuple[str, str, str, str]
"""Account, Region, table name and label, which no two streams of a store share."""


def name_of(stream: Stream) -> StreamName:
    """Account, Region, table name and label: the variable parts of a stream's ARN."""
    return stream.account, stream.region, stream.table_name, stream.label


class StreamState:
    """One stream and its shards, in memory."""

    __slots__ = (
        "_due",
        "_firsts",
        "due_seconds",
        "encode",
        "last",
        "news",
        "open",
        "places",
        "record_prefixes",
        "shards",
        "stream",
    )

    def __init__(self, stream: Stream, shards: Iterable[Shard] = ()) -> None:
        self.stream = stream
        self.encode = record_encoder(stream.view_type, stream.keys.partition_names + stream.keys.sort_names)
        self.shards: dict[int, Shard] = {}
        """Number → shard, in order of numbers."""
        self.open: list[Shard] = []
        """Open shards, in the order of their hashes."""
        self.places: list[bytes] = []
        """First hash, in 8 bytes, of each shard in `open` except the first."""
        self.record_prefixes: list[bytes] = []
        """For each shard in `open`, the prefix of its records' engine keys."""
        self._firsts: list[bytes] = []
        """First hash, in 8 bytes, of each shard in `open`."""
        self._due: list[tuple[float, int]] = []
        """`due_seconds` and number of each shard, as a heap; entries that are no longer true stay in it until they are met."""
        self.due_seconds = inf
        """Earliest service time at which a shard is to be closed or deleted."""
        self.last: rules.Sequence = 0
        """No record has a greater sequence number, and no shard has begun or ended later."""
        self.news = ShardNews()
        self.set(shards)

    def set(self, shards: Iterable[Shard]) -> None:
        """Add `shards`, or replace shards with the same numbers: each parent before its children. 5 µs each."""
        for shard in shards:
            before = self.shards.get(shard.number)
            self.shards[shard.number] = shard
            heappush(self._due, (due_seconds(shard), shard.number))
            first = layout.encode_counter(shard.hashes.first)
            place = bisect_left(self._firsts, first)
            if before is not None and before.last is None:
                del self.open[place], self._firsts[place], self.record_prefixes[place]
            if shard.last is None:
                self.open.insert(place, shard)
                self._firsts.insert(place, first)
                self.record_prefixes.insert(place, layout.shard_records_prefix(shard.stream_id, shard.number))
        self.places = self._firsts[1:]
        self._see_due()

    def forget(self, shards: Sequence[Shard]) -> None:
        """Remove `shards`, which have ended."""
        for shard in shards:
            del self.shards[shard.number]
        self.news.forget(shards)
        self._see_due()

    def due(self, now_seconds: float, shards_max: int) -> list[Shard]:
        """The shards that are due first at `now_seconds`, at most so many."""
        met: list[tuple[float, int]] = []
        while len(met) < shards_max and self.due_seconds <= now_seconds:
            met.append(heappop(self._due))
            self._see_due()
        for entry in met:
            heappush(self._due, entry)
        self._see_due()
        return [self.shards[number] for _, number in met]

    def _see_due(self) -> None:
        """Set `due_seconds`, and drop what is no longer true from the top of the heap."""
        due = self._due
        while due and ((shard := self.shards.get(due[0][1])) is None or due_seconds(shard) != due[0][0]):
            heappop(due)
        self.due_seconds = due[0][0] if due else inf


def due_seconds(shard: Shard) -> float:
    """Service time from which on a shard is to be closed and followed by a child, or, if it is closed, deleted."""
    if shard.last is None:
        return rules.sequence_seconds(shard.first) + SHARD_SECONDS
    return rules.sequence_seconds(shard.last) + RECORD_RETENTION_SECONDS


class EmbeddedStreams:
    """All streams of a store."""

    def __init__(self) -> None:
        self.by_id: dict[int, StreamState] = {}
        self.by_name: dict[StreamName, StreamState] = {}
        self.on: dict[rules.Purpose, dict[int, StreamState]] = {purpose: {} for purpose in rules.PURPOSES}
        """Purpose → table id → the stream that is on and records the table's writes."""
        self.last: rules.Sequence = 0
        """Sequence number that was assigned last."""
        self.wake: Callable[[], None] | None = None
        """Called after each commit that wrote records, or began or ended a stream or shard; None: nobody follows."""
        self._next_id = 1
        self.is_ahead = False
        """True if the content does not show that `last` has been given out, because it took the place of the content that does."""

    def content_goes(self) -> None:
        """Note that other content is about to be loaded: all that is given out from then on belongs to a later millisecond.

        So neither sequence numbers nor ids of shards, which consist of a millisecond and a number, are given out again.
        """
        if self.last:
            self.last = ((self.last >> rules.SEQUENCE_COUNTER_BITS) + 1) << rules.SEQUENCE_COUNTER_BITS

    def load(self, engine: Engine) -> None:
        """Read all streams from a newly opened engine. Raises StorageCorruption and the engine's bare exceptions."""
        counter = engine.get(layout.NEXT_STREAM_ID_KEY)
        self._next_id = 1 if counter is None else layout.decode_counter(counter)
        self.by_id = {}
        for _, row in scan_prefix(engine, layout.STREAM_PREFIX):
            stream = layout.decode_stream(row)
            self.by_id[stream.stream_id] = StreamState(stream)
        found: dict[int, list[Shard]] = {}
        for engine_key, row in scan_prefix(engine, layout.SHARD_PREFIX):
            shard = layout.decode_shard(engine_key, row)
            found.setdefault(shard.stream_id, []).append(shard)
        for stream_id, shards in found.items():
            if stream_id not in self.by_id:
                raise StorageCorruption(f"shard {shards[0].number} belongs to stream {stream_id}, which is not there")
            self.by_id[stream_id].set(shards)
        for state in self.by_id.values():
            if not (state.open if state.stream.is_on else state.shards):
                raise StorageCorruption(f"stream {state.stream.arn} has no shard")
        self.by_name = {name_of(state.stream): state for state in self.by_id.values()}
        self.on = {purpose: {} for purpose in rules.PURPOSES}
        for state in self.by_id.values():
            if state.stream.is_on:
                self.on[state.stream.purpose][state.stream.table_id] = state
        ends = [
            end for state in self.by_id.values() for one in state.shards.values() for end in (one.first, one.last or 0)
        ]
        written = [_last_record(engine, one) for state in self.by_id.values() for one in state.open]
        given_out = engine.get(layout.SEQUENCE_KEY)
        shown = max([0 if given_out is None else layout.decode_sequence(given_out), *ends, *written])
        self.is_ahead = self.last > shown
        self.last = max(self.last, shown)
        for state in self.by_id.values():
            state.last = self.last
            state.news.note(state.shards.values(), self.last)

    def keep_last(self, draft: Draft) -> None:
        """Add to the draft which sequence number was given out last, so that a restart after a restore finds it."""
        draft.batch.put(layout.SEQUENCE_KEY, layout.encode_sequence(self.last))

    def written_up_to(self, sequence: rules.Sequence, written: Mapping[bytes, StreamState]) -> None:
        """Note that a commit with records up to `sequence` has been written. `written`: prefix of a shard's records → its stream."""
        self.last = sequence
        for prefix, state in written.items():
            state.last = sequence
            state.news.fresh[prefix] = sequence
        if self.wake is not None:
            self.wake()

    def _changed(self, last: rules.Sequence, state: StreamState, shards: Iterable[Shard] = ()) -> None:
        """Note that a commit has begun or ended a stream, or these shards of it, at sequence number `last`."""
        last = state.last = max(self.last, last)
        state.news.note(shards, last)
        self.written_up_to(last, {})

    def missing(self, tables: Sequence[Table]) -> list[int]:
        """Ids of those of the tables whose description says that a stream for clients is on, but which have none."""
        on = self.on["readers"]
        return [one.table_id for one in tables if rules.has_stream(one) and one.table_id not in on]

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
        draft.afterwards.append(lambda: self._begun(StreamState(stream, shards), first))

    def _begun(self, state: StreamState, first: rules.Sequence) -> None:
        stream = state.stream
        self._next_id = stream.stream_id + 1
        self.by_id[stream.stream_id] = self.by_name[name_of(stream)] = state
        self.on[stream.purpose][stream.table_id] = state
        self._changed(first, state, state.shards.values())

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
        closed = [one._replace(last=last) for one in state.open]
        stream = rules.ended_stream(state.stream, table, draft.at_seconds)
        draft.batch.put(layout.stream_key(stream.stream_id), layout.encode_stream(stream))
        _put_shards(draft, closed)
        draft.afterwards.append(lambda: self._ended(state, stream, closed, last))

    def _ended(self, state: StreamState, stream: Stream, closed: Sequence[Shard], last: rules.Sequence) -> None:
        state.stream = stream
        state.set(closed)
        del self.on[stream.purpose][stream.table_id]
        self._changed(last, state, closed)

    def succeed(self, draft: Draft, state: StreamState, successors: Mapping[Shard, Sequence[Partition]]) -> None:
        """Close the open shards in `successors`, and open a child of each shard for every partition given for it."""
        last = rules.next_sequence(self.last, draft.at_seconds)
        first, number = last + 1, max(state.shards) + 1
        changed: list[Shard] = []
        for parent, partitions in successors.items():
            changed.append(parent._replace(last=last))
            for partition in partitions:
                child = rules.shard_of(parent.stream_id, number, partition, first)
                changed.append(child._replace(parent=parent.number))
                number += 1
        _put_shards(draft, changed)
        draft.afterwards.append(lambda: self._succeeded(state, changed, first))

    def _succeeded(self, state: StreamState, changed: Sequence[Shard], first: rules.Sequence) -> None:
        state.set(changed)
        self._changed(first, state, changed)

    # --- shards that are due -----------------------------------------------------------------------

    def tend(self, draft: Draft) -> float | None:
        """For the stream due first, replace shards that were open long enough or, if there are none, delete old ones.

        At most SHARDS_TENDED_MAX of them, in some 5 ms; 0.1 ms with 2,500 streams and nothing due. Returns the seconds of service time until there is more to do, 0 if something was
        done; None if there is no stream.
        """
        now_seconds = draft.at_seconds
        state = min(self.by_id.values(), key=attrgetter("due_seconds"), default=None)
        if state is None:
            return None
        if state.due_seconds > now_seconds:
            return state.due_seconds - now_seconds
        due = state.due(now_seconds, SHARDS_TENDED_MAX)
        overdue = [one for one in due if one.last is None]
        if overdue:
            source_id = make_source_id(state.stream.table_id)
            self.succeed(draft, state, {one: (Partition(source_id, one.partition, one.hashes),) for one in overdue})
        else:
            self._drop(draft, state, due)
        return 0.0

    def _drop(self, draft: Draft, state: StreamState, gone: Sequence[Shard]) -> None:
        """Delete shards with all their records; if no shard of the stream is left, delete the stream too."""
        for one in gone:
            draft.batch.delete(layout.shard_key(one.stream_id, one.number))
        for first, last in _runs(sorted([one.number for one in gone])):
            prefix, last_prefix = [layout.shard_records_prefix(state.stream.stream_id, one) for one in (first, last)]
            draft.batch.delete_range(prefix, prefix_upper_bound(last_prefix))
        is_last = len(gone) == len(state.shards)
        if is_last:
            draft.batch.delete(layout.stream_key(state.stream.stream_id))
        draft.afterwards.append(lambda: self._dropped(state, gone, is_last=is_last))

    def _dropped(self, state: StreamState, gone: Sequence[Shard], *, is_last: bool) -> None:
        state.forget(gone)
        if is_last:
            del self.by_id[state.stream.stream_id], self.by_name[name_of(state.stream)]


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last number of each run of consecutive numbers, which are in order: each range deletion slows reads down."""
    for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        yield members[0], members[-1]


def _put_shards(draft: Draft, shards: Sequence[Shard]) -> None:
    for one in shards:
        draft.batch.put(layout.shard_key(one.stream_id, one.number), layout.encode_shard(one))


def _last_record(engine: Engine, shard: Shard) -> rules.Sequence:
    """Sequence number of the last record of a shard; 0 when it has none."""
    prefix = layout.shard_records_prefix(shard.stream_id, shard.number)
    cursor = Cursor(engine, prefix, prefix_upper_bound(prefix), is_reverse=True)
    try:
        return next((layout.record_sequence(engine_key) for engine_key, _ in cursor.read(1)), 0)
    finally:
        cursor.drop()
