"""Which streams are there, which of their shards can be read, and which label does a new stream have?
DescribeStream and ListStreams tell of them.

A stream is readable while on and for a day afterwards. Records and shards older than the retention of a day count as
gone, even before they are deleted.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import ResourceNotFoundException, ValidationException
from hashrange.items.steps import sort, walk
from hashrange.limits import DESCRIBE_STREAM_MAX, LIST_STREAMS_MAX, RECORD_RETENTION_SECONDS
from hashrange.messages.streams import INVALID_ARN, STREAM_NOT_FOUND
from hashrange.operations import shapes
from hashrange.operations.naming import by_stream_arn, by_table_name
from hashrange.operations.operation import STREAMS_JSON, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.store.streams import Streams
from hashrange.tables.description import describe_keys, stream_label
from hashrange.tables.schema import Table
from hashrange.tables.streams import Shard, Stream, has_stream, horizon, sequence_text

_ARN = re.compile(rf"arn:aws[a-z-]*:dynamodb:([^:/]+):([0-9]{{12}}):table/({NAME_PATTERN})/stream/([^/]+)").fullmatch
LABELS_MAX = 1 << 32
"""Labels among which a free one is looked for: those of seven weeks, of which a stream's table never has all."""
_SHARD_NUMBER = re.compile("[0-9a-f]{8,}").fullmatch


def parse_stream_arn(arn: str) -> tuple[str, str, str, str]:
    """Region, account, table name and label in a stream ARN. Raises ValidationException for any other text."""
    match = _ARN(arn)
    if match is None:
        raise ValidationException(INVALID_ARN.format(arn=arn))
    region, account, table_name, label = match.groups()
    return region, account, table_name, label


def stream_with_arn(streams: Streams, arn: str) -> Stream | None:
    """The stream with this ARN, also one that has ended; None if there is none, whatever the text is."""
    try:
        region, account, table_name, label = parse_stream_arn(arn)
    except ValidationException:
        return None
    return streams.find(account, region, table_name, label)


def find_stream(scope: Scope, arn: str) -> Stream:
    """The caller's readable stream with this ARN.

    Raises ValidationException for a malformed ARN, ResourceNotFoundException if there is no such stream.
    """
    region, account, table_name, label = parse_stream_arn(arn)
    if (account, region) == (scope.account, scope.region):
        stream = scope.store.streams.find(account, region, table_name, label)
        if stream is not None and is_readable(stream, scope.clock.service_time()):
            return stream
    raise ResourceNotFoundException(STREAM_NOT_FOUND.format(arn=arn))


def is_readable(stream: Stream, now_seconds: float) -> bool:
    """True if the stream is on or ended less than a day ago."""
    return stream.is_on or now_seconds < stream.ended_at_seconds + RECORD_RETENTION_SECONDS


def readable_shard(scope: Scope, stream: Stream, number: int) -> Shard | None:
    """The shard with this number, if it may still hold a readable record. 1 µs."""
    shard = scope.store.streams.shard(stream, number)
    return shard if shard is None or shard.last is None or shard.last > horizon(scope.clock.service_time()) else None


def find_shard(scope: Scope, stream: Stream, shard_id: str) -> Shard | None:
    """The readable shard with this id; None if there is none."""
    number = shard_id.rpartition("-")[2]
    shard = readable_shard(scope, stream, int(number, 16)) if _SHARD_NUMBER(number) else None
    return None if shard is None or shard.shard_id != shard_id else shard


def with_free_label(scope: Scope, table: Table, now_seconds: float) -> Table:
    """The table; if its stream begins at `now_seconds`, with a label that no earlier stream of that table name has.

    Thousands may have begun in the same millisecond of a frozen clock, so free labels are not tried one by one.
    """
    if not has_stream(table) or table.stream_label != stream_label(now_seconds):
        return table

    def is_free(number: int) -> bool:
        label = stream_label(now_seconds + number / 1000)
        return scope.store.streams.find(table.account, table.region, table.name, label) is None

    number = bisect_left(range(LABELS_MAX), x=True, key=is_free)
    return msgspec.structs.replace(table, stream_label=stream_label(now_seconds + number / 1000))


# --- DescribeStream -------------------------------------------------------------------------------


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
    """Describe the stream and a page of its shards, oldest first, or of one shard's direct children;
    LastEvaluatedShardId only if more shards follow.

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
    oldest = horizon(scope.clock.service_time())
    shards = [one for one in walk(scope.store.streams.shards(stream)) if one.last is None or one.last > oldest]
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


# --- ListStreams ----------------------------------------------------------------------------------


_newest_first = str.maketrans("0123456789", "9876543210")
"""Labels are times of one form, so this turns their order around."""


class ListStreamsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A table's name, or none for all; the ARN to start after, and the page size."""

    TableName: Annotated[str, Meta(min_length=3, max_length=255, pattern=f"^{NAME_PATTERN}$")] | None = None
    Limit: Annotated[int, Meta(ge=1, le=LIST_STREAMS_MAX, extra={"shape": "Integer"})] | None = None
    ExclusiveStartStreamArn: shapes.StreamArn | None = None


async def list_streams(scope: Scope, request: ListStreamsRequest) -> Reply:
    """Return a page of the caller's readable streams, or those of one table name: by table name, of each table the
    newest first; LastEvaluatedStreamArn only if more follow.

    Streams of deleted tables are listed as long as they are readable. An unknown table name gives an empty list. A
    page may start after any stream's ARN, even of a missing stream. Source of the order: the API reference's
    example; programs that follow a table take its first stream.
    """
    now_seconds = scope.clock.service_time()
    found = {
        _place(one.table_name, one.label): one
        for one in walk(scope.store.streams.of(scope.account, scope.region))
        if is_readable(one, now_seconds) and request.TableName in (None, one.table_name)
    }
    start = request.ExclusiveStartStreamArn
    behind = "" if start is None else _place(*parse_stream_arn(start)[2:])
    streams = [found[place] for place in sort([place for place in found if place > behind])]
    limit = request.Limit or LIST_STREAMS_MAX
    reply: Reply = {
        "Streams": [
            {"StreamArn": one.arn, "TableName": one.table_name, "StreamLabel": one.label} for one in streams[:limit]
        ]
    }
    if len(streams) > limit:
        reply["LastEvaluatedStreamArn"] = streams[limit - 1].arn
    return reply


def _place(table_name: str, label: str) -> str:
    """Where a stream is in the list."""
    return f"{table_name}\0{label.translate(_newest_first)}"


OPERATIONS = (
    Operation("DescribeStream", DescribeStreamRequest, describe_stream, STREAMS_JSON, tables=by_stream_arn),
    Operation("ListStreams", ListStreamsRequest, list_streams, STREAMS_JSON, tables=by_table_name),
)
