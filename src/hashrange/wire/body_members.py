"""Does a body hold more members of maps and lists than any request has use for? Counted before it is decoded, without decoding.

A decoded value takes some 300 bytes and 0.2 µs whatever it holds, so 16 MB of tiny ones, 30 KB when compressed, would take
half a gigabyte and hold everybody up for a second. The API knows no such limit, only sizes, which follow from the values: this one
is ours (docs/compatibility.md). It must not refuse a long text that looks like JSON.
"""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from hashrange.errors import ValidationException
from hashrange.limits import REQUEST_MEMBERS_MAX
from hashrange.messages.requests import TOO_MANY_MEMBERS
from hashrange.steps import look, spend, spend_decoding

T = TypeVar("T")

_MARKS = (b",", b":")
"""Each member stands behind one of them, but the first of a list."""
_PIECE_BYTES = 64 * 1024
"""So much is looked at at a time, in 0.6 ms at worst."""
_PIECE_STEPS = 200
"""Mostly 0.1 to 0.3 ms; more than steps.LOOK_STEPS, so that others may have their turn before each piece."""


def check_member_count(body: bytes) -> None:
    """Raise ValidationException when the body, a JSON object, holds too many. 0.6 ms a MB; more where texts hold commas."""
    if len(body) <= REQUEST_MEMBERS_MAX or _count_marks(body) <= REQUEST_MEMBERS_MAX:
        return
    if _has_surely_too_many_texts(body) or _count_marks_outside_texts(body) > REQUEST_MEMBERS_MAX:
        raise ValidationException(TOO_MANY_MEMBERS.format(maximum=REQUEST_MEMBERS_MAX))


def decode_piece(piece: bytes | msgspec.Raw, decode: Callable[[bytes], T]) -> T:
    """A part of a large body, bounded by itself. Raises as `decode` and `check_member_count`."""
    text = bytes(piece)
    check_member_count(text)
    spend_decoding(len(text))
    return decode(text)


def let_go(request: msgspec.Struct) -> None:
    """Free a large request part by part, for a million values at once take 0.1 s. Nobody may need it any more."""
    for name in request.__struct_fields__:
        value = getattr(request, name)
        for parts in value.values() if isinstance(value, dict) else (value,):
            while isinstance(parts, list) and parts:
                parts.pop()
                look()


def _count_marks(text: bytes) -> int:
    count = 0
    for start in range(0, len(text), _PIECE_BYTES):
        spend(_PIECE_STEPS)
        count += sum([text.count(mark, start, start + _PIECE_BYTES) for mark in _MARKS])
    return count


def _has_surely_too_many_texts(body: bytes) -> bool:
    """Without escapes, texts are counted by their quotation marks; behind each mark stand two at most, a name and a value."""
    if b"\\" in body:
        return False
    count = 0
    for start in range(0, len(body), _PIECE_BYTES):
        spend(_PIECE_STEPS)
        count += body.count(b'"', start, start + _PIECE_BYTES)
    return count > 4 * (REQUEST_MEMBERS_MAX + 1)


def _count_marks_outside_texts(body: bytes) -> int:
    """Stops once there are too many. 9 ms a MB where every third byte is a quotation mark."""
    count = 0
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
        count += _count_marks(b"".join(parts[is_inside::2]))
        if count > REQUEST_MEMBERS_MAX:
            break
        is_inside ^= len(parts) % 2 == 0
    return count
