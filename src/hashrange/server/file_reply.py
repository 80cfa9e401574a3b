"""How is a reply sent whose body is in a file? Piece after piece: the next one is read, on a thread, once the client
has taken most of the one before.
"""

import asyncio
from typing import Protocol

from hashrange.server import connection_states as states
from hashrange.server.incoming import Respond
from hashrange.wire.http import HttpRequest, head_of_reply
from hashrange.work_threads import WorkThread

PIECE_BYTES = 256 * 1024
"""Bytes that are read, and wait in memory, at a time."""


class ReadFile(Protocol):
    """An open file, at the first byte of the body."""

    def read(self, size_bytes: int) -> bytes:
        """The next bytes. Blocks. Raises OSError."""

    def close(self) -> None:
        """Close the file."""


class FileConnection(Protocol):
    """The members of a connection (`connection.Connection`) that this file needs."""

    transport: asyncio.Transport
    request: HttpRequest | None
    sending: states.Sending
    active_at_seconds: float
    reply_bytes: int
    file_reply: "FileReply | None"

    def write_now(self, data: bytes) -> None:
        """Write data behind all replies that wait."""

    def end_file_reply(self, status: int, size_bytes: int) -> None:
        """The reply has been handed to the transport, or the client has left."""

    def cut_off(self) -> None:
        """Close at once."""

    @property
    def sweep_seconds(self) -> float:
        """Monotonic time of the last sweep."""


class FileReply:
    """One reply that is being sent."""

    def __init__(
        self, connection: FileConnection, status: int, file: ReadFile, size_bytes: int, thread: WorkThread
    ) -> None:
        self._connection = connection
        self._status = status
        self._file = file
        self._size_bytes = size_bytes
        self._left_bytes = size_bytes
        self._thread = thread
        self._is_reading = False

    def begin(self, request: HttpRequest, head: bytes) -> None:
        """Send the head, and the body behind it."""
        connection = self._connection
        connection.file_reply = self
        connection.reply_bytes = min(self._size_bytes, PIECE_BYTES)
        has_left = request.hold_reply(b"", self._leave) is None
        if has_left or connection.transport.is_closing():
            self._leave()
            return
        connection.write_now(head)
        self.go_on()

    def go_on(self) -> None:
        """Read the next piece, unless one is being read, or the client has not taken the one before."""
        connection = self._connection
        if self._is_reading or connection.file_reply is not self or connection.sending is states.BLOCKED:
            return
        if not self._left_bytes:
            self._file.close()
            connection.end_file_reply(self._status, self._size_bytes)
            return
        self._is_reading = True
        reading = self._thread.submit(self._file.read, min(self._left_bytes, PIECE_BYTES))
        asyncio.wrap_future(reading).add_done_callback(self._came)

    def _came(self, reading: "asyncio.Future[bytes]") -> None:
        """A piece has been read."""
        self._is_reading = False
        connection = self._connection
        if reading.cancelled() or connection.file_reply is not self:
            self._file.close()
            return
        error = reading.exception()
        data = b"" if error is not None else reading.result()
        if connection.transport.is_closing():
            self._leave()
        elif not data:  # the file cannot be read, or somebody has cut it: the client must not take it for whole
            self._leave()
            connection.cut_off()
        else:
            self._left_bytes -= len(data)
            connection.active_at_seconds = connection.sweep_seconds
            connection.transport.write(data)
            self.go_on()

    def _leave(self) -> None:
        """The client has left, or gets no more."""
        if not self._is_reading:
            self._file.close()
        if self._connection.file_reply is self:
            self._connection.end_file_reply(self._status, self._size_bytes)


def send_file(respond: Respond, status: int, lines: bytes, file: ReadFile, size_bytes: int, thread: WorkThread) -> None:
    """Answer the request that `respond`, a connection's bound method, would answer with a status, these header lines
    and so many bytes of a file. A request of the same process gets them at once.
    """
    connection = getattr(respond, "__self__", None)
    if connection is None or not hasattr(connection, "end_file_reply"):
        body = b"".join(iter(lambda: file.read(PIECE_BYTES), b""))[:size_bytes]
        file.close()
        respond(status, body, b"", lines)
        return
    request = connection.request
    assert request is not None
    if connection.connections.is_stopping:
        request.keeps_alive = False
    reply = FileReply(connection, status, file, size_bytes, thread)
    reply.begin(request, head_of_reply(request, status, size_bytes, lines))
