"""DescribeStream: describe a stream and a page of its shards, oldest first, or of one shard's direct children."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.limits import DESCRIBE_STREAM_MAX
from hashrange.operations import shapes
from hashrange.operations.naming import by_stream_arn
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.streams.stream import find_stream, readable_shards
from hashrange.tables.description import describe_keys
from hashrange.tables.streams import Shard, Stream, sequence_text


class ShardFilter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A filter that selects the direct children of one shard."""

    Type: Literal["CHILD_SHARDS"]
    ShardId: shapes.ShardId


class DescribeStreamRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The stream, the shard to start after, page size and filter."""

    StreamArn: shapes.StreamArn
    Limit: Annotated[int, Meta(ge=1, le=DESCRIBE_STREAM_MAX, extra={"shape": "Integer"})] | None = None
    ExclusiveStartShardId: shapes.ShardId | None = None
    ShardFilter: "ShardFilter | None" = None


async def describe_stream(scope: Scope, request: DescribeStreamRequest) -> Reply:
    """Describe the stream; LastEvaluatedShardId only if more shards follow.

    A missing shard in ShardFilter has no children.
    """
    stream = find_stream(scope, request.StreamArn)
    all_shards = readable_shards(scope, stream)
    ids = {one.number: one.shard_id for one in all_shards}
    shards = _wanted(all_shards, request)
    limit = request.Limit or DESCRIBE_STREAM_MAX
    reply: dict[str, Any] = {
        "StreamArn": stream.arn,
        "StreamLabel": stream.label,
        "StreamStatus": _status(stream, scope.clock.service_time()),
        "StreamViewType": stream.view_type,
        "CreationRequestDateTime": round(stream.created_at_seconds, 3),
        "TableName": stream.table_name,
        "KeySchema": describe_keys(stream.keys),
        "Shards": [_described(one, ids) for one in shards[:limit]],
    }
    if len(shards) > limit:
        reply["LastEvaluatedShardId"] = shards[limit - 1].shard_id
    return {"StreamDescription": reply}


def _wanted(shards: Sequence[Shard], request: DescribeStreamRequest) -> Sequence[Shard]:
    """The shards after ExclusiveStartShardId, of these only the children of the shard in ShardFilter, if given."""
    if request.ShardFilter is not None:
        parent = next((one.number for one in shards if one.shard_id == request.ShardFilter.ShardId), -1)
        shards = [one for one in shards if one.parent == parent]
    start_id = request.ExclusiveStartShardId
    return (
        shards if start_id is None else [one for one in shards if _number_text(one.shard_id) > _number_text(start_id)]
    )


def _number_text(shard_id: str) -> str:
    """The shard's number at the end of its id, as text; shards are numbered in the order of their creation."""
    return shard_id.rpartition("-")[2]


def _described(shard: Shard, ids: dict[int, str]) -> dict[str, Any]:
    """A shard in wire form; ParentShardId only if the parent is still readable, as `ids` (shard number → id) shows."""
    sequences = {"StartingSequenceNumber": sequence_text(shard.first)}
    if shard.last is not None:
        sequences["EndingSequenceNumber"] = sequence_text(shard.last)
    described: dict[str, Any] = {"ShardId": shard.shard_id, "SequenceNumberRange": sequences}
    if shard.parent in ids:
        described["ParentShardId"] = ids[shard.parent]
    return described


def _status(stream: Stream, now_seconds: float) -> str:
    if now_seconds < stream.changing_until_seconds:
        return "ENABLING" if stream.is_on else "DISABLING"
    return "ENABLED" if stream.is_on else "DISABLED"


OPERATION = Operation(
    name="DescribeStream",
    request=DescribeStreamRequest,
    run=describe_stream,
    service="DynamoDBStreams_20120810",
    tables=by_stream_arn,
)
