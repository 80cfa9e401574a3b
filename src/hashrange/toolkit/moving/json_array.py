"""Which values does an array of JSON hold that does not fit into memory? They are decoded one after the other, and
at most one of them, with what was read behind it, is in memory.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from io import TextIOWrapper
from typing import Any, BinaryIO

from hashrange.errors import HashrangeError

CHUNK_CHARACTERS = 64 * 1024
VALUE_CHARACTERS_MAX = 8 * 1024 * 1024
"""More than an item of 400 KB takes, whatever is escaped in it."""
_decode = json.JSONDecoder(parse_float=Decimal).raw_decode
BLANKS = " \t\r\n"


class NoArray(HashrangeError):
    """A text is no array of JSON from some place on."""


def array_values(opened: BinaryIO, begin: bytes) -> Iterator[Any]:
    """Yield the values of an array. Raises NoArray, and what reading raises.

    `begin`: bytes of the file that have been read, up to the opening bracket. Numbers with a fraction are Decimals, and
    bytes that are no UTF-8 are surrogates.
    """
    assert begin.endswith(b"[")
    with TextIOWrapper(opened, encoding="utf-8", errors="surrogateescape") as reading:
        buffer = _Buffer(reading)
        is_first = True
        while (mark := buffer.next_mark()) != "]":
            if not is_first:
                if mark != ",":
                    raise NoArray("a comma is missing between two values.")
                buffer.place += 1
                buffer.next_mark()
            is_first = False
            yield buffer.next_value()


class _Buffer:
    """What was read of a file, and the place up to which it was decoded."""

    def __init__(self, reading: TextIOWrapper) -> None:
        self._reading = reading
        self.text, self.place = "", 0

    def next_mark(self) -> str:
        """The next character that is no blank, which is not taken. Raises NoArray at the end of the file."""
        while True:
            while self.place < len(self.text):
                if (mark := self.text[self.place]) not in BLANKS:
                    return mark
                self.place += 1
            if not self.read_more():
                raise NoArray("the array has no end.")

    def next_value(self) -> Any:
        """The value that begins here. Raises NoArray if there is none."""
        while True:
            try:
                value, self.place = _decode(self.text, self.place)
                return value
            except ValueError as error:
                if not self.read_more():
                    raise NoArray(f"it is no JSON: {error}.") from None

    def read_more(self) -> bool:
        """Read on; False at the end of the file, and if a value is too long."""
        left = self.text[self.place :]
        more = self._reading.read(max(CHUNK_CHARACTERS, len(left))) if len(left) < VALUE_CHARACTERS_MAX else ""
        self.text, self.place = left + more, 0
        return bool(more)
