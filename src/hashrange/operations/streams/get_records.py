"""GetRecords: return the next records of a shard, as stored (`tables/stream_records.py` makes their
JSON), and the next iterator.

Order of checks: member constraints → the iterator is valid → it is not too old → the stream exists → shard and records
are not trimmed. The reply waits until its records are durable. At the end of an open shard, even after an empty page,
the next iterator starts after the last record of all streams; at the end of a closed shard there is no next one.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import ResourceNotFoundException, TrimmedDataAccessException
from hashrange.limits import GET_RECORDS_MAX, GET_RECORDS_MAX_BYTES
from hashrange.messages import streams as say
from hashrange.operations.operation import STREAMS_JSON, Scope
from hashrange.operations.reply import Records, Reply
from hashrange.operations.streams.iterators import (
    Position,
    arn_of_iterator,
    decode_iterator,
    encode_iterator,
    end_of_records,
)
from hashrange.operations.streams.stream import find_stream, readable_shard
from hashrange.tables.streams import horizon


class GetRecordsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The iterator to read from, and the page size."""

    ShardIterator: Annotated[str, Meta(min_length=1, max_length=2048)]
    Limit: Annotated[int, Meta(ge=1, le=1000, extra={"shape": "Integer"})] | None = None


async def get_records(scope: Scope, request: GetRecordsRequest) -> Reply:
    """Return at most Limit (or 1,000) records, and 1 MB of them as stored unless the first is longer.

    Takes one seek and, per record, 1 µs and another 3.5 µs for its JSON.
    """
    now_seconds = scope.clock.service_time()
    arn, position = decode_iterator(request.ShardIterator, now_seconds)
    stream = find_stream(scope, arn)
    if stream.stream_id != position.stream_id:
        raise ResourceNotFoundException(say.STREAM_NOT_FOUND.format(arn=arn))
    shard = readable_shard(scope, stream, position.shard_number)
    oldest = horizon(now_seconds)
    if shard is None or (position.first < oldest and not position.is_horizon):
        raise TrimmedDataAccessException(say.TRIMMED)
    last = scope.store.streams.last()
    first = max(position.first, oldest)
    page = await scope.store.streams.records(shard, first, request.Limit or GET_RECORDS_MAX, GET_RECORDS_MAX_BYTES)
    if not page.is_end:
        first = page.records[-1][0] + 1 if page.records else first
    elif shard.last is not None:
        return {"Records": Records(stream, page.records)}
    else:
        first = max([first, end_of_records(last, now_seconds), *[sequence + 1 for sequence, _ in page.records[-1:]]])
    following = encode_iterator(arn, Position(stream.stream_id, shard.number, first), now_seconds)
    return {"Records": Records(stream, page.records), "NextShardIterator": following}


OPERATION = Operation(
    "GetRecords",
    GetRecordsRequest,
    get_records,
    STREAMS_JSON,
    tables=lambda request: (arn_of_iterator(request.ShardIterator),),
)
