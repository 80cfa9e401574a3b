"""How much memory may unread replies take, over all connections? Above a limit, the longest blocked ones are aborted.

One connection holds at most a reply and some small ones, because it is not served while its client does not read. But
there may be thousands of connections, and a reply may have 16 MB.
"""

import asyncio
from typing import Protocol

UNREAD_BYTES_MAX = 256 * 1024 * 1024
"""Enough for 200 clients that leave a whole page of a Scan unread."""


class ReplyingConnection(Protocol):
    """The members of a connection that the limit on unread replies needs."""

    transport: asyncio.Transport

    def count_unsent_bytes(self) -> int:
        """Bytes of written replies that are held because the client has not read them."""


class Unread:
    """Connections whose clients have stopped reading, the earliest first, and the unread bytes of each."""

    __slots__ = ("_bytes", "_sizes")

    def __init__(self) -> None:
        self._sizes: dict[ReplyingConnection, int] = {}
        self._bytes = 0

    def add(self, reader: ReplyingConnection) -> None:
        """Add a connection whose client has stopped reading. Above the limit, abort those that stopped first."""
        self.remove(reader)
        size_bytes = self._sizes[reader] = reader.count_unsent_bytes()
        self._bytes += size_bytes
        while self._bytes > UNREAD_BYTES_MAX:
            longest = next(iter(self._sizes))
            self.remove(longest)
            longest.transport.abort()

    def remove(self, reader: ReplyingConnection) -> None:
        """Remove a connection whose client reads again or is gone."""
        self._bytes -= self._sizes.pop(reader, 0)
