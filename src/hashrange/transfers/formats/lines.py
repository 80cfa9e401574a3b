"""How does the text of an object become lines, and lines items? Each format has a reader of lines (`LineReader`);
this file says what they have in common. `ion_texts.py` puts lines of one value together.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from hashrange.transfers.formats.compression import DamagedObject

LINE_MAX_BYTES = 16 * 1024 * 1024
"""Most bytes of a line, or of the lines of a value of Ion; longer ones damage their object. A line of JSON may have
several items.
"""
ITEM_TEXT_MAX_BYTES = 4 * 1024 * 1024
"""Longest text of an item in JSON or Ion that is decoded, as long as the longest row: an item of 400 KB has 2.4 MB if
each character is escaped (`\\u0041`), and 3.3 MB if it consists of `{"NULL": true}`.
"""


class FaultyLine(NamedTuple):
    """What stands in the place of an item that cannot be read; the lines behind it can."""

    reason: str


RawItem = dict[str, Any]
"""An item as it was read: nothing has been checked but that it is a map by names."""
ReadItem = RawItem | FaultyLine


class LineReader(Protocol):
    """Reads the items of an object's lines."""

    @property
    def wants_first(self) -> bool:
        """True if the first line has yet to be read, without which no other can be."""

    @property
    def joins_lines(self) -> bool:
        """True if a value may go over the end of its line: `read` then gets all lines of a value together."""

    def read(self, line: bytes) -> Iterable[ReadItem]:
        """The items of a line, which is not blank. Raises DamagedObject for one behind which nothing can be read."""

    def read_together(self, lines: Sequence[bytes]) -> Sequence[ReadItem] | None:
        """The items of some lines if each has just one; None if they are to be read one by one, or the format has no
        quicker way.
        """


class Lines:
    """Splits the text of one object into lines, of which it keeps the last one until that ends."""

    def __init__(self, limit_bytes: int = LINE_MAX_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._begun = bytearray()
        """The line that has begun. Not a list of pieces, which may be of one byte each."""

    def feed(self, piece: bytes) -> Iterator[list[bytes]]:
        """Yield the lines that end in the next piece of text, without their ends. Raises DamagedObject behind them if
        a line is too long.
        """
        *ended, rest = piece.split(b"\n")
        if ended:
            if self._begun:
                ended[0] = self._line(ended[0])
            yield ended
        self._begin(rest)

    def finish(self) -> Iterator[list[bytes]]:
        """Yield the last line, if it has no end."""
        if self._begun:
            yield [self._line(b"")]

    def _line(self, end: bytes) -> bytes:
        """The line that has begun, with its end."""
        self._begin(end)
        line, self._begun = bytes(self._begun), bytearray()
        return line

    def _begin(self, rest: bytes) -> None:
        if len(self._begun) + len(rest) > self._limit_bytes:
            raise DamagedObject(f"a line has more than {self._limit_bytes} bytes")
        self._begun += rest
