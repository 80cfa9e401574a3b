"""How much may wait for clients that do not read their replies, all together?

One connection holds no more than a reply and some small ones, for it is not served while it does not read. But there may be
thousands of them, and a reply may have 16 MB.
"""

import asyncio
from typing import Protocol

UNREAD_BYTES_MAX = 256 * 1024 * 1024
"""200 clients that leave a whole page of a Scan unread."""


class ReplyingConnection(Protocol):
    """A connection, as far as this file knows it."""

    transport: asyncio.Transport

    def count_unsent_bytes(self) -> int:
        """How much is held of what is written, because its client has not read it."""


class Unread:
    """The connections whose clients have stopped reading, longest first, and what waits for each of them."""

    __slots__ = ("_bytes", "_sizes")

    def __init__(self) -> None:
        self._sizes: dict[ReplyingConnection, int] = {}
        self._bytes = 0

    def add(self, reader: ReplyingConnection) -> None:
        """Its client has stopped reading; with too much unread in sum, those who stopped first are cut off."""
        self.remove(reader)
        size_bytes = self._sizes[reader] = reader.count_unsent_bytes()
        self._bytes += size_bytes
        while self._bytes > UNREAD_BYTES_MAX:
            longest = next(iter(self._sizes))
            self.remove(longest)
            longest.transport.abort()

    def remove(self, reader: ReplyingConnection) -> None:
        """Its client reads again, or is gone."""
        self._bytes -= self._sizes.pop(reader, 0)
