"""How are streams and their records read? Streams and shards from memory;
records from the engine in order, up to a number and a length.
"""

from collections.abc import Callable, Iterator, Sequence

from hashrange.errors import StorageCorruption
from hashrange.items.keys import prefix_upper_bound
from hashrange.items.steps import walk
from hashrange.store.embedded import layout
from hashrange.store.embedded.engine import SKIPPED_KEYS_MAX
from hashrange.store.embedded.health import Site
from hashrange.store.embedded.reading import scan_range
from hashrange.store.embedded.stream_states import StreamState
from hashrange.store.embedded.streams import EmbeddedStreams
from hashrange.store.streams import ChangedShards, NewsMark, RecordPage
from hashrange.tables import streams as rules
from hashrange.tables.stream_records import HIDDEN_FROM, WAITS, plain_record, shown_record
from hashrange.tables.streams import ALL_IMAGES, Shard, Stream

READ_BYTES_MAX = 4 * 1024 * 1024
"""Bytes of records that one page reads, in some 10 ms: records may have images that the stream does not show."""


class StreamReads:
    """Implements `interface.Streams`."""

    def __init__(self, site: Site, streams: EmbeddedStreams) -> None:
        self._site = site
        self._streams = streams
        self._noted: tuple[int, rules.Sequence] = (0, 0)
        """Number of a commit, and the last sequence number that had been given out by then."""
        self._durable_last: rules.Sequence = 0

    def find(self, account: str, region: str, table_name: str, label: str) -> Stream | None:
        """The stream of table `table_name` with this label, even after it has ended; None if there is none."""
        state = self._streams.by_name.get((account, region, table_name, label))
        return None if state is None or state.stream.purpose != "readers" else state.stream

    def of(self, account: str, region: str) -> Sequence[Stream]:
        """All streams of an account and Region."""
        return [
            state.stream
            for state in self._streams.by_id.values()
            if state.stream.account == account and state.stream.region == region and state.stream.purpose == "readers"
        ]

    def feeds(self) -> Sequence[Stream]:
        """All feeds of the store, ended ones too."""
        return [state.stream for state in self._streams.by_id.values() if state.stream.purpose == "kinesis"]

    def present(self, stream: Stream) -> Stream | None:
        """A stream or feed as it is now; None if it has been deleted."""
        state = self._streams.by_id.get(stream.stream_id)
        return None if state is None else state.stream

    def shards(self, stream: Stream) -> Sequence[Shard]:
        """The shards of the stream that are not deleted yet, oldest first; none if the stream has been deleted."""
        state = self._streams.by_id.get(stream.stream_id)
        return [] if state is None else list(state.shards.values())

    def shard(self, stream: Stream, number: int) -> Shard | None:
        """The shard of the stream with this number; None if there is none, or it has been deleted."""
        state = self._streams.by_id.get(stream.stream_id)
        return None if state is None else state.shards.get(number)

    async def changed_shards(self, stream: Stream, since: NewsMark) -> ChangedShards | None:
        """What has become durable of the stream behind `since`, which is a sequence number here. 0.1 µs if nothing has
        happened; 0.2 µs for each shard with news, whatever shards there are.
        """
        streams = self._streams
        state = streams.by_id.get(stream.stream_id)
        if state is None or (state.last <= since and streams.begun <= since):
            return None
        durable, last = self._durable(), max(state.last, streams.begun)
        mark = min(last, durable)
        if mark <= since:
            return ChangedShards((), since, is_all=False)
        found = [state.shards.get(one) for one in walk(state.news.since(since, streams.begun))]
        return ChangedShards([one for one in found if one is not None], NewsMark(mark), is_all=last <= durable)

    async def last_of_shard(self, shard: Shard) -> rules.Sequence:
        """The sequence number that was given out last: this store numbers the records of all shards together."""
        return self._streams.last

    def _durable(self) -> rules.Sequence:
        """All records up to this sequence number are durable: those up to the last one that was given out when a commit
        was the last one, once that commit is durable. Grows with every sync, if somebody asks before and after it.
        """
        barrier = self._site.barrier
        now = barrier.position, self._streams.last
        if barrier.position <= barrier.durable_position:
            self._noted = now
        if self._noted[0] <= barrier.durable_position:
            self._durable_last = self._noted[1]
            self._noted = now
        return self._durable_last

    def follow(self, wake: Callable[[], None]) -> None:
        """Call `wake` after each commit that wrote records of any stream, or began or ended a stream or shard."""
        self._streams.wake = wake

    async def records(self, shard: Shard, first: rules.Sequence, limit_records: int, limit_bytes: int) -> RecordPage:
        """Records of a shard from sequence number `first` on, at most `limit_records`, and `limit_bytes` in all.

        Returns at least one record if there is any. Never suspends. Raises StorageError.
        """
        durable = self._durable()
        state = self._streams.by_id.get(shard.stream_id)
        current = None if state is None else state.shards.get(shard.number)
        if state is None or current is None:
            return RecordPage([], is_end=True, durable=durable)
        prefix = state.records_prefix(current)
        lower = prefix + layout.encode_sequence(max(first, current.first))
        upper = prefix_upper_bound(prefix)
        if current.last is not None:
            upper = prefix + layout.encode_sequence(min(current.last + 1, rules.SEQUENCE_MAX))
        if upper <= lower:
            return RecordPage([], is_end=True, durable=durable)
        engine = self._site.engine
        with self._site.failures():
            rows = scan_range(engine, lower, upper, skipped_keys_max=SKIPPED_KEYS_MAX)
            try:
                records, is_end = _read(rows, state, limit_records, limit_bytes)
            except IndexError as error:
                raise StorageCorruption("a stream record has no flags") from error
            finally:
                rows.close()
        return RecordPage(records, is_end, durable)


def _read(
    rows: Iterator[tuple[bytes, bytes]], state: StreamState, limit_records: int, limit_bytes: int
) -> tuple[list[tuple[rules.Sequence, bytes]], bool]:
    """The next records as the stream shows them, at least one if there is any, within `limit_records` and
    `limit_bytes`; and True if there are no more. If the stream shows less than the records have, the reading also ends
    once READ_BYTES_MAX are read.

    Raises IndexError for a record without flags, StorageCorruption, StorageFormatUnknown, and the engine's bare
    exceptions.
    """
    records: list[tuple[rules.Sequence, bytes]] = []
    left_bytes, left_read_bytes = limit_bytes, max(limit_bytes, READ_BYTES_MAX)
    hidden, images, is_whole = HIDDEN_FROM[state.stream.purpose], state.images, state.images == ALL_IMAGES
    for engine_key, row in rows:
        if records and left_read_bytes <= 0:
            return records, False
        left_read_bytes -= len(row)
        if row[1] & hidden:
            continue
        record = plain_record(row) if row[1] & WAITS else row
        if not is_whole:
            record = shown_record(record, images)
        left_bytes -= len(record)
        if left_bytes < 0 and records:
            return records, False
        records.append((layout.record_sequence(engine_key), record))
        if len(records) == limit_records or left_bytes <= 0:
            return records, False
    return records, True
