"""What does an on-failure destination get when a batch is discarded?
A JSON document about the last invocation and the batch.

Queues and topics get the document alone; objects in buckets hold the batch's event too, and are named after mapping,
shard and time. Source of members, their order and the names of objects: Lambda's developer guide, *Retain discarded
records for a DynamoDB event source*, of 2026; of `RecordAgeExceeded`: reports of users.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from hashrange.functions.description import new_uuid
from hashrange.functions.names import LATEST, parse_arn
from hashrange.tables.streams import sequence_seconds, sequence_text
from hashrange.triggers.batches import Batch
from hashrange.triggers.mapping import EventSourceMapping

_VERSION = "1.0"


class FailureMessage(NamedTuple):
    """The message about a discarded batch."""

    function_arn: str
    stream_arn: str
    object_key: str
    """Name of the object: `aws/lambda/<mapping>/<shard>/YYYY/MM/DD/YYYY-MM-DDTHH.MM.SS-<random UUID>`, in UTC.
    A delivery that is repeated replaces its object."""
    batch_size: int
    """Number of records."""
    document: Mapping[str, Any]
    event: bytes
    """The event with which the function was, or would have been, invoked: JSON in UTF-8."""


def describe_failure(
    mapping: EventSourceMapping, shard_id: str, batch: Batch, event: bytes, now_seconds: float
) -> FailureMessage:
    """The message about a batch that is given up (`batch.discard` says why). `now_seconds`: service time.

    A message that is sent again has the same id and time, which are kept in the batch. A batch with which the function
    was never invoked has no `responseContext`, and one with item failures has no `functionError` (both unconfirmed).
    """
    if not batch.message_id:
        batch.message_id, batch.discarded_seconds = new_uuid(), now_seconds
    size, first, last = len(batch.sequences), batch.sequences[0], batch.sequences[-1]
    function = parse_arn(mapping.function_arn)
    moment = _moment(batch.discarded_seconds)
    document: dict[str, Any] = {
        "requestContext": {
            "requestId": batch.request_id or batch.message_id,
            "functionArn": mapping.function_arn,
            "condition": batch.discard,
            "approximateInvokeCount": batch.invocations,
        }
    }
    if batch.invocations:
        version = (function and function.qualifier) or LATEST
        document["responseContext"] = {"statusCode": 200, "executedVersion": version}
        if batch.error is not None:
            document["responseContext"]["functionError"] = batch.error
    document |= {
        "version": _VERSION,
        "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "DDBStreamBatchInfo": {
            "shardId": shard_id,
            "startSequenceNumber": sequence_text(first),
            "endSequenceNumber": sequence_text(last),
            "approximateArrivalOfFirstRecord": _second(sequence_seconds(first)),
            "approximateArrivalOfLastRecord": _second(sequence_seconds(last)),
            "batchSize": size,
            "streamArn": mapping.stream_arn,
        },
    }
    folder = f"aws/lambda/{mapping.uuid}/{shard_id}"
    object_key = f"{folder}/{moment:%Y/%m/%d}/{moment:%Y-%m-%dT%H.%M.%S}-{batch.message_id}"
    return FailureMessage(mapping.function_arn, mapping.stream_arn, object_key, size, document, event)


def encode_failure(message: FailureMessage, *, has_event: bool) -> bytes:
    """The document, as JSON without line ends. `has_event`: with the member `payload`, the event as a text.

    With an event of 6 MB, takes some 30 ms.
    """
    payload = {"payload": message.event.decode()} if has_event else {}
    return msgspec.json.encode({**message.document, **payload})


def region_of(message: FailureMessage) -> str:
    """The mapping's Region, which is that of its stream."""
    return message.stream_arn.split(":")[3]


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _second(seconds: float) -> str:
    """The time to the second, which is as exact as a record's ApproximateCreationDateTime."""
    return f"{_moment(seconds):%Y-%m-%dT%H:%M:%SZ}"
