"""Which lines of Ion text belong together? A value may have many lines: a text ends with the line behind which no
bracket, string or comment is open.

This file finds brackets only as far as that needs; `ion_reading.py` says what is wrong with a text.
"""

import re
from collections.abc import Iterator

from hashrange.items.steps import PIECE_BYTES, spend
from hashrange.transfers.formats.compression import DamagedObject
from hashrange.transfers.formats.lines import LINE_MAX_BYTES, Lines

_VALUES, _STRING, _SYMBOL, _LONG_STRING, _COMMENT, _LOB = range(6)
"""What a place may be within: none of the others, `"`, `'`, `'''`, `/*`, or `{{` before a string."""
_NEXT = {
    _VALUES: re.compile(rb"""[][{}()"'/]"""),
    _STRING: re.compile(rb"""["\\]"""),
    _SYMBOL: re.compile(rb"""['\\]"""),
    _LONG_STRING: re.compile(rb"""'''|\\"""),
    _COMMENT: re.compile(rb"""\*/"""),
    _LOB: re.compile(rb"""}}|"|'''"""),
}
"""What is looked for within each of them."""
_OVERLAP_BYTES = 2
"""A piece of a line goes so far over the begin of the next one, so that it has all of what is looked for."""
_OPENING, _CLOSING = (b"{", b"[", b"("), (b"}", b"]", b")")


class IonTexts:
    """Splits the text of one object into texts of whole values. Has the methods of `Lines`."""

    def __init__(self, limit_bytes: int = LINE_MAX_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._lines = Lines(limit_bytes)
        self._begun = bytearray()
        """The lines of the text that has begun."""
        self._within = _VALUES
        self._depth = 0
        """Number of brackets that are open."""

    def feed(self, piece: bytes) -> Iterator[list[bytes]]:
        """Yield the texts that end in the next piece. Raises DamagedObject behind them if a text is too long."""
        for lines in self._lines.feed(piece):
            yield from self._join(lines)

    def finish(self) -> Iterator[list[bytes]]:
        """Yield the last text, if its line has no end or a value in it has none."""
        for lines in self._lines.finish():
            yield from self._join(lines)
        if self._begun:
            yield [bytes(self._begun)]

    def _join(self, lines: list[bytes]) -> Iterator[list[bytes]]:
        texts: list[bytes] = []
        for line in lines:
            text = line
            if self._begun:
                self._begun += b"\n" + line
                if len(self._begun) > self._limit_bytes:
                    yield texts
                    raise DamagedObject(f"a value has more than {self._limit_bytes} bytes")
            if self._is_open_behind(line):
                self._begun = self._begun or bytearray(line)
                continue
            if self._begun:
                text, self._begun = bytes(self._begun), bytearray()
            texts.append(text)
        yield texts

    def _is_open_behind(self, line: bytes) -> bool:
        """True if a value goes on behind this line. 4 µs for a usual line of 400 bytes; gives way."""
        spend(1)
        if self._within == _VALUES and len(line) <= PIECE_BYTES and b"\\" not in line:
            parts = line.split(b'"')
            rest = b"".join(parts[::2])  # without strings, if nothing else begins in it that may have quotes
            if len(parts) % 2 and not (b"'" in rest or b"/" in rest or b"{{" in rest):
                self._change_depth(sum(map(rest.count, _OPENING)) - sum(map(rest.count, _CLOSING)))
                return self._depth > 0
        end, place = len(line.removesuffix(b"\r")), 0
        while place < end:
            spend(1)
            found = _NEXT[self._within].search(line, place, min(end, place + PIECE_BYTES + _OVERLAP_BYTES))
            place = min(end, place + PIECE_BYTES) if found is None else self._pass(line, found)
        if self._within in (_STRING, _SYMBOL) and place == end:
            self._within, self._depth = _VALUES, 0  # a fault: only an escaped end of a line belongs to a string
        return self._depth > 0 or self._within != _VALUES

    def _pass(self, line: bytes, found: re.Match[bytes]) -> int:
        """Go over what was found, and return the place behind it."""
        mark, place = found[0], found.end()
        if mark == b"\\":
            return place + 1
        if self._within == _LOB and mark != b"}}":
            self._within = _STRING if mark == b'"' else _LONG_STRING
        elif self._within != _VALUES:
            self._change_depth(-2 if self._within == _LOB else 0)
            self._within = _VALUES
        elif mark == b'"':
            self._within = _STRING
        elif line.startswith(b"'''", place - 1):
            self._within = _LONG_STRING
            return place + 2
        elif mark == b"'":
            self._within = _SYMBOL
        elif line.startswith(b"//", place - 1):
            return len(line)
        elif line.startswith(b"/*", place - 1):
            self._within = _COMMENT
            return place + 1
        elif line.startswith(b"{{", place - 1):
            self._within = _LOB
            self._change_depth(2)
            return place + 1
        else:
            self._change_depth((mark in _OPENING) - (mark in _CLOSING))
        return place

    def _change_depth(self, change: int) -> None:
        self._depth = max(0, self._depth + change)
