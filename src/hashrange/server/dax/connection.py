"""One connection of a DAX client: bytes → requests, in order; replies in the order of the requests. A fault of the bytes ends this connection only."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast

from hashrange.operations.operation import Scope
from hashrange.server.dax.authorization import DaxRefusal
from hashrange.wire.dax.reading import BadBytes
from hashrange.wire.dax.requests import DaxRequest, Frames

PENDING_MAX = 64
"""Requests of a connection that may be in work; nothing more is read from it until there are fewer."""
WRITE_BUFFER_BYTES_MAX = 1024 * 1024


class DaxAnswer:
    """The place of a request's reply."""

    __slots__ = ("_connection", "content")

    def __init__(self, connection: "DaxConnection") -> None:
        self._connection = connection
        self.content: bytes | None = None

    def send(self, content: bytes) -> None:
        """Send the reply, once all before it have been sent. Takes no second reply."""
        if self.content is None:
            self.content = content
            self._connection.send_ready()

    def cut(self, content: bytes) -> None:
        """Send only the begin of a reply, and end the connection."""
        self.send(content)
        self._connection.abort()

    @property
    def has_left(self) -> bool:
        """True if the client has left."""
        return self._connection.is_over


class Silence(DaxAnswer):
    """The place of a reply that nobody waits for."""

    __slots__ = ()

    def __init__(self) -> None:
        self.content = None

    def send(self, content: bytes) -> None:
        """Drop the reply."""

    def cut(self, content: bytes) -> None:
        """Drop the reply."""

    @property
    def has_left(self) -> bool:
        """Nobody can leave."""
        return False


class DaxRequestHandler(Protocol):
    """What answers requests: a node."""

    def authorize(self, connection: "DaxConnection", request: DaxRequest) -> None:
        """Set the connection's `scope` or `refusal`."""
        ...

    def begin(self, connection: "DaxConnection", request: DaxRequest, answer: DaxAnswer) -> None:
        """Answer a request, now or later."""
        ...


class BegunBytes:
    """Memory of requests that are not complete, of all connections of a server together."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.size_bytes = 0


class DaxConnection(asyncio.Protocol):
    """The protocol of one connection."""

    def __init__(
        self, handler: DaxRequestHandler, begun: BegunBytes, closed: "Callable[[DaxConnection], None]"
    ) -> None:
        self._handler = handler
        self._begun = begun
        self._closed = closed
        self._frames = Frames()
        self._pending: deque[DaxAnswer] = deque()
        self._requests: deque[DaxRequest] = deque()
        """Requests that have come and not begun."""
        self._is_held = self._is_writing_held = self._is_going_on = False
        self._own_begun_bytes = 0
        self._transport: asyncio.Transport | None = None
        self.is_over = False
        self.is_unwanted = False
        """True if there are too many connections."""
        self.scope: Scope | None = None
        """Whose tables the client sees; None: it has not been authorized."""
        self.refusal: DaxRefusal | None = None
        """Why it was not; the next request gets it."""
        self.late_turns = 0
        """Sweeps since the client began a request that is not complete."""

    @property
    def is_slow(self) -> bool:
        """True if the client has begun a request, or the handshake, and not completed it."""
        return bool(self._own_begun_bytes) or not self._frames.is_open

    @property
    def local_host(self) -> str:
        """The address of this end, in numbers, which the client has reached."""
        name = None if self._transport is None else self._transport.get_extra_info("sockname")
        return "127.0.0.1" if not name else str(name[0])

    @property
    def held_bytes(self) -> int:
        """Bytes of replies that the client has not yet taken."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = transport = cast("asyncio.Transport", transport)
        transport.set_write_buffer_limits(WRITE_BUFFER_BYTES_MAX)
        if self.is_unwanted:
            self.abort()

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        if self.is_over:
            return
        try:
            requests = self._frames.feed(bytes(data))
        except BadBytes:
            self.abort()
            return
        held_bytes = self._frames.begun_bytes
        self._begun.size_bytes += held_bytes - self._own_begun_bytes
        self._own_begun_bytes = held_bytes
        if requests:
            self.late_turns = 0
        if held_bytes and self._begun.size_bytes > self._begun.limit_bytes:
            self.abort()
            return
        self._requests += requests
        self._go_on()

    @property
    def _is_busy(self) -> bool:
        """True if no further request may begin: too many are in work, or the client reads their replies too slowly."""
        return len(self._pending) >= PENDING_MAX or self._is_writing_held

    def _go_on(self) -> None:
        """Begin the requests that have come, as long as that is possible; read more when all have begun."""
        if self._is_going_on:
            return
        self._is_going_on = True
        try:
            while self._requests and not self.is_over and not self._is_busy:
                self._take(self._requests.popleft())
        finally:
            self._is_going_on = False
        self._hold_if_busy()

    def _take(self, request: DaxRequest) -> None:
        if request.method == "authorizeConnection":
            self._handler.authorize(self, request)
            return
        answer = DaxAnswer(self)
        self._pending.append(answer)
        self._handler.begin(self, request, answer)

    def send_ready(self) -> None:
        """Send the replies that are ready, as far as none before them is missing."""
        pending, transport = self._pending, self._transport
        if self.is_over or transport is None:
            return
        while pending and pending[0].content is not None:
            content = pending.popleft().content
            assert content is not None
            transport.write(content)
        self._go_on()

    def _hold_if_busy(self) -> None:
        is_busy = self._is_busy or bool(self._requests)
        transport = self._transport
        if is_busy != self._is_held and transport is not None and not self.is_over:
            self._is_held = is_busy
            if is_busy:
                transport.pause_reading()
            else:
                transport.resume_reading()

    def pause_writing(self) -> None:
        """Called by the loop when the client reads too slowly."""
        self._is_writing_held = True
        self._hold_if_busy()

    def resume_writing(self) -> None:
        """Called by the loop when the client has read."""
        self._is_writing_held = False
        self._go_on()

    def abort(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop."""
        del exc
        self._end()

    def _end(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        self._begun.size_bytes -= self._own_begun_bytes
        self._own_begun_bytes = 0
        self._pending.clear()
        self._requests.clear()
        self._closed(self)
