"""Does a body hold more members of maps and lists than any request has use for? Counted before it is decoded, without decoding.

A decoded value takes some 300 bytes and 0.2 µs whatever it holds, so 16 MB of tiny ones, 30 KB when compressed, would take
half a gigabyte and hold everybody up for a second. The API knows no such limit, only sizes, which follow from the values: this one
is ours (docs/compatibility.md). It must not refuse a long text that looks like JSON.
"""

from collections.abc import Iterator
from typing import TypeVar

import msgspec

from hashrange.errors import ValidationException
from hashrange.items.steps import spend, spend_decoding
from hashrange.limits import REQUEST_MEMBERS_MAX
from hashrange.messages.requests import TOO_MANY_MEMBERS
from hashrange.wire.piecewise import decode_in_pieces
from hashrange.wire.wide_maps import convert_in_pieces

T = TypeVar("T")

_MARKS = (b",", b":")
"""Each member stands behind one of them, but the first of a list."""
_FEW_MEMBERS = 16_000
"""Decoded in some 2 ms, whatever they are."""
_BYTES_PER_MARK_MIN = 4
"""Of a set of short texts, which is the densest thing that a request has use for. Only empty values are denser: three bytes for each `{}` of a list."""
_PIECE_BYTES = 64 * 1024
"""So much is looked at at a time, in 0.6 ms at worst."""
_PIECE_STEPS = 200
"""Mostly 0.1 to 0.3 ms; more than steps.LOOK_STEPS, so that others may have their turn before each piece."""

_USUAL_BYTES_MAX = 4 * 1024 * 1024
_USUAL_MEMBERS_MAX = 20_000
_LONG_NUMBERS_FROM_BYTES = 1024 * 1024
"""Before, they cannot take longer than 25 ms."""
_LONG_NUMBER = b"0" * 400
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)


def check_member_count(body: bytes) -> bool:
    """Raise ValidationException when the body, a JSON object, holds too many, at all or for its size.

    Otherwise tell whether they are so many that it had better be decoded in pieces. 0.6 ms a MB; more where texts hold commas.
    """
    maximum = min(REQUEST_MEMBERS_MAX, max(_FEW_MEMBERS, len(body) // _BYTES_PER_MARK_MIN))
    if len(body) <= min(_FEW_MEMBERS, maximum):
        return False
    count = _count_marks(body)
    if count > maximum and (
        _has_surely_too_many_texts(body, maximum) or _count_marks_outside_texts(body, maximum) > maximum
    ):
        raise ValidationException(TOO_MANY_MEMBERS.format(maximum=maximum))
    return count > _FEW_MEMBERS


def is_surely_unusual(body: bytes, *, carries_items: bool) -> bool:
    """Is a large body hardly ever sound? It is very long, or it has very many members, though it carries no items."""
    if len(body) > _USUAL_BYTES_MAX:
        return True
    return not carries_items and len(body) > _USUAL_MEMBERS_MAX and _count_marks(body) > _USUAL_MEMBERS_MAX


def has_long_numbers(body: bytes) -> bool:
    """Does a large body hold numbers of very many digits? The time to read one grows with the square of its digits."""
    return len(body) > _LONG_NUMBERS_FROM_BYTES and any(
        _LONG_NUMBER in _as_zeros(piece) for piece in _outside_texts(body)
    )


def _as_zeros(text: bytes) -> bytes:
    """Each digit a zero, so that a long number is found as one text: thirty times as fast as by an expression."""
    return text.translate(_ZEROS)


def decode_large(text: bytes, decoder: "msgspec.json.Decoder[T]") -> T:
    """A large body, or a part of one that is bounded by itself. Raises as the decoder does, and as `check_member_count`."""
    has_many = check_member_count(text)
    spend_decoding(len(text))
    if not has_many:
        return decoder.decode(text)
    return convert_in_pieces(decode_in_pieces(text, msgspec.json.decode), decoder.type)


def has_many_members(body: bytes) -> bool:
    """Does decoding it take so long that it had better be done in pieces? Commas and colons of texts count as well."""
    return len(body) > _FEW_MEMBERS and _count_marks(body) > _FEW_MEMBERS


def _count_marks(text: bytes) -> int:
    count = 0
    for start in range(0, len(text), _PIECE_BYTES):
        spend(_PIECE_STEPS)
        count += sum([text.count(mark, start, start + _PIECE_BYTES) for mark in _MARKS])
    return count


def _has_surely_too_many_texts(body: bytes, maximum: int) -> bool:
    """Without escapes, texts are counted by their quotation marks; behind each mark stand two at most, a name and a value."""
    if b"\\" in body:
        return False
    count = 0
    for start in range(0, len(body), _PIECE_BYTES):
        spend(_PIECE_STEPS)
        count += body.count(b'"', start, start + _PIECE_BYTES)
    return count > 4 * (maximum + 1)


def _count_marks_outside_texts(body: bytes, maximum: int) -> int:
    """Stops once there are more than the maximum."""
    count = 0
    for piece in _outside_texts(body):
        count += _count_marks(piece)
        if count > maximum:
            break
    return count


def _outside_texts(body: bytes) -> Iterator[bytes]:
    """The body without its texts, piece by piece. 9 ms a MB where every third byte is a quotation mark."""
    is_inside = False
    rest = b""
    for start in range(0, len(body), _PIECE_BYTES):
        spend(_PIECE_STEPS)
        piece = rest + body[start : start + _PIECE_BYTES]
        rest = b""
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"")
            if piece.endswith(b"\\"):  # what it escapes is in the next piece
                piece, rest = piece[:-1], b"\\"
            piece = piece.replace(b'\\"', b"")
        parts = piece.split(b'"')
        yield b"".join(parts[is_inside::2])
        is_inside ^= len(parts) % 2 == 0
