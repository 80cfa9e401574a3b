"""How long may a server's reply be, and how long may it take? The connections of commands read replies within limits,
head and body, so that no server keeps a command for ever or fills its memory.
"""

import io
from http.client import HTTPException, HTTPResponse
from typing import Any

from hashrange.clock import SystemClock

HEAD_BYTES_MAX = 1024 * 1024
"""Longest head of a reply, with all that comes before it, such as `100 Continue`."""
BODY_BYTES_MAX = 64 * 1024 * 1024
"""Longest body of a reply, as it is sent; those of DynamoDB have up to 16 MB."""
WHOLE_REPLY_SECONDS_MAX = 600.0
"""Time for a whole reply. The connection has a shorter limit for the time without any byte."""


class EndlessReply(HTTPException):
    """A reply is longer, or takes longer, than any that a server sends."""

    def __init__(self) -> None:
        super().__init__("a reply that has no end")


class BoundedResponse(HTTPResponse):
    """A reply whose reading raises EndlessReply beyond the limits. It is the `response_class` of connections."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._bytes = _BoundedBytes(self.fp.detach())
        self.fp = io.BufferedReader(self._bytes)

    def begin(self) -> None:
        """Read the head, of any number of replies that only announce another one."""
        super().begin()
        self._bytes.left = BODY_BYTES_MAX + 1


class _BoundedBytes(io.RawIOBase):
    """The bytes of a connection, which end with EndlessReply."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self._ends_at_seconds = SystemClock.monotonic() + WHOLE_REPLY_SECONDS_MAX
        self.left = HEAD_BYTES_MAX
        """Bytes that may still come."""

    def readable(self) -> bool:
        """Bytes can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read some bytes; returns how many. Raises EndlessReply."""
        if self.left <= 0 or SystemClock.monotonic() > self._ends_at_seconds:
            raise EndlessReply
        count = self._raw.readinto(buffer)
        self.left -= count or 0
        return count

    def fileno(self) -> int:
        """The socket's number."""
        return self._raw.fileno()

    def close(self) -> None:
        """Close the connection's bytes too."""
        self._raw.close()
        super().close()
