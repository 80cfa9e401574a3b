"""How much of a new client's data does the first read take? At most 8 KB, a piece;
later reads go directly to its `Connection`.

The event loop's library reads up to 256 KB of each readable connection in one pass: 300 new clients that send 400 KB
each would hold the loop for 80 ms. Reading a piece of each takes 1 ms, and shows which clients send long requests
(`long_reads.py`). With TLS, `handshakes.py` receives the first data, and this file is not used.
"""

import asyncio

from hashrange.server.connection import Connection
from hashrange.server.connections import Connections


class FirstRead(asyncio.BufferedProtocol):
    """asyncio protocol of a new connection until its client has sent bytes."""

    __slots__ = ("_connection",)

    def __init__(self, connections: Connections) -> None:
        self._connection = Connection(connections)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Pass the new connection's transport to its Connection."""
        self._connection.connection_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer of one piece that all first reads share, whatever `sizehint` is."""
        return self._connection.connections.piece

    def buffer_updated(self, nbytes: int) -> None:
        """Pass the first `nbytes` bytes to the Connection, which replaces this object as the transport's protocol."""
        connection = self._connection
        transport = connection.transport
        data = bytes(connection.connections.piece[:nbytes])
        transport.pause_reading()  # while reading, another kind of protocol cannot replace a buffered one
        transport.set_protocol(connection)
        transport.resume_reading()
        connection.data_received(data)

    def eof_received(self) -> bool:
        """Report to the Connection that the client has ended its input, having sent no bytes.

        Returns what `Connection.eof_received` returns.
        """
        return self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report to the Connection that it is lost before its client has sent any bytes."""
        self._connection.connection_lost(exc)

    def pause_writing(self) -> None:
        """Report to the Connection that the client does not read: only a refusal can have been sent to the client."""
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        """Report to the Connection that the client, which can have been sent only a refusal, reads on."""
        self._connection.resume_writing()
