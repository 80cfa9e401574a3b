"""DescribeStream: describe a stream and a page of its shards, oldest first, or of one shard's direct children."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.items.steps import walk
from hashrange.limits import DESCRIBE_STREAM_MAX
from hashrange.operations import shapes
from hashrange.operations.naming import by_stream_arn
from hashrange.operations.operation import STREAMS_JSON, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.streams.stream import find_shard, find_stream, readable_shard, readable_shards
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
    shards = _wanted(scope, stream, request)
    limit = request.Limit or DESCRIBE_STREAM_MAX
    reply: dict[str, Any] = {
        "StreamArn": stream.arn,
        "StreamLabel": stream.label,
        "StreamStatus": _status(stream, scope.clock.service_time()),
        "StreamViewType": stream.view_type,
        "CreationRequestDateTime": round(stream.created_at_seconds, 3),
        "TableName": stream.table_name,
        "KeySchema": describe_keys(stream.keys),
        "Shards": [_described(one, readable_shard(scope, stream, one.parent)) for one in shards[:limit]],
    }
    if len(shards) > limit:
        reply["LastEvaluatedShardId"] = shards[limit - 1].shard_id
    return {"StreamDescription": reply}


def _wanted(scope: Scope, stream: Stream, request: DescribeStreamRequest) -> Sequence[Shard]:
    """The shards after ExclusiveStartShardId, of these only the children of the shard in ShardFilter, if given.

    Shards are numbered in the order of their creation, and their ids end with their numbers.
    """
    shards = readable_shards(scope, stream)
    start_id = request.ExclusiveStartShardId
    if start_id is not None:
        del shards[: bisect_right(shards, start_id.rpartition("-")[2], key=lambda one: f"{one.number:08x}")]
    if request.ShardFilter is None:
        return shards
    parent = find_shard(scope, stream, request.ShardFilter.ShardId)
    return [] if parent is None else [one for one in walk(shards) if one.parent == parent.number]


def _described(shard: Shard, parent: Shard | None) -> dict[str, Any]:
    """A shard in wire form. `parent`: its parent, if that is still readable."""
    sequences = {"StartingSequenceNumber": sequence_text(shard.first)}
    if shard.last is not None:
        sequences["EndingSequenceNumber"] = sequence_text(shard.last)
    described: dict[str, Any] = {"ShardId": shard.shard_id, "SequenceNumberRange": sequences}
    if parent is not None:
        described["ParentShardId"] = parent.shard_id
    return described


def _status(stream: Stream, now_seconds: float) -> str:
    if now_seconds < stream.changing_until_seconds:
        return "ENABLING" if stream.is_on else "DISABLING"
    return "ENABLED" if stream.is_on else "DISABLED"


OPERATION = Operation("DescribeStream", DescribeStreamRequest, describe_stream, STREAMS_JSON, tables=by_stream_arn)
