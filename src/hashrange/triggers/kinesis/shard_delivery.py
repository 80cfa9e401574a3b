"""How far has the delivery of a feed's shard come, and which changes are sent next?
At most one request of a shard is under way.

A request has at most one change of each item, because Kinesis may keep the records of one request in any order, or only
some of them: so an item's changes come in order, except when one is sent again that had already come. Changes that were
accepted before an earlier one are remembered, and not sent again while the process lives.
A change that Kinesis does not accept within 24 hours is dropped; one that it never accepts, because its record is too
long, is passed over, as the service does (developer guide, metric FailedToReplicateRecordCount).
"""

import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hashrange.functions.handler_errors import logged_text
from hashrange.items.steps import spend, spend_decoding
from hashrange.limits import (
    CHANGE_DATA_CAPTURE_UNIT_BYTES,
    KINESIS_PUT_BYTES,
    KINESIS_PUT_RECORDS_MAX,
    KINESIS_RECORD_BYTES_MAX,
)
from hashrange.messages import kinesis as messages
from hashrange.store.streams import Streams
from hashrange.tables.stream_records import keys_json_of, largest_image_bytes, record_parts
from hashrange.tables.streams import SEQUENCE_COUNTER_BITS, Shard, Stream, horizon
from hashrange.tables.streams import Sequence as SequenceNumber
from hashrange.triggers.kinesis.change_records import ChangeTemplate, change_json, partition_key_of
from hashrange.triggers.kinesis.client import KinesisRefusal, OutgoingRecord, PutResult, encode_put
from hashrange.triggers.retries import pause_seconds

STEPS_PER_RECORD = 6
MILLISECONDS_PER_SECOND = 1000
FITTING_BYTES = KINESIS_PUT_BYTES
"""Every Kinesis data stream takes records of this many bytes, with their partition keys."""

_log = logging.getLogger("hashrange.kinesis")


class FeedTerms(NamedTuple):
    """What the requests of all shards of a feed share."""

    feed: Stream
    template: ChangeTemplate
    stream_arn: str
    """ARN of the Kinesis data stream."""


class OutgoingPut(NamedTuple):
    """A PutRecords to be sent."""

    body: bytes
    sequences: Sequence[SequenceNumber]
    """For each record in the body, the sequence number of its change."""
    records_bytes: int
    """Bytes of the records with their partition keys."""
    units: Sequence[int]
    """For each record, the change data capture units of its change."""

    @property
    def is_fitting(self) -> bool:
        """True if every data stream takes each of the records; a longer record is alone in its request."""
        return self.records_bytes <= FITTING_BYTES


class ShardDelivery:
    """The delivery of one shard."""

    def __init__(self, shard: Shard, position: SequenceNumber) -> None:
        self.shard = shard
        self.position = position
        """All changes with smaller sequence numbers have been accepted, dropped or passed over."""
        self.failures = 0
        """Requests in a row of which nothing was accepted."""
        self.due_seconds = 0.0
        """Service time before which nothing is sent."""
        self.is_busy = False
        """True while a request is under way."""
        self.is_drained = False
        """True once the shard is closed and nothing of it is left to be sent."""
        self.begun = 0
        """Number of the pass in which a request was last begun."""
        self.passed_over = 0
        """Changes that have been passed over since somebody looked."""
        self._oldest_sent: SequenceNumber | None = None
        """The oldest change of the last request; None before the first one."""
        self._accepted: set[SequenceNumber] = set()
        """Changes from the position on that need not be sent again; all of them are on one page."""
        self._page: Sequence[tuple[SequenceNumber, bytes]] = ()
        """Changes from the position on; kept while requests succeed."""
        self.has_news = True
        """False once everything durable has been read, and none of it is left to be sent."""

    def oldest_age_seconds(self, now_seconds: float) -> float | None:
        """Service time since the oldest change that is known to wait; None if none is known."""
        oldest = self._oldest_sent
        if oldest is None or oldest < self.position:
            return None
        return max(now_seconds - (oldest >> SEQUENCE_COUNTER_BITS) / MILLISECONDS_PER_SECOND, 0.0)

    def take_passed_over(self) -> int:
        """How many changes have been passed over since the last call."""
        passed_over, self.passed_over = self.passed_over, 0
        return passed_over

    async def next_put(
        self, terms_now: Callable[[Streams], FeedTerms], streams: Streams, now_seconds: float
    ) -> OutgoingPut | None:
        """The next request; None if there is nothing to send, since only durable changes are sent.

        `terms_now` is asked behind the read, which may give way: what is read may have been written
        after a change of the terms. Raises StorageError.
        """
        if not self.has_news:
            return None
        oldest = horizon(now_seconds)
        while True:
            if not self._page:
                await self._read(streams)
            if not self._page:
                return None
            terms = terms_now(streams)
            if self._page[0][0] < oldest:
                _log.warning(messages.LOG_EXPIRED, terms.feed.table_name, terms.stream_arn)
                self._pass_to(oldest)
                continue
            put = self._choose(terms)
            if put is not None:
                return put

    async def _read(self, streams: Streams) -> None:
        """Read a page of durable changes from the position on; none if nothing is left."""
        shard = self.shard
        page = await streams.records(shard, self.position, KINESIS_PUT_RECORDS_MAX, KINESIS_PUT_BYTES)
        self._page = [one for one in page.records if one[0] <= page.durable]
        if not self._page:
            self.has_news = False
            self.is_drained = not page.records and shard.last is not None and shard.last <= page.durable

    def _choose(self, terms: FeedTerms) -> OutgoingPut | None:
        """Put the first change of each item on the page, as far as they fit, into a request.

        Returns None if all changes on the page were passed over.
        """
        chosen: list[OutgoingRecord] = []
        units: list[int] = []
        items: set[str] = set()
        size_bytes = 0
        for sequence, record in self._page:
            if sequence in self._accepted:
                continue
            spend(STEPS_PER_RECORD)
            partition_key = partition_key_of(keys_json_of(record))
            if partition_key in items:
                continue
            spend_decoding(len(record))
            data = change_json(terms.template, sequence, record_parts(record))
            record_bytes = len(data) + len(partition_key)
            if record_bytes > KINESIS_RECORD_BYTES_MAX:
                self._pass_over(terms, sequence, record_bytes)
                continue
            if chosen and size_bytes + record_bytes > KINESIS_PUT_BYTES:
                break
            chosen.append(OutgoingRecord(sequence, partition_key, data))
            units.append(_units_of(record))
            items.add(partition_key)
            size_bytes += record_bytes
        if not chosen:
            self._advance()
            return None
        body = encode_put(terms.stream_arn, chosen)
        self._oldest_sent = chosen[0].sequence
        return OutgoingPut(body, [one.sequence for one in chosen], size_bytes, units)

    def _pass_over(self, terms: FeedTerms, sequence: SequenceNumber, record_bytes: int) -> None:
        _log.warning(messages.LOG_UNFIT, terms.feed.table_name, terms.stream_arn, record_bytes)
        self._accepted.add(sequence)
        self.passed_over += 1

    # --- what became of a request -----------------------------------------------------------------

    def concluded(self, terms: FeedTerms, put: OutgoingPut, results: Sequence[PutResult], now_seconds: float) -> None:
        """Note the results of a request. What failed is sent again, at once or after a pause."""
        failed = 0
        for sequence, result in zip(put.sequences, results, strict=True):
            if result == "accepted":
                self._accepted.add(sequence)
            elif result == "unfit" and not put.is_fitting:
                self._pass_over(terms, sequence, put.records_bytes)
            else:
                failed += 1
        if failed == len(results):
            self._failed(terms, now_seconds, messages.RECORDS_FAILED)
            return
        self._advance()
        self.failures = 0
        if failed:
            self._page = ()
            self.due_seconds = now_seconds + pause_seconds(1)

    def refused(self, terms: FeedTerms, put: OutgoingPut, refusal: KinesisRefusal, now_seconds: float) -> None:
        """Note that Kinesis refused a request. The change in it is passed over if its length is the reason."""
        if refusal.is_unfit and not put.is_fitting:
            for sequence in put.sequences:
                self._pass_over(terms, sequence, put.records_bytes)
            self._advance()
        else:
            self._failed(terms, now_seconds, str(refusal))

    def _failed(self, terms: FeedTerms, now_seconds: float, reason: str) -> None:
        if not self.failures:
            _log.warning(messages.LOG_FAILED, terms.feed.table_name, terms.stream_arn, logged_text(reason))
        self.failures += 1
        self.due_seconds = now_seconds + pause_seconds(self.failures)
        self._page = ()

    def _advance(self) -> None:
        """Move the position to the first change on the page that is left to be sent, or behind the page."""
        page = self._page
        left = next((place for place, (sequence, _) in enumerate(page) if sequence not in self._accepted), len(page))
        self._pass_to(page[left][0] if left < len(page) else page[-1][0] + 1)
        self._page = page[left:]

    def _pass_to(self, position: SequenceNumber) -> None:
        self.position = position
        self._accepted = {one for one in self._accepted if one >= position}
        self._page = ()

    def rest(self) -> None:
        """Drop what is only kept so that the next request need not read it again."""
        self._page = ()


def _units_of(record: bytes) -> int:
    """The change data capture units of a change. Source: streams.md 7."""
    return max(-(-largest_image_bytes(record) // CHANGE_DATA_CAPTURE_UNIT_BYTES), 1)
