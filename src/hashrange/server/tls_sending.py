"""How does the server notice that a TLS client does not read replies? It watches the socket's transport.

TLS encrypts written bytes at once and passes them to the socket's transport. The TLS transport reports a pause only
when a second reply is written, and leaves the first out of its buffer's size. So `TlsProtocol` stands between the
socket's transport and TLS, and reports pauses to the Connection. This file must not know what is sent.
"""

import asyncio

from hashrange.server.connection import Connection

NEVER_BYTES = 1 << 30
"""Write-buffer limit that the TLS transport never reaches: otherwise the Connection would get each pause twice."""


class TlsProtocol(asyncio.BufferedProtocol):
    """Protocol of the socket's transport after the handshake. For speed, its methods for input are TLS's own."""

    def __init__(
        self,
        tls: asyncio.BufferedProtocol,
        connection: Connection,
        transports: tuple[asyncio.Transport, asyncio.Transport],
    ) -> None:
        """`transports`: the TLS transport, then the socket's transport."""
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
        """The client reads too slowly: report that to TLS and the Connection."""
        self._is_paused = True
        self._tls.pause_writing()
        self._tell()

    def resume_writing(self) -> None:
        """The client reads again: report that to TLS, and to the Connection unless TLS's pending output makes the
        transport pause again at once.
        """
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
