"""What is kept in memory of a table's change log, and of the streams that are views of it? For a stream its
shards, in order of the times at which they are due; and how all streams are read from an engine.
"""

from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from math import inf
from operator import itemgetter
from typing import NamedTuple

import msgspec

from hashrange.errors import StorageCorruption
from hashrange.items.keys import prefix_upper_bound
from hashrange.items.types import Key
from hashrange.limits import SHARD_SECONDS
from hashrange.store.embedded import layout
from hashrange.store.embedded.engine import SKIPPED_KEYS_MAX, Engine, bounded
from hashrange.store.embedded.reading import scan_prefix, scan_range
from hashrange.tables import streams as rules
from hashrange.tables.change import Change
from hashrange.tables.entries import EntryWrite
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from hashrange.tables.source_id import HASH_BYTES
from hashrange.tables.stream_records import EncodeRecord, record_encoder
from hashrange.tables.streams import ALL_IMAGES, IMAGES, Shard, Stream, images_of

PARTITIONS_TOGETHER = 64
"""Partitions whose records one slice looks at, of a table whose records are trimmed."""
MARK_SECONDS = 3600.0
"""Service time behind a mark of a recovery window after which the next record is marked, however few bytes it has."""
MARK_SEQUENCES = rules.last_sequence_at(MARK_SECONDS)
"""How far apart the sequence numbers of two moments are between which MARK_SECONDS pass."""
StreamName = tuple[str, str, str, str]
"""Account, Region, table name and label, which no two streams of a store share."""


def name_of(stream: Stream) -> StreamName:
    """Account, Region, table name and label: the variable parts of a stream's ARN."""
    return stream.account, stream.region, stream.table_name, stream.label


class ShardNews(msgspec.Struct):
    """For each shard of a stream, the sequence number of its last change: a record, its begin or its end.

    So whoever follows a stream of thousands of shards looks only at those with something new.
    """

    fresh: dict[bytes, rules.Sequence] = {}
    """First bytes of the engine keys of a partition's records → the last record, for the partitions that have got
    records since the last look, in no order. A commit notes its records here, which takes 0.1 µs.
    """
    _open: dict[bytes, int] = {}
    """First bytes of the engine keys of a partition's records → number of the partition's open shard."""
    _last: OrderedDict[int, rules.Sequence] = msgspec.field(default_factory=OrderedDict)
    """Number of a shard → its last change, for all shards, as of the last look; the shard that had changed last is
    the last one."""

    def note(self, shards: Iterable[tuple[Shard, bytes]], sequence: rules.Sequence) -> None:
        """Note that the shards, each with the first bytes of its partition's records, have begun or ended with the
        commit of this sequence number. 1 µs each.
        """
        self._look()
        for one, prefix in shards:
            self._note(one.number, sequence)
            if one.last is None:
                self._open[prefix] = one.number
            elif self._open.get(prefix) == one.number:
                del self._open[prefix]

    def _look(self) -> None:
        for prefix, last in sorted(self.fresh.items(), key=itemgetter(1)):
            self._note(self._open[prefix], last)
        self.fresh.clear()

    def _note(self, number: int, sequence: rules.Sequence) -> None:
        self._last[number] = sequence
        self._last.move_to_end(number)

    def forget(self, shards: Iterable[Shard]) -> None:
        """Forget deleted shards, which have ended."""
        for one in shards:
            self._last.pop(one.number, None)

    def since(self, sequence: rules.Sequence, begun: rules.Sequence = 0) -> list[int]:
        """Numbers of the shards that have changed behind this sequence number, in the order of their last changes.
        `begun`: a number that counts as a change of every shard. 0.3 µs each.
        """
        self._look()
        found: list[int] = []
        for number, last in reversed(self._last.items()):
            if max(last, begun) <= sequence:
                break
            found.append(number)
        found.reverse()
        return found


class StreamState:
    """One stream and its shards, in memory."""

    def __init__(self, stream: Stream, shards: Iterable[Shard] = ()) -> None:
        self.stream = stream
        self.images = IMAGES[stream.view_type]
        self._kept_seconds = rules.FOLLOWERS[stream.purpose].kept_seconds
        self.shards: dict[int, Shard] = {}
        """Number → shard, in order of numbers."""
        self.of_partition: dict[int, list[int]] = {}
        """Number of a partition → the numbers of its shards, in their order."""
        self._due: list[tuple[float, int]] = []
        """`due_seconds` and number of each shard, as a heap;
        entries that are no longer true stay in it until they are met."""
        self.due_seconds = inf
        """Earliest service time at which a shard is to be closed or deleted."""
        self.last: rules.Sequence = 0
        """No record that has been written since the content was loaded has a greater sequence number,
        and no shard has begun or ended later since then."""
        self.news = ShardNews()
        self.set(shards)

    def set(self, shards: Iterable[Shard]) -> None:
        """Add `shards`, or replace shards with the same numbers. 1.5 µs each."""
        for shard in shards:
            if shard.number not in self.shards:
                self.of_partition.setdefault(shard.partition, []).append(shard.number)
            self.shards[shard.number] = shard
            heappush(self._due, (self._due_of(shard), shard.number))
        self._see_due()

    @property
    def open(self) -> list[Shard]:
        """Open shards. 0.03 µs for each shard."""
        return [one for one in self.shards.values() if one.last is None]

    def records_prefix(self, shard: Shard) -> bytes:
        """First bytes of the engine keys of the records of the shard's partition."""
        return layout.log_prefix(self.stream.table_id, shard.partition)

    def note(self, shards: Iterable[Shard], sequence: rules.Sequence) -> None:
        """Note that the shards have begun or ended with the commit of this sequence number."""
        self.news.note([(one, self.records_prefix(one)) for one in shards], sequence)

    def first_needed(self, partition: int, gone: Collection[int] = ()) -> rules.Sequence:
        """Where the oldest shard of the partition begins, except those with the numbers `gone`."""
        numbers = [one for one in self.of_partition.get(partition, ()) if one not in gone]
        return self.shards[numbers[0]].first if numbers else rules.SEQUENCE_MAX

    def forget(self, shards: Sequence[Shard]) -> None:
        """Remove `shards`, which have ended."""
        for shard in shards:
            del self.shards[shard.number]
            numbers = self.of_partition[shard.partition]
            numbers.remove(shard.number)
            if not numbers:
                del self.of_partition[shard.partition]
        self.news.forget(shards)
        self._see_due()

    def due(self, now_seconds: float, shards_max: int) -> list[Shard]:
        """The shards that are due at `now_seconds`, the first `shards_max` of them."""
        met: list[tuple[float, int]] = []
        while len(met) < shards_max and self.due_seconds <= now_seconds:
            met.append(heappop(self._due))
            self._see_due()
        for entry in met:
            heappush(self._due, entry)
        self._see_due()
        return [self.shards[number] for _, number in met]

    def _due_of(self, shard: Shard) -> float:
        """Service time from which on a shard is to be closed and followed by a child, or, if it is closed, deleted."""
        if shard.last is None:
            return rules.sequence_seconds(shard.first) + SHARD_SECONDS
        return rules.sequence_seconds(shard.last) + self._kept_seconds

    def _see_due(self) -> None:
        """Set `due_seconds`, and drop what is no longer true from the top of the heap."""
        due = self._due
        while due and ((shard := self.shards.get(due[0][1])) is None or self._due_of(shard) != due[0][0]):
            heappop(due)
        self.due_seconds = due[0][0] if due else inf


class RecoveryWindow:
    """The part of a table's change log from which the table can be restored to a point in time."""

    def __init__(self, table_id: int, first: rules.Sequence) -> None:
        self.table_id = table_id
        self.first = first
        """All changes from this sequence number on are in the log."""
        self.marks: deque[tuple[rules.Sequence, int]] = deque()
        """Sequence number, and bytes of the records behind the mark before up to there. The first mark is at `first`.
        """
        self.mark_until: rules.Sequence = 0
        """A record with a sequence number beyond this one is marked."""
        self.marked_bytes = 0
        """Bytes of the records up to the last mark."""
        self.unmarked_bytes = 0
        """Bytes of the records behind the last mark, counted since the store was opened."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all records."""
        return self.marked_bytes + self.unmarked_bytes

    def mark(self, sequence: rules.Sequence, size_bytes: int) -> None:
        """Add a mark behind the last one."""
        self.marks.append((sequence, size_bytes))
        self.mark_until = sequence + MARK_SEQUENCES
        self.marked_bytes += size_bytes


class TableLog:
    """The change log of a table: who needs which images, and where records belong."""

    def __init__(self, table_id: int) -> None:
        self.table_id = table_id
        self.views: dict[rules.Purpose, StreamState] = {}
        """The table's streams that are on."""
        self.window: RecoveryWindow | None = None
        """What is kept of the log for recovery; None while it is off."""
        self.is_followed = False
        """True if anybody needs the records of all changes."""
        self.table: OpenTable | None = None
        """The table that the members below are about; None: `arrange` is to make them."""
        self._places: list[bytes] = []
        """First hash, in 8 bytes, of each partition except the first."""
        self._prefixes: list[bytes] = []
        """For each partition, the first bytes of the engine keys of its records."""
        self.only_prefix = b""
        """These bytes if there is only one partition, otherwise nothing."""
        self.encode: EncodeRecord = _nobody_follows
        """Makes the record of a change, with the images that the streams need together."""
        self.encode_whole: EncodeRecord = _nobody_follows
        """Makes the record of a change with all images, which streams show and whose index entries wait."""

    def prefix_of(self, key: Key) -> bytes:
        """First bytes of the engine key of a record of the item with this key."""
        return self._prefixes[bisect_right(self._places, key[:HASH_BYTES])]

    def arrange(self, table: OpenTable) -> None:
        """Make the log ready for records of this version of its table."""
        partitions = table.partitions[table.source_id]
        self._places = [layout.encode_counter(one.hashes.first) for one in partitions[1:]]
        self._prefixes = [layout.log_prefix(self.table_id, one.number) for one in partitions]
        self.only_prefix = b"" if self._places else self._prefixes[0]
        needed = (
            ALL_IMAGES if self.window is not None else images_of([one.stream.view_type for one in self.views.values()])
        )
        self.encode = record_encoder(needed, table.keys)
        self.encode_whole = record_encoder(ALL_IMAGES, table.keys)
        self.table = table

    def add(self, view: StreamState) -> None:
        """From now on, the records are for this stream too."""
        self.views[view.stream.purpose] = view
        self._followers_changed()

    def remove(self, view: StreamState) -> None:
        """Remove a stream that has ended."""
        del self.views[view.stream.purpose]
        self._followers_changed()

    def keep_for(self, window: RecoveryWindow | None) -> None:
        """From now on, the records are for this window of recovery too, or for none."""
        self.window = window
        self._followers_changed()

    def _followers_changed(self) -> None:
        self.is_followed = bool(self.views) or self.window is not None
        self.table = None


def _nobody_follows(change: Change, waiting: bytes) -> bytes:
    raise AssertionError(change)


# --- changes whose index entries wait -------------------------------------------------------------


class WaitingChange(msgspec.Struct, frozen=True, gc=False):
    """A change whose entries wait."""

    sequence: rules.Sequence
    due_ms: int
    """Service time, in milliseconds, from which on the entries may be written; once the delay is switched off they may
    be written at once.
    """
    entries: Sequence[EntryWrite | None]
    """An entry for each index that the change concerned, None if there is none any more."""
    is_hidden: bool
    """True if no stream shows the record: it is deleted with the last of its entries that is written."""
    size_bytes: int
    """Bytes of memory that it takes to keep the change."""
    read_bytes: int = 0
    """Bytes that have been read for it."""


class WaitingPartition(msgspec.Struct):
    """The waiting changes of one partition of a table: all from `first` on."""

    prefix: bytes
    """First bytes of the engine keys of the partition's records."""
    first: rules.Sequence
    done: int
    """Writes of the change at `first` that have been done."""
    due_ms: int
    """When the first change is due."""
    found_last: rules.Sequence = 0
    """Changes up to this one were found when the engine was loaded."""
    kept: deque[WaitingChange] = msgspec.field(default_factory=deque)
    """The last waiting changes; those before must be read."""
    keeps_others: bool = False
    """True if records behind `first` may have been kept that no shard shows any more."""
    table_id: int = 0
    number: int = 0
    """The partition's number. It and the table's id follow from `prefix`."""

    def __post_init__(self) -> None:
        self.table_id = int.from_bytes(self.prefix[-8:-4], "big")
        self.number = int.from_bytes(self.prefix[-4:], "big")


class StoredStreams(NamedTuple):
    """What an engine holds of change logs and streams, made ready for one store, which takes it over."""

    by_id: dict[int, StreamState]
    by_name: dict[StreamName, StreamState]
    logs: dict[int, TableLog]
    """Table id → the table's change log, for each table that is followed."""
    next_id: int
    last: rules.Sequence
    """Greatest sequence number that the content shows; 0 if it shows none."""
    windows: dict[int, RecoveryWindow]
    """Table id → window."""
    untrimmed: dict[int, int]
    """Id of a table whose log may have records that nobody needs → 0."""
    holds: dict[Hashable, tuple[int, rules.Sequence]]
    """Those of the windows, as in `EmbeddedStreams.holds`."""

    def missing(self, tables: Iterable[Table]) -> list[int]:
        """Ids of those of the tables whose description says that a stream for clients is on, but which have none."""
        streamed = [one.table_id for one in tables if rules.has_stream(one)]
        return [one for one in streamed if one not in self.logs or "readers" not in self.logs[one].views]


def read_streams(engine: Engine) -> StoredStreams:
    """Read all streams and windows of a newly opened engine, on any thread. 30 µs for each shard.

    Raises StorageCorruption and the engine's bare exceptions.
    """
    by_id, last = _read_states(engine)
    windows, untrimmed = _read_windows(engine)
    for engine_key, _ in scan_prefix(engine, layout.WAITING_PREFIX):
        last = max(last, _last_record(engine, layout.LOG_PREFIX + engine_key[len(layout.WAITING_PREFIX) :]))
    for table_id in {*windows, *untrimmed}:
        start = 0
        while numbers := partitions_with_records(engine, table_id, start, PARTITIONS_TOGETHER):
            last = max(last, *[_last_record(engine, layout.log_prefix(table_id, number)) for number in numbers])
            start = numbers[-1] + 1
    logs: dict[int, TableLog] = {}
    for state in by_id.values():
        state.note(state.shards.values(), last)
        if state.stream.is_on:
            logs.setdefault(state.stream.table_id, TableLog(state.stream.table_id)).add(state)
    for window in windows.values():
        logs.setdefault(window.table_id, TableLog(window.table_id)).keep_for(window)
    by_name = {name_of(state.stream): state for state in by_id.values()}
    counter = engine.get(layout.NEXT_STREAM_ID_KEY)
    next_id = 1 if counter is None else layout.decode_counter(counter)
    holds = {window_hold(one.table_id): (one.table_id, one.first) for one in windows.values()}
    return StoredStreams(by_id, by_name, logs, next_id, last, windows, untrimmed, holds)


def window_hold(table_id: int) -> Hashable:
    """The key in `EmbeddedStreams.holds` of what a table's window holds."""
    return "window", table_id


def _read_windows(engine: Engine) -> tuple[dict[int, RecoveryWindow], dict[int, int]]:
    windows: dict[int, RecoveryWindow] = {}
    untrimmed: dict[int, int] = {}
    for engine_key, row in marks(engine):
        place = engine_key[len(layout.WINDOW_PREFIX) :]
        table_id, sequence = int.from_bytes(place[:4], "big"), layout.decode_sequence(place[4:])
        if sequence == rules.SEQUENCE_MAX:
            untrimmed[table_id] = 0
            continue
        size_bytes = layout.decode_counter(row)
        window = windows.setdefault(table_id, RecoveryWindow(table_id, sequence))
        window.mark(sequence, size_bytes)
    return windows, untrimmed


def _read_states(engine: Engine) -> tuple[dict[int, StreamState], rules.Sequence]:
    """The streams by id, and the greatest sequence number that they show."""
    given_out = engine.get(layout.SEQUENCE_KEY)
    found: dict[int, list[Shard]] = {}
    for engine_key, row in scan_prefix(engine, layout.SHARD_PREFIX):
        shard = layout.decode_shard(engine_key, row)
        found.setdefault(shard.stream_id, []).append(shard)
    by_id: dict[int, StreamState] = {}
    last = 0 if given_out is None else layout.decode_sequence(given_out)
    for _, row in scan_prefix(engine, layout.STREAM_PREFIX):
        stream = layout.decode_stream(row)
        state = by_id[stream.stream_id] = StreamState(stream, found.pop(stream.stream_id, ()))
        if not (state.open if stream.is_on else state.shards):
            raise StorageCorruption(f"stream {stream.arn} has no shard")
        ends = [end for one in state.shards.values() for end in (one.first, one.last or 0)]
        last = max(last, *ends, *[_last_record(engine, state.records_prefix(one)) for one in state.open])
    for stream_id, shards in found.items():
        raise StorageCorruption(f"shard {shards[0].number} belongs to stream {stream_id}, which is not there")
    return by_id, last


def marks(engine: Engine) -> Iterator[tuple[bytes, bytes]]:
    """Engine key and row of each mark of the windows of recovery, and of what is to be trimmed."""
    return scan_prefix(engine, layout.WINDOW_PREFIX)


def partitions_with_records(engine: Engine, table_id: int, start: int, count_max: int) -> list[int]:
    """Numbers of a table's partitions, from `start` on, that have records in its log. Raises the engine's errors."""
    upper = prefix_upper_bound(layout.table_log_prefix(table_id))
    found: list[int] = []
    while len(found) < count_max and start < 2**32:
        options = bounded(upper, 0)
        key = next(iter(engine.keys(from_key=layout.log_prefix(table_id, start), read_opt=options)), None)
        if key is None:
            break
        found.append(int.from_bytes(key[layout.LOG_PREFIX_BYTES - 4 : layout.LOG_PREFIX_BYTES], "big"))
        start = found[-1] + 1
    return found


def _last_record(engine: Engine, prefix: bytes) -> rules.Sequence:
    """Sequence number of the last record whose engine key begins with `prefix`; 0 if there is none."""
    rows = scan_range(engine, prefix, prefix_upper_bound(prefix), is_reverse=True, skipped_keys_max=SKIPPED_KEYS_MAX)
    return next((layout.record_sequence(engine_key) for engine_key, _ in rows), 0)
