"""How much is read of a client of whom nothing is known? A piece, whatever it sends; then its connection reads for itself.

The library reads up to 256 KB of each connection that has something, all in one pass: 300 new clients that send 400 KB each
would hold the loop for 80 ms. A piece of each takes 1 ms, and tells whose requests are long (`long_reads.py`).
"""

import asyncio

from hashrange.server.connection import Connection
from hashrange.server.connections import Connections
from hashrange.server.reading import PIECE_BYTES


class FirstRead(asyncio.BufferedProtocol):
    """A connection until its client has sent something."""

    __slots__ = ("_connection",)

    def __init__(self, connections: Connections) -> None:
        self._connection = Connection(connections)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self._connection.connection_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the piece goes."""
        return self._connection.connections.piece

    def buffer_updated(self, nbytes: int) -> None:
        """The client has sent its first bytes: from now on, its connection is the protocol."""
        connection = self._connection
        transport = connection.transport
        data = bytes(connection.connections.piece[:nbytes])
        transport.pause_reading()  # for protocols with and without buffers are not changed while one of them reads
        transport.set_protocol(connection)
        transport.resume_reading()
        connection.data_received(data)
        if nbytes == PIECE_BYTES:
            connection.connections.long_reads.note(connection, nbytes)

    def eof_received(self) -> bool:
        """The client has sent nothing."""
        return self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._connection.connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read why it was refused."""
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        """It has read on."""
        self._connection.resume_writing()
