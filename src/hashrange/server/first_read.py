"""How much of a new client's data does the first read take? One piece; later reads go directly to its `Connection`.

The event loop's library reads up to 256 KB of each readable connection in one pass: 300 new clients that send 400 KB
each would hold the loop for 80 ms. A piece of each takes 1 ms, and shows whose requests are long (`long_reads.py`).
"""

import asyncio

from hashrange.server.connection import Connection
from hashrange.server.connections import Connections
from hashrange.server.reading import PIECE_BYTES


class FirstRead(asyncio.BufferedProtocol):
    """Protocol of a connection until its client has sent something."""

    __slots__ = ("_connection",)

    def __init__(self, connections: Connections) -> None:
        self._connection = Connection(connections)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self._connection.connection_made(transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the shared buffer for a first piece."""
        return self._connection.connections.piece

    def buffer_updated(self, nbytes: int) -> None:
        """Pass the first bytes to the Connection, which becomes the transport's protocol."""
        connection = self._connection
        transport = connection.transport
        data = bytes(connection.connections.piece[:nbytes])
        transport.pause_reading()  # buffered and other protocols must not be exchanged while reading
        transport.set_protocol(connection)
        transport.resume_reading()
        connection.data_received(data)
        if nbytes == PIECE_BYTES:
            connection.connections.long_reads.note(connection, nbytes)

    def eof_received(self) -> bool:
        """The client has ended without sending anything."""
        return self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._connection.connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read its refusal."""
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        """The client reads its refusal again."""
        self._connection.resume_writing()
