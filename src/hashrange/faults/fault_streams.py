"""When are stream records readable? With faults, some seconds of service time after their changes."""

from collections.abc import Sequence

from hashrange.clock import Clock
from hashrange.faults.drawing import Drawing
from hashrange.store.streams import RecordPage, Streams
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import Shard, Stream, sequence_at

STREAMS_MAX = 100
"""Most streams of which the name of the table is remembered."""
MILLISECOND = 0.001
"""In seconds. Sequence numbers count milliseconds, so all records of a millisecond become readable together."""


class FaultStreams:
    """The streams of an inner store; the latest records of these streams are not readable yet."""

    def __init__(self, inner: Streams, drawing: Drawing, clock: Clock) -> None:
        self._inner = inner
        self._drawing = drawing
        self._clock = clock
        self._names: dict[int, str] = {}
        """Stream id → name of its table, for the streams whose shards were looked at last; the oldest first."""
        self.last, self.of, self.last_of = inner.last, inner.of, inner.last_of
        self.changed_shards, self.last_of_shard = inner.changed_shards, inner.last_of_shard
        self.find, self.follow, self.feeds = inner.find, inner.follow, inner.feeds

    def shards(self, stream: Stream) -> Sequence[Shard]:
        """The inner store's shards of a stream; remembers the name of the stream's table for `records`."""
        self._remember(stream)
        return self._inner.shards(stream)

    def shard(self, stream: Stream, number: int) -> Shard | None:
        """The inner store's shard of a stream; remembers the name of the stream's table for `records`."""
        self._remember(stream)
        return self._inner.shard(stream, number)

    def _remember(self, stream: Stream) -> None:
        self._names.pop(stream.stream_id, None)
        self._names[stream.stream_id] = stream.table_name
        if len(self._names) > STREAMS_MAX:
            del self._names[next(iter(self._names))]

    async def records(self, shard: Shard, first: SequenceNumber, limit_records: int, limit_bytes: int) -> RecordPage:
        """Records of a shard that are readable. If later ones are not yet, `is_end` is False."""
        page = await self._inner.records(shard, first, limit_records, limit_bytes)
        if not page.records:
            return page
        seconds = self._drawing.seconds_of("late-records", self._names.get(shard.stream_id), "GetRecords")
        if not seconds:
            return page
        late = sequence_at(self._clock.service_time() - seconds + MILLISECOND)
        kept = [record for record in page.records if record[0] < late]
        return page if len(kept) == len(page.records) else RecordPage(kept, is_end=False)
