"""Which shards of a feed are delivered now, and from where on? Those whose parents have been delivered,
once the Kinesis data stream has been found; from their checkpoints on.
"""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Literal

import msgspec

from hashrange.items.steps import walk
from hashrange.limits import KINESIS_ENABLING_SECONDS_MAX
from hashrange.messages import kinesis as messages
from hashrange.store.documents import Documents
from hashrange.store.interface import Catalog
from hashrange.store.records import decode_document
from hashrange.store.streams import NOTHING_HEARD, ChangedShards, Streams
from hashrange.tables.kinesis_destinations import FeedTarget, destination_on
from hashrange.tables.streams import Sequence, Stream, parse_sequence
from hashrange.triggers.kinesis.change_records import change_template
from hashrange.triggers.kinesis.shard_delivery import FeedTerms, ShardDelivery
from hashrange.triggers.lineage import shards_to_read
from hashrange.triggers.retries import pause_seconds

_log = logging.getLogger("hashrange.kinesis")

# --- how far the delivery has come ----------------------------------------------------------------

# One document for each shard, `kinesis/{stream id of the feed}/{shard number}`, has the text of a sequence number:
# Kinesis has accepted all changes of the shard before it.

PREFIX = "kinesis/"

ShardKey = tuple[int, int]
"""Stream id of a feed, and number of a shard."""


def checkpoint_of(key: ShardKey) -> str:
    """Name of the document that has the position of a shard."""
    stream_id, shard = key
    return f"{PREFIX}{stream_id}/{shard}"


def read_positions(documents: Documents) -> dict[ShardKey, Sequence]:
    """The positions of all shards that have a checkpoint. Raises StorageCorruption and other StorageErrors."""
    return dict(
        decode_document(partial(_read_position, name), name, document, "checkpoint of a delivery to Kinesis")
        for name, document in documents.below(PREFIX)
    )


def _read_position(name: str, document: bytes) -> tuple[ShardKey, Sequence]:
    _, stream_id, shard = name.split("/")
    return (int(stream_id), int(shard)), parse_sequence(document.decode())


# --- destinations that are new --------------------------------------------------------------------

READY_STATUSES = ("ACTIVE", "UPDATING")
"""Statuses of data streams that take records."""


class Enabling:
    """A destination whose data stream has not been found yet. If it exists, the destination becomes ACTIVE, otherwise
    ENABLE_FAILED.

    A data stream that is still being created counts as missing, as for the service. While Kinesis does not answer, the
    destination stays ENABLING and Kinesis is asked again, for at most five minutes: until then, it cannot be disabled.
    """

    def __init__(self, feed: Stream) -> None:
        self.feed = feed
        self.failures = 0
        self.due_seconds = 0.0
        """Service time before which Kinesis is not asked."""
        self.is_busy = False
        """True while Kinesis is being asked."""
        self.begun = 0
        """Number of the pass in which Kinesis was last asked."""
        self.has_waited = False
        """True once Kinesis has not answered a request for this data stream."""

    async def answered(self, catalog: Catalog, status: str | None, now_seconds: float) -> None:
        """Conclude with the status of the data stream; None: there is none."""
        if status in READY_STATUSES:
            await self._conclude(catalog, "ACTIVE", None, now_seconds)
        else:
            await self._conclude(catalog, "ENABLE_FAILED", messages.NO_PERMISSION, now_seconds)

    def unanswered(self) -> None:
        """Note that Kinesis has not answered."""
        self.has_waited = True

    def refused(self, now_seconds: float) -> None:
        """Note that Kinesis has refused to answer, and ask again after a pause."""
        self.has_waited = True
        self.failures += 1
        self.due_seconds = now_seconds + pause_seconds(self.failures)

    async def give_up_late(self, catalog: Catalog, reason: str, now_seconds: float) -> None:
        """Conclude that the destination has failed, if Kinesis has not answered for long."""
        if self.has_waited and now_seconds >= self.feed.created_at_seconds + KINESIS_ENABLING_SECONDS_MAX:
            description = messages.NO_ANSWER.format(reason=reason)
            await self._conclude(catalog, "ENABLE_FAILED", description, now_seconds)

    async def _conclude(
        self, catalog: Catalog, state: Literal["ACTIVE", "ENABLE_FAILED"], description: str | None, now_seconds: float
    ) -> None:
        """Store the destination's new state, unless the destination is gone."""
        feed = self.feed
        while True:
            opened = catalog.find(feed.account, feed.region, feed.table_name)
            destination = None if opened is None else destination_on(opened.schema)
            if opened is None or destination is None or destination.feed_label != feed.label:
                return
            table = opened.schema
            new = msgspec.structs.replace(
                destination, state=state, description=description, changed_at_seconds=now_seconds
            )
            others = table.kinesis_destinations[:-1]
            if await catalog.replace(table, msgspec.structs.replace(table, kinesis_destinations=(*others, new))):
                return

    def rest(self) -> None:
        """Keep nothing for the next request: there is nothing to keep."""


# --- the feed -------------------------------------------------------------------------------------


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
        self.heard = NOTHING_HEARD
        """The shards have been told of everything that is durable up to this mark."""

    @property
    def line(self) -> tuple[int, str]:
        """Table id and data stream. Feeds that share these are delivered one after the other,
        so that changes come in order.
        """
        return self.terms.feed.table_id, self.terms.stream_arn

    def update(self, feed: Stream, target: FeedTarget) -> None:
        """Note that the feed has ended, or that its records go elsewhere from now on."""
        if feed is not self.terms.feed:
            self.terms = _terms_of(feed, target)
            if target.is_found or not feed.is_on:
                self.enabling = None

    def present_terms(self, streams: Streams) -> FeedTerms:
        """The terms of what is sent from now on: the feed may have changed in this pass."""
        feed = streams.present(self.terms.feed)
        if feed is not None and feed.target is not None:
            self.update(feed, feed.target)
        return self.terms

    def look_for_shards(
        self, streams: Streams, changed: ChangedShards | None, positions: Mapping[ShardKey, Sequence], oldest: Sequence
    ) -> list[ShardKey]:
        """Find shards that are new, closed or may be delivered from now on; returns all that have not been deleted.

        `changed`: what the store says of the feed behind `heard`. `positions`: what the checkpoints say. `oldest`: no
        change with a smaller sequence number is delivered any more.
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
        if changed is not None:
            self.heard = changed.mark
            for shard in walk(changed.shards):
                if shard.number in self.shards:
                    self.shards[shard.number].has_news = True
        if not all(one.is_drained for one in former.values()):
            _log.warning(messages.LOG_EXPIRED, feed.table_name, self.terms.stream_arn)
        return [(feed.stream_id, one.number) for one in present]


def _terms_of(feed: Stream, target: FeedTarget) -> FeedTerms:
    return FeedTerms(feed, change_template(feed, target), target.stream_arn)
