"""How are streams and their records read? Streams and shards from memory;
records from the engine in order, up to a number and a length.
"""

from collections.abc import Callable, Sequence

from hashrange.items.keys import prefix_upper_bound
from hashrange.items.steps import walk
from hashrange.store.embedded import layout
from hashrange.store.embedded.health import Site
from hashrange.store.embedded.reading import Cursor
from hashrange.store.embedded.stream_states import StreamState
from hashrange.store.embedded.streams import EmbeddedStreams
from hashrange.store.streams import RecordPage
from hashrange.tables import streams as rules
from hashrange.tables.stream_records import HIDDEN_FROM, WAITS, plain_record, shown_record
from hashrange.tables.streams import ALL_IMAGES, Shard, Stream

READ_BYTES_MAX = 4 * 1024 * 1024
"""Bytes of records that one page reads, in some 10 ms: records may have images that the stream does not show."""
CHUNK_ROWS = 64
"""Most records read at once. One record is read first, to estimate how many are wanted: a record may have 2 MB."""


class StreamReads:
    """Implements `interface.Streams`."""

    def __init__(self, site: Site, streams: EmbeddedStreams) -> None:
        self._site = site
        self._streams = streams

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

    def shards(self, stream: Stream) -> Sequence[Shard]:
        """The shards of the stream that are not deleted yet, oldest first; none if the stream has been deleted."""
        state = self._streams.by_id.get(stream.stream_id)
        return [] if state is None else list(state.shards.values())

    def shard(self, stream: Stream, number: int) -> Shard | None:
        """The shard of the stream with this number; None if there is none, or it has been deleted."""
        state = self._streams.by_id.get(stream.stream_id)
        return None if state is None else state.shards.get(number)

    def changed_shards(self, stream: Stream, since: rules.Sequence) -> Sequence[Shard]:
        """The shards of the stream that have begun, ended or got records behind `since`. 0.2 µs each,
        whatever shards there are.
        """
        state = self._streams.by_id.get(stream.stream_id)
        numbers = [] if state is None else state.news.since(since)
        found = [None if state is None else state.shards.get(one) for one in walk(numbers)]
        return [one for one in found if one is not None]

    def last(self) -> rules.Sequence:
        """The sequence number that the store assigned last; every later record has a greater one."""
        return self._streams.last

    def last_of(self, stream: Stream) -> rules.Sequence:
        """No record of the stream has a greater sequence number, and no shard of it has
        begun or ended later. 0.2 µs.
        """
        state = self._streams.by_id.get(stream.stream_id)
        return 0 if state is None else state.last

    def last_of_shard(self, shard: Shard) -> rules.Sequence:
        """No record of the shard has a greater sequence number, and it has not begun or ended later. 0.5 µs."""
        state = self._streams.by_id.get(shard.stream_id)
        return 0 if state is None else state.news.last_of(shard, state.records_prefix(shard))

    def follow(self, wake: Callable[[], None]) -> None:
        """Call `wake` after each commit that wrote records of any stream, or began or ended a stream or shard."""
        self._streams.wake = wake

    async def records(self, shard: Shard, first: rules.Sequence, limit_records: int, limit_bytes: int) -> RecordPage:
        """Records of a shard from sequence number `first` on, at most `limit_records`, and `limit_bytes` in all.

        Returns at least one record if there is any. Never suspends. Raises StorageError.
        """
        state = self._streams.by_id.get(shard.stream_id)
        current = None if state is None else state.shards.get(shard.number)
        if state is None or current is None:
            return RecordPage([], is_end=True)
        prefix = state.records_prefix(current)
        lower = prefix + layout.encode_sequence(max(first, current.first))
        upper = prefix_upper_bound(prefix)
        if current.last is not None:
            upper = prefix + layout.encode_sequence(min(current.last + 1, rules.SEQUENCE_MAX))
        if upper <= lower:
            return RecordPage([], is_end=True)
        site = self._site
        try:
            cursor = Cursor(site.engine, lower, upper, is_reverse=False)
            try:
                return _read(cursor, state, limit_records, limit_bytes)
            finally:
                cursor.drop()
        except Exception as error:
            raise site.fail(error) from error


def _read(cursor: Cursor, state: StreamState, limit_records: int, limit_bytes: int) -> RecordPage:
    """The next records as the stream shows them, at least one if there is any, within `limit_records` and
    `limit_bytes`. If the stream shows less than the records have, the page also ends once READ_BYTES_MAX are read.

    Raises StorageCorruption, StorageFormatUnknown, and the engine's bare exceptions.
    """
    records: list[tuple[rules.Sequence, bytes]] = []
    left_bytes, wanted, read = limit_bytes, 1, 0
    most_bytes = left_read_bytes = max(limit_bytes, READ_BYTES_MAX)
    hidden, images, is_whole = HIDDEN_FROM[state.stream.purpose], state.images, state.images == ALL_IMAGES
    special = hidden | WAITS
    while True:
        chunk = cursor.read(wanted)
        for engine_key, row in chunk:
            record = row
            if len(row) > 1 and row[1] & special:
                left_read_bytes -= len(row)
                if row[1] & hidden:
                    continue
                record = plain_record(row)
            if not is_whole:
                left_read_bytes -= len(row)
                record = shown_record(record, images)
            left_bytes -= len(record)
            if left_bytes < 0 and records:
                return RecordPage(records, is_end=False)
            records.append((layout.record_sequence(engine_key), record))
        if len(chunk) < wanted:
            return RecordPage(records, is_end=True)
        if len(records) == limit_records or left_bytes <= 0 or (records and left_read_bytes <= 0):
            return RecordPage(records, is_end=False)
        read += len(chunk)
        fitting = left_bytes * len(records) // (limit_bytes - left_bytes) + 1 if records else 2 * wanted
        used_bytes = most_bytes - left_read_bytes
        readable = left_read_bytes * read // used_bytes + 1 if used_bytes else CHUNK_ROWS
        wanted = max(1, min(CHUNK_ROWS, limit_records - len(records), fitting, readable))
