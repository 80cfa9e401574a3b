"""How does a connection live? Bytes in, requests to the dispatcher one at a time, replies out in order.

One `Connection` per socket, without a task, in the turns of `incoming.py`; `reading.py` makes requests of its bytes. While a reply is pending,
further requests of the same connection wait, and reading pauses: what waits is bounded by one read of the socket, of which no more is parsed
than completes a request. Deadlines of slow clients are checked by one sweep over all connections (`connections.py`), not by a timer per
request.
This file must not know what a request means. Source of limits: operations.md 1.1.
"""

import asyncio
import logging
from typing import cast

import httptools

from hashrange.messages import http as sentences
from hashrange.server import bounds
from hashrange.server.access_log import Peer
from hashrange.server.connections import Connections
from hashrange.server.descriptors import TURNED_AWAY_MAX
from hashrange.server.hints import TLS_HANDSHAKE
from hashrange.server.outgoing import LARGE_BYTES
from hashrange.server.reading import PIECE_BYTES, Reading, Refusal
from hashrange.server.room import Share
from hashrange.wire.http import CONTINUE, Request

PIECES_MAX = 4
"""So many pieces of a long read are parsed in a row when none of them completes a request."""

_log = logging.getLogger("hashrange.server")


class Connection(asyncio.Protocol):
    """One client's connection."""

    __slots__ = (
        "active_at_seconds", "connections", "is_busy", "is_dear", "is_discarding", "is_reading_paused", "is_write_paused",
        "reading", "ready", "refusal", "request", "rest", "share", "started_at_seconds", "transport", "wants_end",
    )  # fmt: skip

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.transport: asyncio.Transport = cast("asyncio.Transport", None)
        self.reading = Reading()
        self.ready = self.reading.ready
        self.rest: bytes | memoryview = b""
        """Of a long read: what is not parsed yet."""
        self.request: Request | None = None
        """The request in work, while `is_busy`."""
        self.refusal: Refusal | None = None
        """What ends this connection once all replies are out."""
        self.started_at_seconds: float | None = None
        self.active_at_seconds = connections.tick_seconds
        self.is_busy = self.is_discarding = False
        self.is_dear: bool | None = None
        self.is_reading_paused = self.is_write_paused = False
        self.wants_end = False
        self.share = Share(connections.room)

    # --- the transport's calls ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self.transport = cast("asyncio.Transport", transport)
        connections = self.connections
        if len(connections.open) < connections.connections_max and not connections.is_stopping:
            connections.open.add(self)
            return
        connections.turned_away.add(self)
        self.refuse(503, sentences.TOO_MANY_CONNECTIONS)
        if len(connections.turned_away) > TURNED_AWAY_MAX:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone; a reply still pending is dropped when it comes."""
        self.connections.open.discard(self)
        self.connections.turned_away.discard(self)
        self.connections.unread.remove(self)
        self.drop()
        self.reading.close()
        if not self.is_busy:
            self.share.answer()

    @property
    def peer(self) -> Peer:
        """The client's address."""
        peer: Peer = self.transport.get_extra_info("peername")
        return peer

    @property
    def is_gone(self) -> bool:
        """The client has left, or is being cut off: nobody waits for a reply."""
        return self.transport.is_closing()

    def data_received(self, data: bytes) -> None:
        """Bytes from the client: they wait for their turn."""
        if len(data) > PIECE_BYTES and not self.expect_long(data):
            return
        self.connections.incoming.add(self, data)

    def expect_long(self, data: bytes) -> bool:
        """No more is read before this is parsed, or dropped in its turn; False: it is not even kept."""
        if not self.connections.room.begin(len(data)):
            if not self.is_discarding:
                self.refuse(503, sentences.TOO_MUCH_UNFINISHED)
            return False
        self.pause_reading()
        return True

    def receive(self, data: bytes) -> None:
        """Read them."""
        is_long = len(data) > PIECE_BYTES
        if is_long:
            self.connections.room.end(len(data))
        if self.is_discarding:
            self.resume_reading()
            return
        self.active_at_seconds = self.connections.tick_seconds
        if is_long or self.rest:
            self.rest = memoryview(b"".join((self.rest, data)) if self.rest else data)
            self.read_on()
            return
        self.parse(data)
        self.look_at_progress()

    def parse(self, data: bytes | memoryview) -> None:
        """Make requests of these bytes."""
        reading = self.reading
        reading.message_bytes += len(data)
        try:
            reading.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            request = reading.begin_again()
            if request.method == b"CONNECT":
                self.refuse(400, sentences.MALFORMED_REQUEST)
                return
            self.rest = memoryview(b"".join((request.head_without(b"upgrade"), data[upgrade.args[0] :], self.rest)))
            self.read_on()
        except httptools.HttpParserError:
            if not self.is_discarding:
                if len(data) == reading.message_bytes and bytes(data[: len(TLS_HANDSHAKE)]) == TLS_HANDSHAKE:
                    self.connections.hint_https()
                self.refuse(*reading.refusal)

    def read_on(self) -> None:
        """Parse what is left of a long read until a request is whole, or some pieces of it: then others have their turn."""
        for _ in range(PIECES_MAX):
            if self.ready or self.is_discarding or self.share.is_waiting or not self.rest:
                break
            size = self.reading.next_bytes()
            piece, self.rest = self.rest[:size], self.rest[size:]
            self.parse(piece)
        self.look_at_progress()
        if self.rest:
            self.pause_reading()
        elif not self.ready:
            self.resume_reading()

    def look_at_progress(self) -> None:
        """After parsing: is a request whole, or has one begun, which must go on?"""
        if self.ready:
            self.reading.message_bytes = 0
            if self.started_at_seconds is not None:
                self.complete()
        elif not self.is_discarding:
            self.check_partial()

    def eof_received(self) -> bool:
        """The client sends nothing more: what has come is answered in its turn, then `go_on` closes."""
        self.wants_end = True
        connections = self.connections
        if self.transport.can_write_eof():
            connections.incoming.add(self, b"")
            return True
        connections.incoming.drain()  # under TLS the transport closes now, whatever is returned
        connections.outgoing.flush()
        return False

    def pause_writing(self) -> None:
        """The client reads too slowly: no further request is started until it has read on."""
        self.is_write_paused = True
        self.pause_reading()
        self.connections.unread.add(self)

    def pause_reading(self) -> None:
        """The client is not listened to until what it has sent is out of the way."""
        if not self.is_reading_paused:
            self.is_reading_paused = True
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Nothing of what the client has sent is in the way."""
        is_free = not self.is_write_paused and not self.share.is_waiting
        if self.is_reading_paused and is_free and not self.transport.is_closing():
            self.is_reading_paused = False
            self.transport.resume_reading()

    def resume_writing(self) -> None:
        """The client has read on."""
        self.is_write_paused = False
        self.connections.unread.remove(self)
        self.go_on()

    # --- requests and replies -------------------------------------------------------------------

    def take(self) -> Request | None:
        """The next request to be answered, now in work; None while there is one, and while the client leaves replies unread."""
        ready = self.ready
        if not ready and (self.rest or self.wants_end) and not self.is_busy and not self.is_write_paused:
            self.take_rest()
        request = None
        if ready:
            if not self.is_busy and not self.is_write_paused:
                self.request = request = ready.popleft()
                self.is_busy = True
            if ready and not self.is_reading_paused:
                self.pause_reading()
        return request

    def take_rest(self) -> None:
        """Go on with a long read, or end. Never raises: others have the same turn."""
        try:
            if self.rest:
                self.read_on()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is ours, and costs this client its connection
            self.lose(error)
            return
        if not self.ready:
            self.go_on()

    def respond(self, status: int, body: bytes, content_type: bytes | None = None, extra: bytes = b"") -> None:
        """Answer the request in work; a large reply that is compressed gives way meanwhile. Never raises: others are answered in the same turn."""
        request = self.request
        assert request is not None
        connections = self.connections
        if connections.is_stopping:
            request.keeps_alive = False
        now = connections.wall_time()
        try:
            if self.transport.is_closing():
                reply = b"", b""
            elif status == 200 and content_type is None:
                reply = connections.writer.ok(request, body, now)
            else:
                reply = connections.writer.reply(request, status, body, now, content_type, extra)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is ours, and costs this client its connection
            self.lose(error)
        self.is_busy = False
        self.request = None
        self.is_dear = len(body) >= LARGE_BYTES
        if self.share.answering_bytes and not self.ready:
            self.share.answer()
        if self.transport.is_closing():
            return
        try:
            connections.outgoing.send(self.transport, reply, now, is_alone=len(connections.open) == 1)
            if connections.access_log is not None:
                connections.access_log(request, status, body, self.transport.get_extra_info("peername"))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is ours, and costs this client its connection
            self.lose(error)
            return
        if not request.keeps_alive:
            self.ready.clear()
            self.drop()
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
        has_more = self.ready or self.rest
        if has_more:
            if not self.is_busy and not self.is_write_paused and (self.ready or not self.share.is_waiting):
                self.connections.incoming.add(self, b"")
        elif not self.is_busy:
            if self.refusal is not None:
                self.end()
            elif self.wants_end:
                self.connections.outgoing.flush()
                self.transport.close()
        if self.is_reading_paused and not has_more:
            self.resume_reading()
        if self.reading.wants_continue:
            self.send_continue()

    def write_now(self, data: bytes) -> None:
        """Write what is no reply, after the replies that are held."""
        self.connections.outgoing.flush()
        self.transport.write(data)

    def send_continue(self) -> None:
        """Tell the client to send its body, unless earlier replies are still to come."""
        if not self.is_busy and not self.ready and not self.share.is_waiting:
            self.reading.wants_continue = False
            self.write_now(CONTINUE)

    # --- limits ---------------------------------------------------------------------------------

    def check_partial(self) -> None:
        """A read ended inside a request: start its deadline, and bound what it may hold."""
        if self.started_at_seconds is None:
            self.started_at_seconds = self.connections.tick_seconds
        reading = self.reading
        if reading.is_too_large():
            self.refuse(400, sentences.MALFORMED_REQUEST)
            return
        share = self.share
        if not share.reserved_bytes:
            if not share.count(reading.message_bytes + len(self.rest)):
                self.refuse(503, sentences.TOO_MUCH_UNFINISHED)
                return
            size_bytes = reading.large_body_bytes()
            if size_bytes and not share.reserve(size_bytes, self.let_in):
                self.pause_reading()
        if reading.wants_continue and not self.rest:
            self.send_continue()

    def let_in(self) -> None:
        """There is room for the body: its time begins anew."""
        self.started_at_seconds = self.active_at_seconds = self.connections.tick_seconds
        self.go_on()

    def complete(self) -> None:
        """A request that came in several reads is whole."""
        self.started_at_seconds = None
        self.share.complete()

    def drop(self) -> None:
        """Nothing more is read."""
        self.is_discarding = True
        self.rest = self.reading.body = b""
        self.share.leave()

    def refuse(self, status: int, body: bytes) -> None:
        """Say why, and close once earlier replies are out; nothing more is read."""
        self.drop()
        self.refusal = (status, body)
        if not self.is_busy and not self.ready:
            self.end()

    def end(self) -> None:
        """Send the refusal; what the client still sends is dropped, until it closes or the sweep does."""
        assert self.refusal is not None
        (status, body), self.refusal = self.refusal, None
        self.reading.wants_continue = False
        connections = self.connections
        self.started_at_seconds = connections.monotonic()
        if self.transport.is_closing():
            return
        self.write_now(connections.writer.refusal(status, body, connections.wall_time()))
        if connections.access_log is not None:
            connections.access_log(None, status, body, self.transport.get_extra_info("peername"))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        else:
            self.transport.close()
        self.resume_reading()

    def check_deadline(self, now_seconds: float) -> None:
        """Called by the sweep."""
        if self.is_write_paused:
            if now_seconds - self.active_at_seconds > bounds.WRITE_SECONDS_MAX:
                self.transport.abort()
        elif self.is_busy:
            return
        elif self.share.is_waiting:
            if now_seconds - self.active_at_seconds > bounds.ROOM_SECONDS_MAX:
                self.refuse(503, sentences.TOO_MUCH_UNFINISHED)
        elif self.started_at_seconds is None:
            if now_seconds - self.active_at_seconds > bounds.IDLE_SECONDS_MAX:
                self.transport.close()
        elif self.is_discarding:
            if now_seconds - self.started_at_seconds > bounds.LINGER_SECONDS:
                self.transport.abort()
        elif self.is_too_slow(now_seconds, self.started_at_seconds):
            self.refuse(408, sentences.REQUEST_TOO_SLOW)

    def is_too_slow(self, now_seconds: float, started_at_seconds: float) -> bool:
        """Does the request that comes take too long? Sooner if others wait for its room."""
        reading = self.reading
        is_in_the_way = self.share.reserved_bytes > 0 and self.connections.room.is_wanted
        if is_in_the_way and now_seconds - self.active_at_seconds > bounds.STALL_SECONDS_MAX:
            return True
        return bounds.is_too_slow(
            now_seconds - started_at_seconds,
            reading.message_bytes,
            has_head=reading.layout is not None,
            is_in_the_way=is_in_the_way,
        )

    def stop(self) -> None:
        """The server stops: close now if idle, else after the replies that are due."""
        if not self.is_busy and not self.ready and not self.rest:
            self.transport.close()
