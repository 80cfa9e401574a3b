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
from hashrange.limits import INVOCATION_REPLY_BYTES_MAX

_HEAD_BYTES_MAX = 4 * 1024
_BODY_BYTES_MAX = INVOCATION_REPLY_BYTES_MAX
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


class EnvironmentConnection(asyncio.Protocol):
    """The server's end of a connection with a function's process.
    `Listener.expect` returns it; nothing else makes one.
    """

    started: asyncio.Future[Message]
    """The message after the hello, which may come together with it. Set by `admit`."""

    def __init__(self, listener: "Listener") -> None:
        self._listener = listener
        self._decoder = msgspec.json.Decoder(Message)
        self._received = bytearray()
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
        self.abort()
        self._listener.closed(self)

    def abort(self) -> None:
        """Close the connection at once; who waits for a message gets ConnectionBroken."""
        self.is_broken = True
        self._received.clear()
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
            self._transport.write(len(encoded).to_bytes(4, "big") + encoded + len(body).to_bytes(4, "big") + body)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while message := self._next_message():
            if not self._is_admitted:
                self._listener.greeted(self, message)
            elif (awaited := self._taken()) is not None:
                awaited.set_result(message)
            else:
                self.abort()
        if self._received and self._is_admitted and (self._awaited is None or self._awaited.done()):
            self.abort()

    def _taken(self) -> asyncio.Future[Message] | None:
        """The future of who waits for a message; the connection does not keep it, as it keeps the message."""
        awaited, self._awaited = self._awaited, None
        return None if awaited is None or awaited.done() else awaited

    def _next_message(self) -> Message | None:
        """The first message, taken from the bytes received; None if it is incomplete, or the connection is broken."""
        received = self._received
        if len(received) < 4 or self.is_broken:
            return None
        body_at = 8 + int.from_bytes(received[:4], "big")
        if body_at > 8 + _HEAD_BYTES_MAX:
            self.abort()
            return None
        if len(received) < body_at:
            return None
        end = body_at + int.from_bytes(received[body_at - 4 : body_at], "big")
        if end > body_at + (_BODY_BYTES_MAX if self._is_admitted else 0):
            self.abort()
            return None
        if len(received) < end:
            return None
        try:
            message = self._decoder.decode(received[4 : body_at - 4])
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self.abort()
            return None
        event_at = max(body_at, end - message.event_bytes)
        message.body, message.event = bytes(received[body_at:event_at]), bytes(received[event_at:end])
        del received[:end]
        return message


class Listener:
    """The loopback port that all processes of functions connect to. Shared by all pools of a server."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._expected: dict[str, asyncio.Future[EnvironmentConnection]] = {}
        self._connections: set[EnvironmentConnection] = set()
        self._strangers: dict[EnvironmentConnection, asyncio.TimerHandle] = {}
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
