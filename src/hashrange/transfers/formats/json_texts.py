"""How is a long line of JSON separated into its values? Short ones are decoded from 32 KB of the line at a time. Of a
long one the end is found piece by piece, by brackets and quotation marks alone; whoever decodes it finds out whether it
is JSON.
"""

import json
import re
from codecs import getincrementaldecoder
from collections.abc import Iterator
from typing import Any

from hashrange.items.steps import PIECE_BYTES, spend, spend_decoding
from hashrange.transfers.formats.compression import DamagedObject

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SEARCHED_BYTES = 2 * 1024
"""Bytes of a long value that are searched at a time: in up to 1 ms if all are opening brackets."""
_SCALAR_MAX = 4_300
"""Longest number: Python decodes none of more digits."""
_LEVELS_REMOVED = 16
"""Levels of pairs of brackets that are removed before what is left is counted one by one."""
_scan = json.JSONDecoder().raw_decode
_make_decoder = getincrementaldecoder("utf-8")
_skip_blanks = re.compile(rb"[ \t\n\r]{0,%d}" % PIECE_BYTES).match
_skip_blank_text = re.compile(r"[ \t\n\r]*").match
_match_scalar = re.compile(rb'[^ \t\n\r{}\[\]",]{1,%d}' % _SCALAR_MAX).match
_find_brackets = re.compile(rb"[{}\[\]]").finditer
_OPENING = b"[{"
_ALIKE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def next_value(line: bytes, place: int) -> int:
    """Where the next value begins, from `place` on; the end of the line if there is none. Gives way."""
    while (match := _skip_blanks(line, place)) and match.end() > place:
        spend(1 + (match.end() - place >> 8))
        place = match.end()
    return place


def short_values(line: bytes, place: int) -> Iterator[tuple[Any, int]]:
    """Yield the values that begin at `place` and follow one another, as far as some 32 KB of the line have them, each
    with the place of its end. None if the first one is longer, or no JSON. Gives way. Raises DamagedObject.
    """
    end = place + PIECE_BYTES
    spend_decoding(PIECE_BYTES)
    try:
        text = _make_decoder().decode(line[place:end], final=end >= len(line))
    except UnicodeDecodeError as error:
        raise DamagedObject(f"a line is no UTF-8: {error}") from error
    at = 0
    while at < len(text):
        spend(1)
        try:
            value, value_end = _scan(text, at)
        except (ValueError, RecursionError):
            return
        if value_end == len(text) and end < len(line):
            return  # it may go on
        place += len(text[at:value_end].encode())
        yield value, place
        at = _skip_blank_text(text, value_end).end()  # type: ignore[union-attr]  # matches always
        place += at - value_end


def end_of_value(line: bytes, place: int) -> int:
    """The end of the value that begins at `place`. Gives way. Raises DamagedObject."""
    if line[place] not in b'{["':
        match = _match_scalar(line, place)
        if match is None:
            raise DamagedObject(f"a line is no JSON: no value begins at its byte {place + 1}")
        return match.end()
    depth, is_inside = 0, False
    while place < len(line):
        spend(_SEARCHED_BYTES >> 3)
        piece = _piece_of(line, place)
        parts = piece.split(b'"')
        lowest, change = _follow(b"".join(parts[is_inside::2]))
        if depth + lowest <= 0 and (end := _end_within(parts, depth, is_inside=is_inside)):
            return place + end
        depth += change
        is_inside ^= len(parts) % 2 == 0
        place += len(piece)
    raise DamagedObject("a line is no JSON: it ends within a value")


def _piece_of(line: bytes, place: int) -> bytes:
    """The next bytes of a line, in which what is escaped is replaced by as many bytes; `place` is not escaped."""
    piece = line[place : place + _SEARCHED_BYTES]
    if b"\\" not in piece:
        return piece
    if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
        piece = line[place : place + _SEARCHED_BYTES + 1]
    return piece.replace(b"\\\\", b"__").replace(b'\\"', b"__")


def _follow(outside: bytes) -> tuple[int, int]:
    """How many brackets are open behind some bytes outside of texts, more than before them: at the least, and at the
    end.
    """
    brackets = outside.translate(_ALIKE, _NO_BRACKETS)
    for _ in range(_LEVELS_REMOVED):  # pairs change nothing
        brackets, before = brackets.replace(b"[]", b""), brackets
        if len(brackets) == len(before):
            break
    depth = lowest = 0
    for bracket in brackets:
        depth += 1 if bracket in _OPENING else -1
        lowest = min(lowest, depth)
    return lowest, depth


def _end_within(parts: list[bytes], depth: int, *, is_inside: bool) -> int:
    """The end of a value within a piece, which quotation marks separate into parts; 0 if it does not end there."""
    end, last = 0, len(parts) - 1
    for number, part in enumerate(parts):
        if not is_inside:
            for match in _find_brackets(part):
                depth += 1 if match[0] in _OPENING else -1
                if not depth:
                    return end + match.end()
        end += len(part) + 1
        if number < last:
            is_inside = not is_inside
            if not is_inside and not depth:
                return end
    return 0
