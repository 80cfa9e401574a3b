"""GetShardIterator: return an iterator for a position in a shard, from which GetRecords reads.

Order of checks: member constraints → form of the ARN → sequence number and time, as the type requires → the stream
exists → the shard exists → the sequence number is not ahead of all that were given out → the position is not trimmed.
"""

from typing import Literal

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import ResourceNotFoundException, TrimmedDataAccessException, ValidationException
from hashrange.messages import streams as say
from hashrange.operations import shapes
from hashrange.operations.naming import by_stream_arn
from hashrange.operations.operation import STREAMS_JSON, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.streams.iterators import Position, encode_iterator, end_of_records
from hashrange.operations.streams.stream import find_shard, find_stream, parse_stream_arn
from hashrange.tables.streams import SEQUENCE_MAX, Sequence, Shard, horizon, parse_sequence, sequence_at


class GetShardIteratorRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The shard, and a position in it; `Timestamp` is in epoch seconds."""

    StreamArn: shapes.StreamArn
    ShardId: shapes.ShardId
    ShardIteratorType: Literal["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"]
    SequenceNumber: shapes.SequenceNumber | None = None
    Timestamp: float | None = None


async def get_shard_iterator(scope: Scope, request: GetShardIteratorRequest) -> Reply:
    """The iterator, valid for 15 minutes."""
    parse_stream_arn(request.StreamArn)
    now_seconds = scope.clock.service_time()
    sequence = _sequence_asked_for(request, now_seconds)
    stream = find_stream(scope, request.StreamArn)
    shard = find_shard(scope, stream, request.ShardId)
    if shard is None:
        raise ResourceNotFoundException(say.SHARD_NOT_FOUND.format(shard=request.ShardId, arn=request.StreamArn))
    first, is_horizon = _first_and_horizon(scope, request, shard, sequence, now_seconds)
    position = Position(stream.stream_id, shard.number, first, is_horizon)
    return {"ShardIterator": encode_iterator(stream.arn, position, now_seconds)}


def _sequence_asked_for(request: GetShardIteratorRequest, now_seconds: float) -> Sequence:
    """The sequence number in the request, or of its Timestamp; 0 if ShardIteratorType needs neither.

    Raises ValidationException for missing, superfluous and invalid members.
    """
    kind, number, at_seconds = request.ShardIteratorType, request.SequenceNumber, request.Timestamp
    needs_number = kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER")
    if needs_number and number is None:
        raise ValidationException(say.SEQUENCE_MISSING)
    if not needs_number and number is not None:
        raise ValidationException(say.SEQUENCE_SUPERFLUOUS)
    if kind == "AT_TIMESTAMP":
        if at_seconds is None:
            raise ValidationException(say.TIMESTAMP_MISSING)
        sequence = sequence_at(min(max(0.0, at_seconds), now_seconds + 1.0))
        if sequence > sequence_at(now_seconds):
            raise ValidationException(say.TIMESTAMP_AHEAD)
        return sequence
    if at_seconds is not None:
        raise ValidationException(say.TIMESTAMP_SUPERFLUOUS.format(kind=kind))
    if number is None:
        return 0
    if not (number.isascii() and number.isdigit()):
        raise ValidationException(say.SEQUENCE_IMPOSSIBLE)
    return parse_sequence(number)


def _first_and_horizon(
    scope: Scope, request: GetShardIteratorRequest, shard: Shard, sequence: Sequence, now_seconds: float
) -> tuple[Sequence, bool]:
    """`first` and `is_horizon` of the iterator's `Position`.

    Raises TrimmedDataAccessException if the sequence number is too old to be read, ValidationException if it is greater
    than all that the store has given out.
    """
    kind, oldest = request.ShardIteratorType, horizon(now_seconds)
    last = scope.store.streams.last()
    if request.SequenceNumber is not None and sequence > last:
        raise ValidationException(say.SEQUENCE_IMPOSSIBLE)
    if kind == "LATEST":
        return max(shard.first, end_of_records(last, now_seconds)), False
    if kind == "TRIM_HORIZON" or (kind == "AT_TIMESTAMP" and sequence <= max(shard.first, oldest)):
        return shard.first, True
    if sequence < oldest:
        raise TrimmedDataAccessException(say.TRIMMED)
    following = min(sequence + (kind == "AFTER_SEQUENCE_NUMBER"), SEQUENCE_MAX)
    return max(shard.first, following), False


OPERATION = Operation(
    "GetShardIterator", GetShardIteratorRequest, get_shard_iterator, STREAMS_JSON, tables=by_stream_arn
)
