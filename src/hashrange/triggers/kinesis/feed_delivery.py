"""Which shards of a feed are delivered now? Those whose parents have been delivered,
once the Kinesis data stream has been found.
"""

import logging
from collections.abc import Mapping

from hashrange.items.steps import walk
from hashrange.messages import kinesis as messages
from hashrange.store.streams import Streams
from hashrange.tables.kinesis_destinations import FeedTarget, read_arn
from hashrange.tables.streams import Sequence, Stream
from hashrange.triggers.kinesis.change_records import change_template
from hashrange.triggers.kinesis.checkpoints import ShardKey
from hashrange.triggers.kinesis.client import DataStream
from hashrange.triggers.kinesis.enabling import Enabling
from hashrange.triggers.kinesis.shard_delivery import FeedTerms, ShardDelivery
from hashrange.triggers.lineage import shards_to_read

_log = logging.getLogger("hashrange.kinesis")


class FeedDelivery:
    """The delivery of one feed whose changes go to a Kinesis data stream."""

    def __init__(self, feed: Stream, target: FeedTarget) -> None:
        self.terms = _terms_of(feed, target)
        self.enabling = Enabling(feed) if feed.is_on and not target.is_found else None
        """Set until the data stream has been found, or the feed has ended."""
        self.shards: dict[int, ShardDelivery] = {}
        """Shards to be delivered now, by number."""
        self._drained: set[int] = set()
        """Numbers of the shards of which nothing is left to be sent."""

    @property
    def line(self) -> tuple[int, str]:
        """Table id and data stream. Feeds that share these are delivered one after the other,
        so that changes come in order.
        """
        return self.terms.feed.table_id, self.terms.data_stream.arn

    def update(self, feed: Stream, target: FeedTarget) -> None:
        """Note that the feed has ended, or that its records go elsewhere from now on."""
        if feed is not self.terms.feed:
            self.terms = _terms_of(feed, target)
            if target.is_found or not feed.is_on:
                self.enabling = None

    def look_for_shards(
        self, streams: Streams, positions: Mapping[ShardKey, Sequence], oldest: Sequence
    ) -> list[ShardKey]:
        """Find shards that are new, closed or may be delivered from now on; returns all that have not been deleted.

        `positions`: what the checkpoints say. `oldest`: no change with a smaller sequence number is delivered any more.
        """
        feed = self.terms.feed
        present = streams.shards(feed)
        self._drained |= {number for number, one in self.shards.items() if one.is_drained}
        readable, self._drained = shards_to_read(present, oldest, self._drained)
        former, self.shards = self.shards, {}
        for shard in walk(readable):
            known = former.pop(shard.number, None)
            if known is None:
                known = ShardDelivery(shard, max(shard.first, positions.get((feed.stream_id, shard.number), 0)))
            known.shard = shard
            self.shards[shard.number] = known
        if not all(one.is_drained for one in former.values()):
            _log.warning(messages.LOG_EXPIRED, feed.table_name, self.terms.data_stream.arn)
        return [(feed.stream_id, one.number) for one in present]


def _terms_of(feed: Stream, target: FeedTarget) -> FeedTerms:
    arn = read_arn(target.stream_arn)
    assert arn is not None, "only ARNs of data streams have feeds"
    assert arn.name is not None, "only ARNs of data streams have feeds"
    data_stream = DataStream(target.stream_arn, arn.region, arn.account, arn.name)
    return FeedTerms(feed, feed.keys.partition_names + feed.keys.sort_names, change_template(feed, target), data_stream)
