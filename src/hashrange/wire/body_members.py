"""Is a body UTF-8, and does it hold more members of maps and lists than any request needs? Both are looked at, piece by
piece, before the body is decoded: 16 MB with one emoji, decoded at once, take 64 MB and 0.1 s without giving way.

A decoded value takes about 300 bytes and 0.2 µs whatever it holds, so 16 MB of tiny values, 30 KB when compressed,
would take half a gigabyte and block all requests for a second. The API limits only sizes, which follow from the values;
the limit of members is our own (docs/compatibility.md). The check must not refuse a long string that looks like JSON.

Each value except the body itself follows a comma, a colon or `[`. In a valid request each `[` follows a colon, which
counts for the list and its first value. So the count is commas, plus colons, plus `[` beyond the number of colons:
lists directly in lists.
"""

from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from typing import TypeVar

import msgspec

from hashrange.errors import ValidationException
from hashrange.items.steps import PIECE_BYTES, spend, spend_decoding
from hashrange.limits import REQUEST_MEMBERS_MAX
from hashrange.messages.requests import TOO_MANY_MEMBERS
from hashrange.wire.piecewise import decode_in_pieces
from hashrange.wire.wide_maps import convert_in_pieces

T = TypeVar("T")

_make_decoder = getincrementaldecoder("utf-8")
_UTF8_PIECE_STEPS = 50
_FEW_MEMBERS = 16_000
"""Number of members, of whatever kind, that are decoded in about 2 ms."""
_BYTES_PER_MARK_MIN = 4
"""Bytes per comma or colon in a set of short strings, the densest useful value; only empty values are denser: `{},`."""
_PIECE_BYTES = 64 * 1024
"""Bytes of a body that are searched at once, in at most 0.6 ms."""
_PIECE_STEPS = 200
"""Steps counted for a search of `_PIECE_BYTES`, which usually takes 0.1 to 0.3 ms. Because they exceed
`items.steps.LOOK_STEPS`, work can give way before each piece of this size."""

_USUAL_BYTES_MAX = 4 * 1024 * 1024
_USUAL_MEMBERS_MAX = 20_000
_LONG_NUMBERS_FROM_BYTES = 1024 * 1024
"""In a body longer than this, reading one long number may take more than 25 ms."""
_LONG_NUMBER = b"0" * 400
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)


def require_utf8(body: bytes) -> None:
    """Raise UnicodeDecodeError, a ValueError, unless a body is UTF-8. 0.1 µs for a small body in ASCII.

    Needed because msgspec does not check the members that it skips.
    """
    if body.isascii():
        return
    if len(body) <= PIECE_BYTES:
        body.decode()
        return
    decode = _make_decoder().decode
    for start in range(0, len(body), PIECE_BYTES):
        spend(_UTF8_PIECE_STEPS)
        decode(body[start : start + PIECE_BYTES])
    decode(b"", final=True)


# --- members --------------------------------------------------------------------------------------


def check_member_count(body: bytes) -> bool:
    """Raise ValidationException if a JSON object has more than REQUEST_MEMBERS_MAX members, or too many for its length.

    Otherwise return True if the body should be decoded in pieces. 0.6 ms a MB; more if strings contain commas.
    """
    maximum = min(REQUEST_MEMBERS_MAX, max(_FEW_MEMBERS, len(body) // _BYTES_PER_MARK_MIN))
    if len(body) <= min(_FEW_MEMBERS, maximum):
        return False
    count = _count_members((body,))
    if count > maximum and (
        _has_surely_too_many_texts(body, maximum) or _count_members(_outside_texts(body), maximum) > maximum
    ):
        raise ValidationException(TOO_MANY_MEMBERS.format(maximum=maximum))
    return count > _FEW_MEMBERS


def excess_of_members(body: bytes) -> str | None:
    """The message with which `check_member_count` refuses a body; None if it does not refuse.

    Called before any parsing, because skipping 16 MB of brackets already takes 70 ms. Returns only the message, because
    the exception refers to frames that hold the body.
    """
    try:
        check_member_count(body)
    except ValidationException as fault:
        return fault.message
    return None


def is_surely_unusual(body: bytes, *, carries_items: bool) -> bool:
    """True if a body is hardly ever valid: over 4 MB, or over 20,000 members although the operation takes no items.

    Not meant for bodies that are decoded element by element (BatchWriteItem, TransactWriteItems).
    """
    if len(body) > _USUAL_BYTES_MAX:
        return True
    return not carries_items and len(body) > _USUAL_MEMBERS_MAX and _count_members((body,)) > _USUAL_MEMBERS_MAX


def has_long_numbers(body: bytes) -> bool:
    """True if a body over 1 MB holds a number of 400 or more digits; reading time grows with their square.
    To search for zeros in place of digits is 30 times as fast as a regular expression.
    """
    return len(body) > _LONG_NUMBERS_FROM_BYTES and any(
        _LONG_NUMBER in piece.translate(_ZEROS) for piece in _outside_texts(body)
    )


def decode_large(text: bytes, decoder: "msgspec.json.Decoder[T]") -> T:
    """Decode a large body, or one action of a batch or transaction, giving way.

    Raises what `decoder` and `check_member_count` raise.
    """
    has_many = check_member_count(text)
    spend_decoding(len(text))
    if not has_many:
        return decoder.decode(text)
    return convert_in_pieces(decode_in_pieces(text, msgspec.json.decode), decoder.type)


def has_many_members(body: bytes) -> bool:
    """True if a body has enough members to be decoded in pieces. Commas and colons in strings count too."""
    return len(body) > _FEW_MEMBERS and _count_members((body,)) > _FEW_MEMBERS


def _count_members(texts: Iterable[bytes], maximum: int | None = None) -> int:
    """Count commas, colons, and `[` beyond the number of colons in `texts`, the parts of one body.

    Stops after the part with which the count exceeds `maximum`.
    """
    commas = colons = lists = count = 0
    for text in texts:
        for start in range(0, len(text), _PIECE_BYTES):
            spend(_PIECE_STEPS)
            end = start + _PIECE_BYTES
            commas += text.count(b",", start, end)
            colons += text.count(b":", start, end)
            lists += text.count(b"[", start, end)
        count = commas + colons + max(0, lists - colons)
        if maximum is not None and count > maximum:
            break
    return count


def _has_surely_too_many_texts(body: bytes, maximum: int) -> bool:
    """True if the quotation marks prove too many members: at most two JSON strings belong to each comma or colon.

    False for a body with escapes, whose quotation marks may be inside strings.
    """
    if b"\\" in body:
        return False
    count = 0
    for start in range(0, len(body), _PIECE_BYTES):
        spend(_PIECE_STEPS)
        count += body.count(b'"', start, start + _PIECE_BYTES)
    return count > 4 * (maximum + 1)


def _outside_texts(body: bytes) -> Iterator[bytes]:
    """Yield the bytes outside the body's JSON strings, piece by piece. 9 ms a MB if a third is quotation marks."""
    is_inside = False
    rest = b""
    for start in range(0, len(body), _PIECE_BYTES):
        spend(_PIECE_STEPS)
        piece = rest + body[start : start + _PIECE_BYTES]
        rest = b""
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"")
            if piece.endswith(b"\\"):  # the character that this backslash escapes is in the next piece
                piece, rest = piece[:-1], b"\\"
            piece = piece.replace(b'\\"', b"")
        parts = piece.split(b'"')
        yield b"".join(parts[is_inside::2])
        is_inside ^= len(parts) % 2 == 0
