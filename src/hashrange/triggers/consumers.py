"""What does a mapping need while its records are delivered?
A consumer: the stream, the shards that may be read now, and their lanes.

Everything here is memory. What must not be lost is in the mapping's document and its checkpoints,
from which a consumer is made.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from hashrange.clock import Clock
from hashrange.items.steps import spend, walk
from hashrange.store.streams import NOTHING_HEARD, ChangedShards, Streams
from hashrange.tables.stream_records import event_forms_of, record_json
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.tables.streams import Shard, Stream
from hashrange.triggers.batches import Batch, Disturb
from hashrange.triggers.checkpoints import ShardPosition, checkpoint_name, encode_checkpoint, lane_positions
from hashrange.triggers.events import record_filter
from hashrange.triggers.lanes import BatchTerms, Lane, ReadAhead
from hashrange.triggers.lineage import Lineage
from hashrange.triggers.mapping import EventSourceMapping
from hashrange.triggers.windows import TumblingWindow

STEPS_TO_READ = 4
"""Steps of beginning to read a shard."""
PAGES_MAX = 32
"""Pages kept for lanes that are behind: ten lanes with batches of 100 records,
which come from 1,000 of the shard, use 16."""


class ConsumedShard(msgspec.Struct, eq=False):
    """A shard that a consumer reads."""

    consumer: "Consumer"
    shard: Shard
    lanes: list[Lane]
    durable: SequenceNumber = 0
    """All records up to this sequence number were durable when the shard was last read."""
    is_drained: bool = False
    """True if the shard has ended, and nothing of it is left to be read."""
    pages: deque[ReadAhead] = msgspec.field(default_factory=partial(deque, maxlen=PAGES_MAX))
    """The pages that were read last, for all lanes."""

    @property
    def checkpoint_name(self) -> str:
        """Name of the document that says how far the lanes have come."""
        return checkpoint_name(self.consumer.mapping.uuid, self.shard.number)

    def checkpoint(self) -> bytes:
        """The document of the shard's checkpoint now, behind all records that the lanes have passed over."""
        for lane in self.lanes:
            lane.passed, lane.save_seconds = 0, None
        self.consumer.saved.setdefault(self.shard.number, None)
        return encode_checkpoint(self.lanes)

    def let_go(self) -> None:
        """Keep no records; those of the batches are read again before they are delivered."""
        self.pages.clear()
        for lane in self.lanes:
            for batch in lane.batches:
                batch.records = []


class News(NamedTuple):
    """What a look for shards has found."""

    shards: list[ConsumedShard]
    """Shards that are read, and of which there may be something new."""
    deleted: list[str]
    """Names of checkpoints of deleted shards."""


class Consumer:
    """A mapping whose records are delivered."""

    def __init__(
        self,
        mapping: EventSourceMapping,
        stream: Stream,
        saved: Mapping[int, ShardPosition],
        result: str,
        clock: Clock,
        disturb: Disturb | None,
    ) -> None:
        """`saved`: what the checkpoints say, by the numbers of the shards; `result`: LastProcessingResult.

        Raises InvalidPattern.
        """
        self.mapping = mapping
        self.stream = stream
        self.saved: dict[int, ShardPosition | None] = dict(saved)
        """Numbers of the shards that have a checkpoint, and what it said when the consumer was made."""
        self.result = result
        self.shards: dict[int, ConsumedShard] = {}
        """Shards that may be read now, by number; also deleted ones whose records are still at the function."""
        self._lineage = Lineage(mapping.first)
        self.is_retired = False
        """True if nothing more is to be begun: the mapping was changed, disabled or deleted."""
        self.is_deleted = False
        """True if the mapping is deleted: no checkpoint of it is stored any more."""
        self.logged: set[str] = set()
        """Problems that have been logged since the last success (`problem_log.py`)."""
        self.busy_lanes = 0
        self.heard = NOTHING_HEARD
        """The lanes have been told of everything that is durable up to this mark."""
        self.terms = BatchTerms(
            partial(record_json, event_forms_of(stream)),
            record_filter(mapping.filters),
            mapping.tumbling_window_seconds,
            partial(_open_batch, mapping, clock, disturb),
        )

    @property
    def lane_count(self) -> int:
        """Lanes of each shard: ParallelizationFactor; 1 with tumbling windows,
        whose state belongs to a shard (unconfirmed).
        """
        return 1 if self.mapping.tumbling_window_seconds else self.mapping.parallelization_factor

    @property
    def has_ended(self) -> bool:
        """True if the stream has ended, and nothing of it is left to be read."""
        return not self.stream.is_on and not self.shards

    def look_for_shards(self, streams: Streams, changed: ChangedShards) -> News:
        """Find out what has changed for the mapping. `changed`: what the store says of `stream` behind `heard`."""
        old, heard = self.stream, self.heard
        self.stream = streams.find(old.account, old.region, old.table_name, old.label) or old
        self.heard = changed.mark
        lost = [] if heard else [one for one in self.saved if streams.shard(self.stream, one) is None]
        return self._news(streams, self._lineage.see(changed.shards), lost)

    def end(self, shard: ConsumedShard, streams: Streams) -> News:
        """Stop reading a drained shard; finds the children that have waited for that."""
        self.shards.pop(shard.shard.number, None)
        return self._news(streams, self._lineage.drain(shard.shard))

    def _news(self, streams: Streams, readable: list[Shard], lost: Sequence[int] = ()) -> News:
        """`lost`: numbers of deleted shards of which only a checkpoint is known."""
        stream = self.stream
        deleted, children = self._lineage.drop_deleted(lambda number: streams.shard(stream, number) is not None)
        found = [self._read(one) for one in walk([*readable, *children])]
        found += [self._read_on(self.shards[one]) for one in deleted if one in self.shards]
        gone = {one for one in [*lost, *deleted] if one in self.saved and one not in self.shards}
        for number in gone:
            del self.saved[number]
        return News(found, [checkpoint_name(self.mapping.uuid, one) for one in gone])

    def _read(self, shard: Shard) -> ConsumedShard:
        """The shard as it is read from now on."""
        consumed = self.shards.get(shard.number)
        if consumed is None:
            spend(STEPS_TO_READ)
            consumed = self.shards[shard.number] = self._begin(shard)
        consumed.shard = shard
        return consumed

    def _read_on(self, deleted: ConsumedShard) -> ConsumedShard:
        """The deleted shard, which is drained once the records that have been read from it are handled."""
        if deleted.shard.last is None:
            deleted.shard = deleted.shard._replace(last=deleted.shard.first)
        return deleted

    def _begin(self, shard: Shard) -> ConsumedShard:
        saved = self.saved.get(shard.number)
        positions = lane_positions(saved, max(shard.first, self.mapping.first), self.lane_count)
        window: TumblingWindow | None = None
        if saved is not None and self.mapping.tumbling_window_seconds:
            window = saved.window
        lanes = [Lane(number, position, window) for number, position in enumerate(positions)]
        return ConsumedShard(self, shard, lanes)

    def let_go(self) -> None:
        """Let go of the shards, because the consumer has ended: they refer to it,
        so that only the garbage collector would free them.
        """
        self.shards = {}

    def passed_over(self) -> Iterator[ConsumedShard]:
        """The shards of which records were passed over since the last checkpoint."""
        return (one for one in walk(self.shards.values()) if any(lane.passed for lane in one.lanes))


def _open_batch(mapping: EventSourceMapping, clock: Clock, disturb: Disturb | None) -> Batch:
    batch = Batch(clock.service_time(), mapping.batch_size)
    if disturb is not None:
        disturb(mapping, batch)
    return batch
