"""How are items written so that none is lost? With BatchWriteItem, again for what comes back unprocessed, and one by
one if the service refuses a batch, to find out which item it refuses.
"""

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.moving.pages import ReportedUnits
from hashrange.toolkit.moving.raw_client import THROTTLED_TRIES, RawClient, wait
from hashrange.toolkit.moving.unit_pacer import UnitPacer
from hashrange.toolkit.patience import jittered_seconds

BATCH_ITEMS = 25
BATCH_BYTES = 8_000_000
"""A batch is sent when it is this long, because BatchWriteItem takes 16 MB."""
REFUSED_CODES = {"ItemCollectionSizeLimitExceededException", "SerializationException", "ValidationException"}
"""Codes of refusals that are about an item."""


class BatchReply(msgspec.Struct, rename="pascal", gc=False):
    """A reply to BatchWriteItem."""

    unprocessed_items: dict[str, list[msgspec.Raw]] = {}
    consumed_capacity: list[ReportedUnits] = []


class RefusedItem(NamedTuple):
    """A request of a batch that the service refuses."""

    position: int
    reason: str


class WrittenBatch(NamedTuple):
    """What became of a batch."""

    units: float
    refusals: list[RefusedItem]


_decode_reply = msgspec.json.Decoder(BatchReply).decode


def item_put(item: bytes | msgspec.Raw) -> bytes:
    """The request that puts an item."""
    return b'{"PutRequest":{"Item":%b}}' % bytes(item)


def item_deletion(key: bytes | msgspec.Raw) -> bytes:
    """The request that deletes the item with a key."""
    return b'{"DeleteRequest":{"Key":%b}}' % bytes(key)


class BatchWriter:
    """Writes to one table, for any number of threads."""

    def __init__(self, client: RawClient, table: str, rate: UnitPacer | None, stop: threading.Event) -> None:
        self._client, self._table, self._rate, self._stop = client, table, rate, stop
        self._head = b'{"ReturnConsumedCapacity":"TOTAL","RequestItems":{%b:[' % msgspec.json.encode(table)
        self._members: dict[str, Any] = {"RequestItems": {table: [{}]}}

    def write(self, requests: Sequence[bytes]) -> WrittenBatch:
        """Write at most BATCH_ITEMS requests, all of different keys. Raises ToolkitFailure, Stopped."""
        units, left, tries = 0.0, list(requests), 0
        pauses = jittered_seconds()
        while True:
            try:
                reply = self._send(left)
            except ToolkitFailure as failure:
                if failure.code not in REFUSED_CODES or len(left) < len(requests):
                    raise
                return self._write_apart(requests, failure)
            units += sum(one.capacity_units for one in reply.consumed_capacity)
            unprocessed = [bytes(one) for some in reply.unprocessed_items.values() for one in some]
            if not unprocessed:
                return WrittenBatch(units, [])
            tries = tries + 1 if len(unprocessed) == len(left) else 0
            if tries == THROTTLED_TRIES:
                raise ToolkitFailure(
                    f"the table {self._table} takes no more items: {len(left)} stayed unprocessed after {tries} tries."
                    " Raise its capacity, or try later."
                )
            left = unprocessed
            wait(self._stop, next(pauses))

    def _send(self, requests: Sequence[bytes]) -> BatchReply:
        if self._rate is not None:
            self._rate.wait(self._stop)
        body = self._head + b",".join(requests) + b"]}}"
        reply: BatchReply = self._client.ask("batch_write_item", self._members, body, _decode_reply)
        is_any_written = sum(map(len, reply.unprocessed_items.values())) < len(requests)
        if self._rate is not None and is_any_written:
            self._rate.take(sum(one.capacity_units for one in reply.consumed_capacity))
        return reply

    def _write_apart(self, requests: Sequence[bytes], failure: ToolkitFailure) -> WrittenBatch:
        """Write the halves of a batch that was refused, down to single requests."""
        if len(requests) == 1:
            return WrittenBatch(0.0, [RefusedItem(0, str(failure))])
        middle = len(requests) // 2
        first, second = self.write(requests[:middle]), self.write(requests[middle:])
        moved = [one._replace(position=one.position + middle) for one in second.refusals]
        return WrittenBatch(first.units + second.units, first.refusals + moved)
