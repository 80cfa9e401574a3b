"""How is a shard read? GetShardIterator returns an iterator, GetRecords what follows it, and the next iterator.

An iterator holds all that GetRecords needs, and is opaque to clients: the stream's ARN, a position in a shard and the
time of issue.

    ARN | 1 | base64 of: version 1 (1 byte) ‖ `is_horizon` (1) ‖ stream id (4) ‖ shard number (4) ‖
    sequence number (12) ‖ milliseconds (8) ‖ CRC-32 (4)

The checksum covers the ARN and all fields before the checksum, so that a damaged iterator is recognised. Iterators stay
valid over a restart.
"""

from base64 import b64decode, b64encode
from struct import Struct
from typing import Annotated, Literal, NamedTuple
from zlib import crc32

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import (
    ExpiredIteratorException,
    ResourceNotFoundException,
    TrimmedDataAccessException,
    ValidationException,
)
from hashrange.limits import GET_RECORDS_MAX, GET_RECORDS_MAX_BYTES, ITERATOR_LIFE_SECONDS
from hashrange.messages import streams as say
from hashrange.operations import shapes
from hashrange.operations.naming import by_stream_arn
from hashrange.operations.operation import STREAMS_JSON, Scope
from hashrange.operations.reply import Records, Reply
from hashrange.operations.streams.stream import find_shard, find_stream, parse_stream_arn, readable_shard
from hashrange.tables.streams import SEQUENCE_BYTES, SEQUENCE_MAX, Sequence, Shard, horizon, parse_sequence, sequence_at

_MARK = "|1|"
_VERSION = 1
_AT, _FROM_HORIZON = range(2)
_layout = Struct(">BBII12sQ")
_CHECK_BYTES = 4


class Position(NamedTuple):
    """The position from which an iterator reads."""

    stream_id: int
    shard_number: int
    first: Sequence
    """Read from the record with this sequence number; if there is none, from the next record."""
    is_horizon: bool = False
    """True: read from the oldest record that is readable when GetRecords is called; `first` is `Shard.first`."""


def encode_iterator(arn: str, position: Position, now_seconds: float) -> str:
    """The iterator for a position, issued at `now_seconds`. 2 µs."""
    kind = _FROM_HORIZON if position.is_horizon else _AT
    first = position.first.to_bytes(SEQUENCE_BYTES, "big")
    content = _layout.pack(_VERSION, kind, position.stream_id, position.shard_number, first, int(now_seconds * 1000))
    check = _check(arn, content).to_bytes(_CHECK_BYTES, "big")
    return f"{arn}{_MARK}{b64encode(content + check).decode()}"


def decode_iterator(text: str, now_seconds: float) -> tuple[str, Position]:
    """ARN and position in an iterator.

    Raises ValidationException for a malformed iterator, ExpiredIteratorException for one that is too old.
    """
    arn, _, rest = text.partition(_MARK)
    try:
        content = b64decode(rest, validate=True)
    except ValueError:
        raise ValidationException(say.INVALID_ITERATOR) from None
    is_canonical = b64encode(content).decode() == rest
    content, check = content[:-_CHECK_BYTES], content[-_CHECK_BYTES:]
    if not is_canonical or len(content) != _layout.size or int.from_bytes(check, "big") != _check(arn, content):
        raise ValidationException(say.INVALID_ITERATOR)
    version, kind, stream_id, shard_number, first, milliseconds = _layout.unpack(content)
    if version != _VERSION or kind not in (_AT, _FROM_HORIZON):
        raise ValidationException(say.INVALID_ITERATOR)
    if milliseconds / 1000 + ITERATOR_LIFE_SECONDS < now_seconds:
        raise ExpiredIteratorException(say.ITERATOR_EXPIRED)
    return arn, Position(stream_id, shard_number, int.from_bytes(first, "big"), kind == _FROM_HORIZON)


def arn_of_iterator(text: str) -> str:
    """The stream's ARN in an iterator; nothing is checked, so an invalid iterator gives any text."""
    return text.partition(_MARK)[0]


def end_of_records(last: Sequence, now_seconds: float) -> Sequence:
    """A sequence number after `last`, the last one of a shard, for an iterator issued at `now_seconds`.

    The result does not become too old to be read while the iterator is valid, even if streams are idle for a day.
    """
    return max(last + 1, horizon(now_seconds + ITERATOR_LIFE_SECONDS))


def _check(arn: str, content: bytes) -> int:
    return crc32(content, crc32(arn.encode()))


# --- GetShardIterator -----------------------------------------------------------------------------


class GetShardIteratorRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The shard, and a position in it; `Timestamp` is in epoch seconds."""

    StreamArn: shapes.StreamArn
    ShardId: shapes.ShardId
    ShardIteratorType: Literal["AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"]
    SequenceNumber: shapes.SequenceNumber | None = None
    Timestamp: float | None = None


async def get_shard_iterator(scope: Scope, request: GetShardIteratorRequest) -> Reply:
    """The iterator, valid for 15 minutes.

    Order of checks: member constraints → form of the ARN → sequence number and time, as the type requires → the
    stream exists → the shard exists → the sequence number is not ahead of the shard's → the position is not trimmed.
    """
    parse_stream_arn(request.StreamArn)
    now_seconds = scope.clock.service_time()
    sequence = _sequence_asked_for(request, now_seconds)
    stream = find_stream(scope, request.StreamArn)
    shard = find_shard(scope, stream, request.ShardId)
    if shard is None:
        raise ResourceNotFoundException(say.SHARD_NOT_FOUND.format(shard=request.ShardId, arn=request.StreamArn))
    last = await scope.store.streams.last_of_shard(shard)
    first, is_horizon = _first_and_horizon(request, shard, last, sequence, now_seconds)
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
    request: GetShardIteratorRequest, shard: Shard, last: Sequence, sequence: Sequence, now_seconds: float
) -> tuple[Sequence, bool]:
    """`first` and `is_horizon` of the iterator's `Position`. `last`: the shard's last sequence number.

    Raises TrimmedDataAccessException if the sequence number is too old to be read, ValidationException if it is greater
    than `last`.
    """
    kind, oldest = request.ShardIteratorType, horizon(now_seconds)
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


# --- GetRecords -----------------------------------------------------------------------------------


class GetRecordsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The iterator to read from, and the page size."""

    ShardIterator: Annotated[str, Meta(min_length=1, max_length=2048)]
    Limit: Annotated[int, Meta(ge=1, le=1000, extra={"shape": "Integer"})] | None = None


async def get_records(scope: Scope, request: GetRecordsRequest) -> Reply:
    """Return at most Limit (or 1,000) records, and 1 MB of them as stored unless the first is longer
    (`tables/stream_records.py` makes their JSON).

    Takes one seek and, per record, 1 µs and another 3.5 µs for its JSON.

    Order of checks: member constraints → the iterator is valid → it is not too old → the stream exists → shard and
    records are not trimmed. The reply waits until its records are durable. At the end of an open shard, even after
    an empty page, the next iterator starts after all sequence numbers of the shard; at the end of a closed shard there
    is no next one.
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
    last = await scope.store.streams.last_of_shard(shard)
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


OPERATIONS = (
    Operation("GetShardIterator", GetShardIteratorRequest, get_shard_iterator, STREAMS_JSON, tables=by_stream_arn),
    Operation(
        "GetRecords",
        GetRecordsRequest,
        get_records,
        STREAMS_JSON,
        tables=lambda request: (arn_of_iterator(request.ShardIterator),),
    ),
)
