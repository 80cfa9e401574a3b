"""How does the text of an object become lines, and lines items? Each format has a reader of lines (`LineReader`);
this file says what they have in common.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from hashrange.transfers.formats.compression import DamagedObject

LINE_MAX_BYTES = 16 * 1024 * 1024
"""Longest line that is read: an item has 400 KB, and its text has several times as much at most."""


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

    def read(self, line: bytes) -> Iterable[ReadItem]:
        """The items of a line, which is not blank. Raises DamagedObject for one behind which nothing can be read."""


class Lines:
    """Splits the text of one object into lines, of which it keeps the last one until that ends."""

    def __init__(self, limit_bytes: int = LINE_MAX_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._parts: list[bytes] = []
        self._begun_bytes = 0
        """Length of the line that has begun."""

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the lines that end in the next piece of text, without their ends. Raises DamagedObject for one that is
        too long.
        """
        *ended, rest = piece.split(b"\n")
        if ended:
            yield from self._first(ended[0])
            yield from ended[1:]
        self._begin(rest)

    def finish(self) -> Iterator[bytes]:
        """Yield the last line, if it has no end."""
        if self._parts:
            yield from self._first(b"")

    def _first(self, end: bytes) -> Iterator[bytes]:
        if not self._parts:
            yield end
            return
        self._begin(end)
        line = b"".join(self._parts)
        self._parts, self._begun_bytes = [], 0
        yield line

    def _begin(self, rest: bytes) -> None:
        self._begun_bytes += len(rest)
        if self._begun_bytes > self._limit_bytes:
            raise DamagedObject(f"a line has more than {self._limit_bytes} bytes")
        if rest:
            self._parts.append(rest)
