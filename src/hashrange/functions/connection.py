"""How do the server and a function's process talk?
In messages over a loopback connection that the process opens with a secret.

A message is two frames: a head (JSON) and a body (bytes, which may be empty). A frame is its length in four bytes,
big-endian, and its bytes. Heads to the process: `requestId`, `arn`, `timeoutMs`, `replyBytesMax`, and `clientContext`
if there is one; the body is the payload. Heads from the process: `{"kind": "hello", "secret"}`, then `ready`,
`init-error` (the body is the error) or `memory`, then for each invocation `result`, `error`, `too-large` or `memory`
with its `requestId`. The last `eventBytes` of the body of an error are not part of the error: they are its event for
the log, which is not written to the output, so that the server can tell an error that it has logged before.

The process runs strangers' code, which may find the socket and write to it. So nothing is kept that is longer than
a reply may be, and a connection that sends what was not asked for, or not JSON, is broken at once.
"""

import asyncio
import secrets
from typing import Annotated, Any, cast

import msgspec

from hashrange.errors import HashrangeError
from hashrange.items.growing_bytes import GrowingBytes
from hashrange.limits import INVOCATION_REPLY_BYTES_MAX
from hashrange.long_reads import LONG_READ_BYTES, LongReads, long_reads_of

_LENGTH_BYTES = 4
_HEAD_BYTES_MAX = 4 * 1024
_BODY_BYTES_MAX = INVOCATION_REPLY_BYTES_MAX
_ROOM_BYTES = 256 * 1024
"""Most bytes that are read at once."""
HELLO_SECONDS_MAX = 10.0
"""Time in which a connection must send its secret; strangers on this machine can connect too."""
STRANGERS_MAX = 128
"""Connections that have not yet sent a secret; for a further one, the oldest is closed.
A process sends its secret at once, so it is not held up by a handler that opens connections and leaves them open."""


class ConnectionBroken(HashrangeError):
    """The process closed its connection, or sent what the protocol does not allow."""


class Message(msgspec.Struct, rename="camel"):
    """A message from a function's process: what its head says, and its body, which is set afterwards."""

    kind: str
    request_id: str = ""
    secret: str = ""
    event_bytes: Annotated[int, msgspec.Meta(ge=0, le=_BODY_BYTES_MAX)] = 0
    body: bytes = b""
    """Without the event at its end."""
    event: bytes = b""
    """What the log says of an error; empty in other messages."""


class _MessageReader:
    """Puts messages together from the pieces in which they come. A body is not copied, however long it is."""

    def __init__(self) -> None:
        self._head = bytearray()
        """Of the message that has begun: the bytes before its body."""
        self._head_end = _LENGTH_BYTES
        self._message: Message | None = None
        """Once its head is complete."""
        self._decoder = msgspec.json.Decoder(Message)
        self._body, self._event = GrowingBytes(), GrowingBytes()
        self._body_bytes = 0
        self.missing_bytes = 0
        """Bytes that the body lacks, with its event; 0 while there is no whole head."""

    @property
    def has_begun(self) -> bool:
        """True if a part of a message has come."""
        return bool(self._head)

    def read(self, data: memoryview, body_bytes_max: int) -> tuple[Message | None, memoryview]:
        """The message that `data` completes, and what follows it; None if the message goes on behind `data`.

        Raises ConnectionBroken, and MsgspecError or UnicodeDecodeError for a head that is no JSON.
        """
        while self._message is None:
            wanted_bytes = self._head_end - len(self._head)
            self._head += data[:wanted_bytes]
            data = data[wanted_bytes:]
            if len(self._head) < self._head_end:
                return None, data
            self._read_head(body_bytes_max)
        piece, rest = data[: self.missing_bytes], data[self.missing_bytes :]
        self.missing_bytes -= len(piece)
        of_body_bytes = max(0, self._body_bytes - self._body.tell())
        self._body.write(piece[:of_body_bytes])
        self._event.write(piece[of_body_bytes:])
        if self.missing_bytes:
            return None, rest
        message = self._message
        message.body, message.event = self._body.getvalue(), self._event.getvalue()
        self.drop()
        return message, rest

    def _read_head(self, body_bytes_max: int) -> None:
        """Look at what has come of the head: the length of its JSON, or all of it."""
        length_bytes = int.from_bytes(self._head[-_LENGTH_BYTES:], "big")
        if self._head_end == _LENGTH_BYTES:
            if length_bytes > _HEAD_BYTES_MAX:
                raise ConnectionBroken
            self._head_end += length_bytes + _LENGTH_BYTES
            return
        if length_bytes > body_bytes_max:
            raise ConnectionBroken
        message = self._message = self._decoder.decode(self._head[_LENGTH_BYTES:-_LENGTH_BYTES])
        self.missing_bytes = length_bytes
        self._body_bytes = max(0, length_bytes - message.event_bytes)

    def drop(self) -> None:
        """Forget what has come; the next bytes begin a message."""
        self._head.clear()
        self._head_end = _LENGTH_BYTES
        self._message = None
        self._body, self._event = GrowingBytes(), GrowingBytes()
        self.missing_bytes = 0


class EnvironmentConnection(asyncio.BufferedProtocol):
    """The server's end of a connection with a function's process.
    `Listener.expect` returns it; nothing else makes one.

    A hundred processes may send 6 MB each in the same moment. So a message's first read takes at most a piece of
    8 KB, and further ones are held once all have read enough in a turn (`hashrange/long_reads.py`).
    """

    started: asyncio.Future[Message]
    """The message after the hello, which may come together with it. Set by `admit`."""

    def __init__(self, listener: "Listener") -> None:
        self._listener = listener
        self._reader = _MessageReader()
        self._awaited: asyncio.Future[Message] | None = None
        self._is_admitted = False
        self.is_broken = False
        """True once nothing more can be sent or received."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._listener.opened(self)

    def admit(self) -> None:
        """Let the process behind this connection send messages other than its hello."""
        self._is_admitted = True
        self.started = self.receive()

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.long_reads.forget(self)
        self.abort()
        self._listener.closed(self)

    def abort(self) -> None:
        """Close the connection at once; who waits for a message gets ConnectionBroken."""
        self.is_broken = True
        self._reader.drop()
        self._transport.abort()
        awaited = self._taken()
        if awaited is not None:
            awaited.set_exception(ConnectionBroken())
            awaited.exception()  # the waiter may already have left

    def receive(self) -> asyncio.Future[Message]:
        """The next message. Nothing may arrive while no message is awaited; raises ConnectionBroken."""
        assert self._awaited is None or self._awaited.done()
        self._awaited = awaited = asyncio.get_running_loop().create_future()
        if self.is_broken:
            self.abort()
        return awaited

    def send(self, head: dict[str, Any], body: bytes) -> None:
        """Send a message; it is lost if the connection is broken."""
        if not self.is_broken:
            encoded = msgspec.json.encode(head)
            before = len(encoded).to_bytes(_LENGTH_BYTES, "big") + encoded + len(body).to_bytes(_LENGTH_BYTES, "big")
            self._transport.writelines([before, body])

    @property
    def is_held(self) -> bool:
        """True while the rest of a message is not read, because others have sent enough in this turn."""
        return self._reader.has_begun and self._listener.long_reads.holds(self)

    def listen(self) -> None:
        """Read, unless the long reads of this turn are enough."""
        if self.is_broken or self._transport.is_closing():
            return
        if self._listener.long_reads.holds(self):
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Room, whatever `sizehint` is: for what the body of a message lacks, and a piece behind it."""
        return self._listener.room[: self._reader.missing_bytes + LONG_READ_BYTES]

    def buffer_updated(self, nbytes: int) -> None:
        """Take what has been read."""
        if nbytes >= LONG_READ_BYTES:
            self._listener.long_reads.note(self, nbytes)
        data = self._listener.room[:nbytes]
        while data and not self.is_broken:
            try:
                message, data = self._reader.read(data, _BODY_BYTES_MAX if self._is_admitted else 0)
            except (ConnectionBroken, msgspec.MsgspecError, UnicodeDecodeError):
                self.abort()
                break
            if message is not None:
                self._deliver(message)
        if self._reader.has_begun and self._is_admitted and (self._awaited is None or self._awaited.done()):
            self.abort()

    def _deliver(self, message: Message) -> None:
        if not self._is_admitted:
            self._listener.greeted(self, message)
        elif (awaited := self._taken()) is not None:
            awaited.set_result(message)
        else:
            self.abort()

    def _taken(self) -> asyncio.Future[Message] | None:
        """The future of who waits for a message; the connection does not keep it, as it keeps the message."""
        awaited, self._awaited = self._awaited, None
        return None if awaited is None or awaited.done() else awaited


class Listener:
    """The loopback port that all processes of functions connect to. Shared by all pools of a server."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._expected: dict[str, asyncio.Future[EnvironmentConnection]] = {}
        self._connections: set[EnvironmentConnection] = set()
        self._strangers: dict[EnvironmentConnection, asyncio.TimerHandle] = {}
        self.long_reads: LongReads
        """Set by `start`."""
        self.room = memoryview(bytearray(_ROOM_BYTES))
        """What all connections read into: what has been read is taken at once."""
        self.port = 0
        """0 until `start`."""
        self.mark = secrets.token_hex(16)
        """What the marks of all environments of this server begin with."""
        self.starting = asyncio.Lock()
        """A lock that is held while a process is started, so that the loop starts one in a turn,
        which takes some milliseconds."""

    async def start(self) -> None:
        """Listen on a free port of 127.0.0.1."""
        loop = asyncio.get_running_loop()
        self.long_reads = long_reads_of(loop)
        self._server = await loop.create_server(lambda: EnvironmentConnection(self), "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and break all connections."""
        assert self._server
        self._server.close()
        for connection in tuple(self._connections):
            connection.abort()
        await self._server.wait_closed()

    def expect(self, secret: str) -> asyncio.Future[EnvironmentConnection]:
        """The connection that will send this secret, once; cancel the future to stop waiting for it."""
        future: asyncio.Future[EnvironmentConnection] = asyncio.get_running_loop().create_future()
        self._expected[secret] = future
        future.add_done_callback(lambda _: self._expected.pop(secret, None))
        return future

    def opened(self, connection: EnvironmentConnection) -> None:
        """Give a new connection time to send its secret."""
        self._connections.add(connection)
        timer = asyncio.get_running_loop().call_later(HELLO_SECONDS_MAX, connection.abort)
        self._strangers[connection] = timer
        if len(self._strangers) > STRANGERS_MAX:
            oldest = next(iter(self._strangers))
            self._strangers.pop(oldest).cancel()
            oldest.abort()

    def greeted(self, connection: EnvironmentConnection, hello: Message) -> None:
        """Admit the connection that is expected, by its first message, or abort it."""
        expected = self._expected.get(hello.secret)
        if hello.kind != "hello" or expected is None or expected.done():
            connection.abort()
            return
        self._strangers.pop(connection).cancel()
        connection.admit()
        expected.set_result(connection)

    def closed(self, connection: EnvironmentConnection) -> None:
        """Forget a connection."""
        self._connections.discard(connection)
        timer = self._strangers.pop(connection, None)
        if timer:
            timer.cancel()
