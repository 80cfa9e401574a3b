"""ListStreams: list the caller's readable streams, or those of one table name, in pages:
by table name, of each table the newest first.

Streams of deleted tables are listed as long as they are readable. An unknown table name gives an empty list. A page may
start after any stream's ARN, even of a missing stream.
Source of the order: the API reference's example; programs that follow a table take its first stream.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.items.steps import sort, walk
from hashrange.limits import LIST_STREAMS_MAX
from hashrange.operations import shapes
from hashrange.operations.naming import by_table_name
from hashrange.operations.operation import STREAMS_JSON, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.operations.streams.stream import is_readable, parse_stream_arn

_newest_first = str.maketrans("0123456789", "9876543210")
"""Labels are times of one form, so this turns their order around."""


class ListStreamsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A table's name, or none for all; the ARN to start after, and the page size."""

    TableName: Annotated[str, Meta(min_length=3, max_length=255, pattern=f"^{NAME_PATTERN}$")] | None = None
    Limit: Annotated[int, Meta(ge=1, le=LIST_STREAMS_MAX, extra={"shape": "Integer"})] | None = None
    ExclusiveStartStreamArn: shapes.StreamArn | None = None


async def list_streams(scope: Scope, request: ListStreamsRequest) -> Reply:
    """Return a page of streams; LastEvaluatedStreamArn only if more follow."""
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


OPERATION = Operation("ListStreams", ListStreamsRequest, list_streams, STREAMS_JSON, tables=by_table_name)
