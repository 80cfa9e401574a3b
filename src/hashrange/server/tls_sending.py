"""Does a client with TLS read its replies? The socket's transport tells, for there they wait.

TLS encrypts at once whatever is written, and hands it on: its own transport tells of a pause only with a second reply, and knows of the
first one no longer. So this stands between the socket's transport and TLS. It must not know what is sent.
"""

import asyncio

from hashrange.server.connection import Connection

NEVER_BYTES = 1 << 30
"""TLS itself tells of no pause, or the connection would be told twice."""


class TlsProtocol(asyncio.BufferedProtocol):
    """What the socket's transport calls once the handshake is done. What it reads goes to TLS without a further step."""

    def __init__(
        self,
        tls: asyncio.BufferedProtocol,
        connection: Connection,
        transports: tuple[asyncio.Transport, asyncio.Transport],
    ) -> None:
        """`transports` are those of TLS and of the socket."""
        transport, socket_transport = transports
        transport.set_write_buffer_limits(high=NEVER_BYTES)
        connection.socket_transport = socket_transport
        self._tls = tls
        self._connection = connection
        self._is_paused = False
        self._is_told = False
        self.get_buffer = tls.get_buffer  # type: ignore[method-assign]
        self.buffer_updated = tls.buffer_updated  # type: ignore[method-assign]
        self.eof_received = tls.eof_received  # type: ignore[method-assign]
        self.connection_lost = tls.connection_lost  # type: ignore[method-assign]

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        self._is_paused = True
        self._tls.pause_writing()
        self._tell()

    def resume_writing(self) -> None:
        """It has read on; what TLS has ready may make the transport pause again at once."""
        self._is_paused = False
        self._tls.resume_writing()
        self._tell()

    def _tell(self) -> None:
        if self._is_paused is self._is_told:
            return
        self._is_told = self._is_paused
        if self._is_paused:
            self._connection.pause_writing()
        else:
            self._connection.resume_writing()
