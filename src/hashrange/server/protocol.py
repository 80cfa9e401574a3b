"""How does a connection live? Bytes in, requests to the dispatcher one at a time, replies out in order.

One `Connection` per socket, parsed by httptools, without a task, in the turns of `incoming.py`. While a reply is pending, further
requests of the same connection wait, and reading pauses: what waits is bounded by one read of the socket. Deadlines of slow clients are checked by one
sweep over all connections (`Connections.sweep`), not by a timer per request.
This file must not know what a request means. Source of limits: operations.md 1.1.
"""

import asyncio
import logging
from collections import deque
from typing import cast

import httptools

from hashrange.clock import Clock
from hashrange.messages import http as sentences
from hashrange.server import bounds
from hashrange.server.access_log import AccessLog
from hashrange.server.hints import TLS_HANDSHAKE, HttpsHint
from hashrange.server.incoming import Handle, Incoming
from hashrange.server.outgoing import Outgoing
from hashrange.wire.http import BODY_BYTES_MAX, CONTINUE, HEAD_BYTES_MAX, Layout, ReplyWriter, Request, layout_of

_log = logging.getLogger("hashrange.server")


class Connections:
    """All open connections, what they share, and the sweep that ends slow ones."""

    def __init__(
        self, handle: Handle, clock: Clock, connections_max: int = 65_536, access_log: AccessLog | None = None
    ) -> None:
        self.wall_time = clock.wall_time
        self.monotonic = clock.monotonic
        self.writer = ReplyWriter()
        self.outgoing = Outgoing()
        self.open: set[Connection] = set()
        self.incoming = Incoming(handle, self.outgoing, clock.monotonic, self.open)
        self.connections_max = connections_max
        self.access_log = access_log
        self.hint_https = HttpsHint()
        self.is_stopping = False
        self.tick_seconds = clock.monotonic()
        """Monotonic time of the last sweep: exact enough for deadlines, and free to read."""

    def connect(self) -> "Connection":
        """The protocol factory."""
        return Connection(self)

    def take_turns(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on, requests are read, and replies written, together at the end of a turn of `loop`."""
        self.incoming.hold(loop)
        self.outgoing.hold(loop)

    def sweep(self) -> None:
        """End the connections that passed a deadline."""
        self.outgoing.flush()
        now = self.tick_seconds = self.monotonic()
        for connection in list(self.open):
            connection.check_deadline(now)

    def stop(self) -> None:
        """Close every idle connection, and each other one once its replies are out."""
        self.incoming.drain()
        self.is_stopping = True
        self.outgoing.flush()
        for connection in list(self.open):
            connection.stop()


class Connection(asyncio.Protocol):
    """One client's connection. The methods `on_…` are called by the parser."""

    __slots__ = (
        "active_at_seconds", "body", "connections", "framing", "head_names", "head_values", "is_busy", "is_discarding", "is_reading_paused",
        "is_write_paused", "layout", "message_bytes", "on_header", "parser", "ready", "refusal", "request",
        "started_at_seconds", "transport", "url", "wants_continue", "wants_end",
    )  # fmt: skip

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.transport: asyncio.Transport = cast("asyncio.Transport", None)
        self.head_names: list[bytes] = []
        self.head_values: list[bytes | None] = []
        append_name, append_value = self.head_names.append, self.head_values.append

        def on_header(name: bytes, value: bytes) -> None:
            append_name(name)
            append_value(value)

        self.on_header = on_header
        self.parser = httptools.HttpRequestParser(self)
        self.url = b""
        self.layout: Layout | None = None
        self.framing = cast("bounds.Framing", None)
        """Of the last body in chunks."""
        self.body: bytes | bytearray = b""
        self.ready: deque[Request] = deque()
        self.request: Request | None = None
        """The request in work, while `is_busy`."""
        self.refusal: tuple[int, bytes] | None = None
        """Status and body of what ends this connection once all replies are out."""
        self.message_bytes = 0
        """Bytes received of a request that is not complete yet."""
        self.started_at_seconds: float | None = None
        self.active_at_seconds = connections.tick_seconds
        self.is_busy = self.is_discarding = False
        self.is_reading_paused = self.is_write_paused = False
        self.wants_continue = self.wants_end = False

    # --- the transport's calls ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self.transport = cast("asyncio.Transport", transport)
        connections = self.connections
        if len(connections.open) >= connections.connections_max or connections.is_stopping:
            self.refuse(503, sentences.TOO_MANY_CONNECTIONS)
        connections.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone; a reply still pending is dropped when it comes."""
        self.connections.open.discard(self)
        self.is_discarding = True
        self.ready.clear()
        self.on_header = None  # type: ignore[assignment]  # breaks the reference cycle
        self.parser = None  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Bytes from the client: they wait for their turn."""
        self.connections.incoming.add(self, data)

    def receive(self, data: bytes) -> None:
        """Read them."""
        if self.is_discarding:
            return
        self.active_at_seconds = self.connections.tick_seconds
        self.message_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self.read_past_upgrade(data[upgrade.args[0] :])
            return
        except httptools.HttpParserError:
            if not self.is_discarding:
                if data.startswith(TLS_HANDSHAKE) and len(data) == self.message_bytes:
                    self.connections.hint_https()
                self.refuse(400, sentences.MALFORMED_REQUEST)
        if self.ready:
            self.message_bytes = 0
            self.started_at_seconds = None
        elif not self.is_discarding:
            self.check_partial()

    def eof_received(self) -> bool:
        """The client sends nothing more: pending replies still go out."""
        self.connections.incoming.drain()
        self.wants_end = True
        self.connections.outgoing.flush()
        return self.is_busy or bool(self.ready)

    def pause_writing(self) -> None:
        """The client reads too slowly: no further request is started until it has read on."""
        self.is_write_paused = True
        if not self.is_reading_paused:
            self.is_reading_paused = True
            self.transport.pause_reading()

    def resume_writing(self) -> None:
        """The client has read on."""
        self.is_write_paused = False
        self.go_on()

    # --- the parser's calls ---------------------------------------------------------------------

    def on_url(self, url: bytes) -> None:
        """A piece of the request line's target."""
        self.url += url

    def on_headers_complete(self) -> None:
        """The head is whole: refuse what is too large before its body comes."""
        names = self.head_names
        values = self.head_values
        layout = self.layout = layout_of(tuple(names))
        if self.message_bytes > HEAD_BYTES_MAX and bounds.head_bytes(self.url, names, values) > HEAD_BYTES_MAX:
            self.refuse(400, sentences.MALFORMED_REQUEST)
            raise ValueError("head too large")
        if layout.content_length >= 0:
            length = values[layout.content_length]
            if length is not None and len(length) > 7 and int(length) > BODY_BYTES_MAX:
                self.refuse(413, sentences.BODY_TOO_LARGE)
                raise ValueError("body too large")
        elif layout.transfer_encoding >= 0:
            self.framing = bounds.Framing(bounds.head_bytes(self.url, names, values))
        if layout.expect >= 0:
            self.wants_continue = True

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""
        if not self.body:
            self.body = body
            return
        if type(self.body) is bytes:
            self.body = bytearray(self.body)
        self.body += body
        if len(self.body) > BODY_BYTES_MAX:
            self.refuse(413, sentences.BODY_TOO_LARGE)
            raise ValueError("body too large")

    def on_chunk_complete(self) -> None:
        """A chunk is whole; the last one's trailers too."""
        assert self.layout is not None
        if len(self.head_names) > len(self.layout.names):
            whole_bytes = bounds.head_bytes(self.url, self.head_names, self.head_values)
            if whole_bytes - self.framing.head_bytes > HEAD_BYTES_MAX:
                self.refuse(400, sentences.MALFORMED_REQUEST)
                raise ValueError("trailers too large")

    def on_message_complete(self) -> None:
        """The request is whole: it waits for its turn."""
        parser = self.parser
        values = self.head_values.copy()
        layout = self.layout
        assert layout is not None
        del values[len(layout.names) :]  # trailers of a chunked body
        values.append(None)
        body = self.body
        self.ready.append(
            Request(
                parser.get_method(),
                self.url,
                layout,
                values,
                body if type(body) is bytes else bytes(body),
                parser.should_keep_alive(),
            )
        )
        self.head_names.clear()
        self.head_values.clear()
        self.url = self.body = b""
        self.layout = None
        self.wants_continue = False

    def read_past_upgrade(self, rest: bytes) -> None:
        """A client offers another protocol (Java's does): the parser has stopped before the body, so it reads again without the offer."""
        request = self.ready.pop()
        self.message_bytes = 0
        self.parser = httptools.HttpRequestParser(self)
        if request.method == b"CONNECT":
            self.refuse(400, sentences.MALFORMED_REQUEST)
            return
        self.receive(request.head_without(b"upgrade") + rest)

    # --- requests and replies -------------------------------------------------------------------

    def take(self) -> Request | None:
        """The next request to be answered, now in work; None while there is one, and while the client leaves replies unread."""
        ready = self.ready
        request = None
        if ready:
            if not self.is_busy and not self.is_write_paused:
                self.request = request = ready.popleft()
                self.is_busy = True
            if ready and not self.is_reading_paused:
                self.is_reading_paused = True
                self.transport.pause_reading()
        return request

    def respond(self, status: int, body: bytes, content_type: bytes | None = None, extra: bytes = b"") -> None:
        """Answer the request in work. Never raises: others are answered in the same turn."""
        request = self.request
        assert request is not None
        self.is_busy = False
        self.request = None
        if self.transport.is_closing():
            return
        connections = self.connections
        if connections.is_stopping:
            request.keeps_alive = False
        now = connections.wall_time()
        try:
            if status == 200 and content_type is None:
                reply = connections.writer.ok(request, body, now)
            else:
                reply = connections.writer.reply(request, status, body, now, content_type, extra)
            connections.outgoing.send(self.transport, reply, now, is_alone=len(connections.open) == 1)
            if connections.access_log is not None:
                connections.access_log(request, status, len(body), self.transport.get_extra_info("peername"))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is ours, and costs this client its connection
            self.lose(error)
            return
        if not request.keeps_alive:
            self.ready.clear()
            self.is_discarding = True
            connections.outgoing.flush()
            self.transport.close()
        else:
            self.go_on()

    def lose(self, error: Exception) -> None:
        """An error of ours: end this connection, and only this one."""
        _log.error("a connection met an error of ours; please report it", exc_info=error)
        self.transport.abort()

    def go_on(self) -> None:
        """After a reply or a pause: the next requests, then further reading."""
        if self.ready:
            if not self.is_busy and not self.is_write_paused:
                self.connections.incoming.add(self, b"")
        elif not self.is_busy:
            if self.refusal is not None:
                self.end()
            elif self.wants_end:
                self.connections.outgoing.flush()
                self.transport.close()
        if self.is_reading_paused and not self.ready and not self.is_write_paused and not self.transport.is_closing():
            self.is_reading_paused = False
            self.transport.resume_reading()
        if self.wants_continue:
            self.send_continue()

    def write_now(self, data: bytes) -> None:
        """Write what is no reply, after the replies that are held."""
        self.connections.outgoing.flush()
        self.transport.write(data)

    def send_continue(self) -> None:
        """Tell the client to send its body, unless earlier replies are still to come."""
        if not self.is_busy and not self.ready:
            self.wants_continue = False
            self.write_now(CONTINUE)

    # --- limits ---------------------------------------------------------------------------------

    def check_partial(self) -> None:
        """A read ended inside a request: start its deadline, and bound what it may hold."""
        if self.started_at_seconds is None:
            self.started_at_seconds = self.connections.tick_seconds
        layout = self.layout
        if layout is None:
            if self.message_bytes > HEAD_BYTES_MAX:
                self.refuse(400, sentences.MALFORMED_REQUEST)
        elif layout.transfer_encoding >= 0 and self.framing.is_too_large(
            self.message_bytes, len(self.body), len(self.head_names) - len(layout.names)
        ):
            self.refuse(400, sentences.MALFORMED_REQUEST)
        elif self.wants_continue:
            self.send_continue()

    def refuse(self, status: int, body: bytes) -> None:
        """Say why, and close once earlier replies are out; nothing more is read."""
        self.is_discarding = True
        self.refusal = (status, body)
        if not self.is_busy and not self.ready:
            self.end()

    def end(self) -> None:
        """Send the refusal; what the client still sends is dropped, until it closes or the sweep does."""
        assert self.refusal is not None
        (status, body), self.refusal = self.refusal, None
        self.wants_continue = False
        connections = self.connections
        self.started_at_seconds = connections.monotonic()
        if self.transport.is_closing():
            return
        self.write_now(connections.writer.refusal(status, body, connections.wall_time()))
        if connections.access_log is not None:
            connections.access_log(None, status, len(body), self.transport.get_extra_info("peername"))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()
        if self.is_reading_paused and not self.transport.is_closing():
            self.is_reading_paused = False
            self.transport.resume_reading()

    def check_deadline(self, now_seconds: float) -> None:
        """Called by the sweep."""
        if self.is_write_paused:
            if now_seconds - self.active_at_seconds > bounds.WRITE_SECONDS_MAX:
                self.transport.abort()
        elif self.is_busy:
            return
        elif self.started_at_seconds is None:
            if now_seconds - self.active_at_seconds > bounds.IDLE_SECONDS_MAX:
                self.transport.close()
        elif self.is_discarding:
            if now_seconds - self.started_at_seconds > bounds.LINGER_SECONDS:
                self.transport.abort()
        elif bounds.is_too_slow(
            now_seconds - self.started_at_seconds, self.message_bytes, has_head=self.layout is not None
        ):
            self.refuse(408, sentences.REQUEST_TOO_SLOW)

    def stop(self) -> None:
        """The server stops: close now if idle, else after the replies that are due."""
        if not self.is_busy and not self.ready:
            self.transport.close()
