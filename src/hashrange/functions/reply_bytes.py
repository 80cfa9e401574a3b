"""How are the bytes of a reply read from its connection? Little before it is wanted, and together with all other
replies no more than `hashrange/long_reads.py` lets them in one turn of the loop.
"""

import asyncio
from typing import cast

from hashrange.long_reads import LONG_READ_BYTES, long_reads_of

_ROOM_BYTES = 64 * 1024
"""Most bytes that are read at once. While as many wait to be taken, nothing more is read."""


class ReplyBytes(asyncio.BufferedProtocol):
    """The protocol of one connection, which reads its reply with `read`."""

    transport: asyncio.Transport
    """Set once the connection is made."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._long_reads = long_reads_of(self._loop)
        self._room = memoryview(bytearray(_ROOM_BYTES))
        self._arrived = bytearray()
        self._has_begun = self._has_ended = False
        self._error: Exception | None = None
        self._arrival: asyncio.Future[None] | None = None
        """Of who waits in `read`."""

    async def read(self, most_bytes: int) -> bytes:
        """Up to as many bytes, once there are any; none once the other end sends nothing more.
        Raises OSError, the connection's error.
        """
        while not self._arrived and not self._has_ended and self._error is None:
            self._arrival = self._loop.create_future()
            await self._arrival
        if self._error is not None:
            raise self._error
        taken = bytes(self._arrived[:most_bytes])
        del self._arrived[:most_bytes]
        self.listen()
        return taken

    def listen(self) -> None:
        """Read, unless enough waits to be taken or the long reads of this turn are enough."""
        if self._has_ended or self.transport.is_closing():
            return
        if len(self._arrived) >= _ROOM_BYTES or self._long_reads.holds(self):
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    # --- what the loop calls ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Room for the next read, whatever `sizehint` is: of the first one, for a piece."""
        return self._room if self._has_begun else self._room[:LONG_READ_BYTES]

    def buffer_updated(self, nbytes: int) -> None:
        """Take what has been read."""
        self._has_begun = True
        self._arrived += self._room[:nbytes]
        if nbytes >= LONG_READ_BYTES:
            self._long_reads.note(self, nbytes)
        self.listen()
        self._tell()

    def eof_received(self) -> bool:
        """Keep the connection, which the client closes."""
        self._has_ended = True
        self._tell()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._long_reads.forget(self)
        self._has_ended = True
        self._error = exc
        self._tell()

    def _tell(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)
