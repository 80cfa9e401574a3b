"""Does a line of Ion have a number that must not be read? The time of the package that reads Ion grows with the square
of a number's digits, and it never returns from the number of a symbol (`$1`) that has forty.

What looks so within texts is none. Texts, quoted names and binaries are searched only if there is something.
"""

import re
from collections.abc import Iterator

from hashrange.items.steps import PIECE_BYTES, look, spend

_DIGITS_MAX = 400
"""As in requests (`wire/body_members.py`); a number of DynamoDB has 38 digits, and some more zeros."""
_SYMBOL_DIGITS_MAX = 19
_ANY_DIGITS = bytes.maketrans(b"123456789abcdefABCDEF_", b"0" * 22)
_DECIMAL_DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
_MANY_DIGITS = b"0" * (_DIGITS_MAX + 1)
_LONG_SYMBOL = b"$" + b"0" * (_SYMBOL_DIGITS_MAX + 1)
_find_opening = re.compile(rb"[\"'/{]").search
_skip_blanks = re.compile(rb"[ \t\r\v\f]*").match


def has_long_digits(line: bytes) -> bool:
    """True if a number of a line has too many digits. 0.5 µs for 400 bytes. Gives way."""
    return _may_have_long_digits(line) and any(_may_have_long_digits(part) for part in _outside_texts(line))


def _may_have_long_digits(text: bytes) -> bool:
    """True if there are that many digits side by side, wherever that is."""
    if len(text) > PIECE_BYTES:
        look()
    if _LONG_SYMBOL[:1] in text and _LONG_SYMBOL in text.translate(_DECIMAL_DIGITS):
        return True
    return len(text) > _DIGITS_MAX and _MANY_DIGITS in text.translate(_ANY_DIGITS)


def _outside_texts(line: bytes) -> Iterator[bytes]:
    """Yield the bytes of a line outside of texts, quoted names and binaries; and all behind a slash, which begins a
    comment.
    """
    begin = place = 0
    while place < len(line):
        opening = _find_opening(line, place, place + PIECE_BYTES)
        spend(20 if opening is None else 1)
        if opening is None:
            place += PIECE_BYTES
            continue
        place = opening.start()
        if opening[0] == b"/":
            break
        yield line[begin:place]
        begin = place = _end_of_text(line, place)
    yield line[begin:]


def _end_of_text(line: bytes, place: int) -> int:
    """Where a text, name or binary ends that may begin at `place`; the end of the line if nothing closes it."""
    if line.startswith(b"{", place):
        content = _skip_blanks(line, place + 2).end()  # type: ignore[union-attr]  # matches always
        if not line.startswith(b"{{", place) or line.startswith((b'"', b"'"), content):
            return place + 1
        end = line.find(b"}}", content)
        return len(line) if end < 0 else end
    mark = b"'''" if line.startswith(b"'''", place) else line[place : place + 1]
    place += len(mark)
    end, escape = line.find(mark, place), line.find(b"\\", place)
    while 0 <= escape < end:
        spend(1)
        place = escape + 2
        escape = line.find(b"\\", place)
        if end < place:
            end = line.find(mark, place)
    return len(line) if end < 0 else end + len(mark)
