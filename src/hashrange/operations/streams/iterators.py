"""What is in a shard iterator? The stream's ARN, a position in a shard and the time of issue:
all that GetRecords needs; opaque to clients.

    ARN | 1 | base64 of: version 1 (1 byte) ‖ `is_horizon` (1) ‖ stream id (4) ‖ shard number (4) ‖
    sequence number (12) ‖ milliseconds (8) ‖ CRC-32 (4)

The checksum covers the ARN and all fields before the checksum, so that a damaged iterator is recognised. Iterators stay
valid over a restart.
"""

from base64 import b64decode, b64encode
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from hashrange.errors import ExpiredIteratorException, ValidationException
from hashrange.limits import ITERATOR_LIFE_SECONDS
from hashrange.messages.streams import INVALID_ITERATOR, ITERATOR_EXPIRED
from hashrange.tables.streams import SEQUENCE_BYTES, Sequence, horizon

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
        raise ValidationException(INVALID_ITERATOR) from None
    is_canonical = b64encode(content).decode() == rest
    content, check = content[:-_CHECK_BYTES], content[-_CHECK_BYTES:]
    if not is_canonical or len(content) != _layout.size or int.from_bytes(check, "big") != _check(arn, content):
        raise ValidationException(INVALID_ITERATOR)
    version, kind, stream_id, shard_number, first, milliseconds = _layout.unpack(content)
    if version != _VERSION or kind not in (_AT, _FROM_HORIZON):
        raise ValidationException(INVALID_ITERATOR)
    if milliseconds / 1000 + ITERATOR_LIFE_SECONDS < now_seconds:
        raise ExpiredIteratorException(ITERATOR_EXPIRED)
    return arn, Position(stream_id, shard_number, int.from_bytes(first, "big"), kind == _FROM_HORIZON)


def arn_of_iterator(text: str) -> str:
    """The stream's ARN in an iterator; nothing is checked, so an invalid iterator gives any text."""
    return text.partition(_MARK)[0]


def end_of_records(last: Sequence, now_seconds: float) -> Sequence:
    """A sequence number after `last`, the last one of all streams, for an iterator issued at `now_seconds`.

    The result does not become too old to be read while the iterator is valid, even if streams are idle for a day.
    """
    return max(last + 1, horizon(now_seconds + ITERATOR_LIFE_SECONDS))


def _check(arn: str, content: bytes) -> int:
    return crc32(content, crc32(arn.encode()))
