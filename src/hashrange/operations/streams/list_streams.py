"""ListStreams: list the caller's readable streams, or those of one table name, sorted by ARN, in pages.

Streams of deleted tables are listed as long as they are readable. An unknown table name gives an empty list. A page may
start after any stream's ARN, even of a missing stream.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.items.steps import sort, walk
from hashrange.limits import LIST_STREAMS_MAX
from hashrange.operations import shapes
from hashrange.operations.naming import by_table_name
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.operations.streams.stream import is_readable, parse_stream_arn


class ListStreamsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A table's name, or none for all; the ARN to start after, and the page size."""

    TableName: Annotated[str, Meta(min_length=3, max_length=255, pattern=f"^{NAME_PATTERN}$")] | None = None
    Limit: Annotated[int, Meta(ge=1, le=LIST_STREAMS_MAX, extra={"shape": "Integer"})] | None = None
    ExclusiveStartStreamArn: shapes.StreamArn | None = None


async def list_streams(scope: Scope, request: ListStreamsRequest) -> Reply:
    """Return a page of streams; LastEvaluatedStreamArn only if more follow."""
    now_seconds = scope.clock.service_time()
    found = {
        one.arn: one
        for one in walk(scope.store.streams.of(scope.account, scope.region))
        if is_readable(one, now_seconds) and request.TableName in (None, one.table_name)
    }
    start = request.ExclusiveStartStreamArn
    if start is not None:
        parse_stream_arn(start)
    arns = sort([arn for arn in found if start is None or arn > start])
    limit = request.Limit or LIST_STREAMS_MAX
    reply: Reply = {
        "Streams": [
            {"StreamArn": arn, "TableName": found[arn].table_name, "StreamLabel": found[arn].label}
            for arn in arns[:limit]
        ]
    }
    if len(arns) > limit:
        reply["LastEvaluatedStreamArn"] = arns[limit - 1]
    return reply


OPERATION = Operation(
    name="ListStreams",
    request=ListStreamsRequest,
    run=list_streams,
    service="DynamoDBStreams_20120810",
    tables=by_table_name,
)
