"""How much memory may unread replies take, over all connections?
Above a limit, the connections blocked for longest are aborted.

One connection holds at most one large reply and some small ones, because no request is answered while its client does
not read. But there may be thousands of connections, and a reply may have 16 MB.
"""

import asyncio
from typing import Protocol

UNREAD_BYTES_MAX = 256 * 1024 * 1024
"""Limit for the unread replies of all connections: enough for 200 clients that leave a Scan's full page unread."""


class ReplyingConnection(Protocol):
    """The members of a connection that the limit on unread replies needs."""

    transport: asyncio.Transport

    def count_unsent_bytes(self) -> int:
        """Return the bytes of memory that written replies take because the client has not read them; 0 for none."""


class Unread:
    """Connections whose clients have stopped reading, the earliest first, and the unread bytes of each."""

    __slots__ = ("_bytes", "_sizes")

    def __init__(self) -> None:
        self._sizes: dict[ReplyingConnection, int] = {}
        self._bytes = 0

    def add(self, reader: ReplyingConnection) -> None:
        """Add a connection whose client has stopped reading. Above the limit, abort the connections added earliest."""
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
