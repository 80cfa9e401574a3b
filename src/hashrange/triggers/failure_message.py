"""What does an on-failure destination get when a batch is discarded?
A JSON document about the last invocation and the batch. Pure.

Queues and topics get the document alone; objects in buckets hold the batch's event too, and are named after mapping,
shard and time. Source of members, their order and the names of objects: Lambda's developer guide, *Retain discarded
records for a DynamoDB event source*, of 2026; of `RecordAgeExceeded`: reports of users.
"""

from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import msgspec

FailureCondition = Literal["RetryAttemptsExhausted", "RecordAgeExceeded"]
"""Why a batch is discarded: it was retried as often as the mapping allows, or its records are older than the mapping,
or the stream's retention, allows."""
_VERSION = "1.0"


class FailureMessage(NamedTuple):
    """A discarded batch. Times are seconds since the epoch, in service time."""

    message_id: str
    """A random UUID, the end of the object's name: a delivery that is repeated replaces its object."""
    mapping_uuid: str
    function_arn: str
    condition: FailureCondition
    request_id: str
    """Request id of the last invocation."""
    invoke_count: int
    """Invocations with the batch, with those of the larger batches that it was split from."""
    executed_version: str
    function_error: str | None
    """What the last invocation returned, `Handled` or `Unhandled`; None if the function returned item failures, or was
    never invoked with the batch."""
    discarded_seconds: float
    stream_arn: str
    shard_id: str
    start_sequence_number: str
    end_sequence_number: str
    first_arrival_seconds: float
    last_arrival_seconds: float
    batch_size: int
    """Number of records."""
    event: bytes
    """The event with which the function was, or would have been, invoked: JSON in UTF-8."""


def encode_failure(message: FailureMessage, *, has_event: bool) -> bytes:
    """The document, as JSON without line ends. `has_event`: with the member `payload`, the event as a text.

    A batch with which the function was never invoked has no `responseContext`, and one with item failures has no
    `functionError` (both unconfirmed). With an event of 6 MB, takes some 30 ms.
    """
    document: dict[str, Any] = {
        "requestContext": {
            "requestId": message.request_id,
            "functionArn": message.function_arn,
            "condition": message.condition,
            "approximateInvokeCount": message.invoke_count,
        }
    }
    if message.invoke_count:
        document["responseContext"] = {"statusCode": 200, "executedVersion": message.executed_version}
        if message.function_error is not None:
            document["responseContext"]["functionError"] = message.function_error
    document |= {
        "version": _VERSION,
        "timestamp": _moment(message.discarded_seconds).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "DDBStreamBatchInfo": {
            "shardId": message.shard_id,
            "startSequenceNumber": message.start_sequence_number,
            "endSequenceNumber": message.end_sequence_number,
            "approximateArrivalOfFirstRecord": _second(message.first_arrival_seconds),
            "approximateArrivalOfLastRecord": _second(message.last_arrival_seconds),
            "batchSize": message.batch_size,
            "streamArn": message.stream_arn,
        },
    }
    if has_event:
        document["payload"] = message.event.decode()
    return msgspec.json.encode(document)


def object_key(message: FailureMessage) -> str:
    """Name of the object: `aws/lambda/<mapping>/<shard>/YYYY/MM/DD/YYYY-MM-DDTHH.MM.SS-<random UUID>`, in UTC."""
    moment = _moment(message.discarded_seconds)
    folder = f"aws/lambda/{message.mapping_uuid}/{message.shard_id}"
    return f"{folder}/{moment:%Y/%m/%d}/{moment:%Y-%m-%dT%H.%M.%S}-{message.message_id}"


def region_of(message: FailureMessage) -> str:
    """The mapping's Region, which is that of its stream."""
    return message.stream_arn.split(":")[3]


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _second(seconds: float) -> str:
    """The time to the second, which is as exact as a record's ApproximateCreationDateTime."""
    return f"{_moment(seconds):%Y-%m-%dT%H:%M:%SZ}"
