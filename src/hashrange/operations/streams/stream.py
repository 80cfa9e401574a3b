"""Which stream does an ARN name, which of its shards can be read, and which label does a new stream have?
A stream is readable while on and for a day afterwards.

Records and shards older than the retention of a day count as gone, even before they are deleted.
"""

import re
from itertools import count

import msgspec

from hashrange.errors import ResourceNotFoundException, ValidationException
from hashrange.items.steps import walk
from hashrange.limits import RECORD_RETENTION_SECONDS
from hashrange.messages.streams import INVALID_ARN, STREAM_NOT_FOUND
from hashrange.operations.operation import Scope
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.tables.description import stream_label
from hashrange.tables.schema import Table
from hashrange.tables.streams import Shard, Stream, has_stream, horizon

_ARN = re.compile(rf"arn:aws[a-z-]*:dynamodb:([^:/]+):([0-9]{{12}}):table/({NAME_PATTERN})/stream/([^/]+)").fullmatch

_SHARD_NUMBER = re.compile("[0-9a-f]{8,}").fullmatch


def parse_stream_arn(arn: str) -> tuple[str, str, str, str]:
    """Region, account, table name and label in a stream ARN. Raises ValidationException for any other text."""
    match = _ARN(arn)
    if match is None:
        raise ValidationException(INVALID_ARN.format(arn=arn))
    region, account, table_name, label = match.groups()
    return region, account, table_name, label


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


def readable_shards(scope: Scope, stream: Stream) -> list[Shard]:
    """The stream's shards that may still hold a readable record, oldest first."""
    oldest = horizon(scope.clock.service_time())
    return [one for one in walk(scope.store.streams.shards(stream)) if one.last is None or one.last > oldest]


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
    """The table; if its stream begins at `now_seconds`, with a label that no earlier stream of that table name has."""
    if not has_stream(table) or table.stream_label != stream_label(now_seconds):
        return table
    find = scope.store.streams.find
    labels = (stream_label(now_seconds + number / 1000) for number in count())
    label = next(one for one in labels if find(table.account, table.region, table.name, one) is None)
    return msgspec.structs.replace(table, stream_label=label)
