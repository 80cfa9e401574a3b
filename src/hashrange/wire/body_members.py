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
"""Backslashes are counted in so much at a time, in some 0.3 ms."""


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
    spend(len(text) >> 10)
    return sum([text.count(mark) for mark in _MARKS])


def _has_surely_too_many_texts(body: bytes) -> bool:
    """Without escapes, texts are counted by their quotation marks; behind each mark stand two at most, a name and a value."""
    spend(len(body) >> 10)
    return body.count(b'"') > 4 * (REQUEST_MEMBERS_MAX + 1) and b"\\" not in body


def _count_marks_outside_texts(body: bytes) -> int:
    """Read from quotation mark to quotation mark, some at a time; stops once there are too many."""
    count = 0
    position = 0
    while position < len(body):
        quote = body.find(b'"', position)
        if quote < 0:
            return count + _count_marks(body[position:])
        count += sum([body.count(mark, position, quote) for mark in _MARKS])
        if count > REQUEST_MEMBERS_MAX:
            return count
        position = _end_of_text(body, quote + 1)
    return count


def _end_of_text(body: bytes, position: int) -> int:
    """The place behind the quotation mark that ends the text which begins at `position`."""
    while True:
        spend(1)
        quote = body.find(b'"', position)
        if quote < 0:
            return len(body)
        if _count_backslashes(body, position, quote) % 2 == 0:
            return quote + 1
        position = quote + 1


def _count_backslashes(body: bytes, start: int, end: int) -> int:
    """How many backslashes stand right before `end`, none of them before `start`. Counted in pieces, for there may be millions."""
    position = end
    while position > start:
        piece = body[max(start, position - _PIECE_BYTES) : position]
        spend(len(piece) >> 8)
        left_bytes = len(piece.rstrip(b"\\"))
        position -= len(piece) - left_bytes
        if left_bytes:
            break
    return end - position
