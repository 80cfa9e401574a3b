"""How does a connection handle its client? Bytes in, requests to the front one at a time, replies out in order.

One `Connection` per socket, without a task; `incoming.py` calls it. `connection_states.py` decides what is done next,
this file does it. `reading.py` parses requests, `connections.py` ends slow connections. While complete requests,
or part of a long read (at least `PIECE_BYTES`), wait behind the request being answered, the client is not read.
This file must not know what a request means. Source of limits: operations.md 1.1.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import cast

from hashrange.errors import Abandoned
from hashrange.items.steps import look
from hashrange.server import connection_states as states
from hashrange.server.access_log import Peer
from hashrange.server.connection_states import (
    ANSWER,
    BETWEEN,
    FLOWING,
    GONE,
    IDLE,
    INSIDE,
    LISTENING,
    PAUSED,
    TAKE,
    WAITING,
    Receiving,
)
from hashrange.server.connections import Connections
from hashrange.server.descriptors import TURNED_AWAY_MAX
from hashrange.server.file_reply import FileReply
from hashrange.server.incoming import NO_REPLY, PIECE_BYTES
from hashrange.server.reading import Reading
from hashrange.server.receive_budget import Share
from hashrange.server.refusals import MALFORMED, SPEAKS_TLS, TOO_MANY_CONNECTIONS, TOO_MUCH_UNFINISHED, Refusal
from hashrange.wire.http import CONTINUE, HttpRequest

_log = logging.getLogger("hashrange.server")


class Connection(asyncio.Protocol):
    """One client's connection."""

    __slots__ = (
        "active_at_seconds",
        "answering",
        "connections",
        "end_tls",
        "file_reply",
        "input",
        "reading",
        "ready",
        "receiving",
        "refusal",
        "reply_bytes",
        "request",
        "sending",
        "share",
        "since_seconds",
        "socket_transport",
        "transport",
    )

    def __init__(self, connections: Connections) -> None:
        self.connections = connections
        self.transport: asyncio.Transport = cast("asyncio.Transport", None)
        self.socket_transport: asyncio.Transport | None = None
        """With TLS, the socket's transport, which is below `transport`; else None."""
        self.end_tls: Callable[[], None] | None = None
        """Called once the connection is closed, if the client has ended TCP, but not TLS; else None."""
        self.receiving = BETWEEN
        self.answering = IDLE
        self.sending = FLOWING
        self.input = LISTENING
        self.reading = Reading(connections.long_bodies)
        self.ready = self.reading.ready
        self.request: HttpRequest | None = None
        """The request being answered, while BUSY; else None."""
        self.refusal: Refusal | None = None
        """The refusal that waits to be sent, while REFUSED."""
        self.reply_bytes = NO_REPLY
        """Length of the last reply's body before compression; the body stays in memory until its last byte is sent."""
        self.active_at_seconds = self.since_seconds = connections.tick_seconds
        self.share = Share(connections.receive_budget)
        self.file_reply: FileReply | None = None
        """The reply that is read from a file while it is sent; None: there is none."""

    # --- transport callbacks --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the new connection; refuse it if too many are open or the server is stopping."""
        self.transport = cast("asyncio.Transport", transport)
        connections = self.connections
        if connections.has_room() and not connections.is_stopping:
            connections.open.add(self)
            return
        connections.turned_away.add(self)
        self.refuse(TOO_MANY_CONNECTIONS)
        if len(connections.turned_away) > TURNED_AWAY_MAX and self.receiving is states.LINGERING:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is lost: nothing more of it is parsed or answered. `release` does the rest in a later turn."""
        connections = self.connections
        connections.open.discard(self)
        connections.turned_away.discard(self)
        self.receiving = states.LOSE[self.receiving]
        if self.ready:
            self.ready = deque()
        if self.request is not None:
            self.request.is_abandoned = True
        connections.lost.add(self.release)

    def release(self) -> None:
        """Release what the lost connection holds, and abandon the request being answered."""
        connections = self.connections
        connections.unread.remove(self)
        connections.long_reads.forget(self)
        self.end_tls = None
        self.reading.close()
        self.share.leave()
        if self.answering is IDLE:
            self.share.answer()
        elif self.request is not None:
            self.request.abandon()

    def data_received(self, data: bytes) -> None:
        """Queue bytes from the client in `incoming.py`."""
        if len(data) < PIECE_BYTES and self.reading.message_bytes < PIECE_BYTES:
            self.connections.incoming.add(self, data)
        elif len(data) < PIECE_BYTES or self.expect_long(len(data)):
            self.connections.incoming.add(self, data, is_long=True)

    def expect_long(self, size_bytes: int) -> bool:
        """Count a long read; pause reading until it is parsed. Without free memory, refuse the client, return False."""
        if not self.share.queue(size_bytes):
            if self.receiving not in states.NOT_PARSING:
                self.refuse(TOO_MUCH_UNFINISHED)
            return False
        self.connections.long_reads.note(self, size_bytes)
        self.listen()
        return True

    def note_end_of_tcp(self, end_tls: Callable[[], None]) -> None:
        """The client has ended TCP, but not TLS, as in `eof_received`. `end_tls` is called when all is answered."""
        self.end_tls = end_tls
        if self.input not in states.HAS_ENDED:
            self.input = states.END[self.input]
            self.connections.incoming.end(self)

    def eof_received(self) -> bool:
        """The client has ended its input: queue the end behind all received bytes, unless TCP below TLS has done so.
        Returns False if the client has ended TLS.

        A TLS transport closes when this method returns. So what the client has sent is answered now, while there is
        time for it (`Incoming.answer_last`); what is left is dropped.
        """
        incoming, is_plain = self.connections.incoming, self.transport.can_write_eof()
        if self.input not in states.HAS_ENDED:
            self.input = states.END[self.input]
            if is_plain:
                incoming.end(self)
            else:
                incoming.add(self, None)
        if is_plain:
            return True
        incoming.answer_last(self)
        if self.receiving not in states.OVER:
            self.close()
        return False

    def pause_writing(self) -> None:
        """The client reads too slowly: start no further request until `resume_writing`."""
        self.sending = states.BLOCK[self.sending]
        self.listen()
        self.connections.unread.add(self)

    def resume_writing(self) -> None:
        """The client reads its replies again: answer further requests."""
        self.sending = states.UNBLOCK[self.sending]
        self.connections.unread.remove(self)
        if self.file_reply is not None:
            self.file_reply.go_on()
        self.go_on()

    def count_unsent_bytes(self) -> int:
        """Return the bytes of memory that written replies take because the client has not read them; 0 for none."""
        below = self.socket_transport
        waiting_bytes = self.transport.get_write_buffer_size() + (0 if below is None else below.get_write_buffer_size())
        return max(waiting_bytes, self.reply_bytes) if waiting_bytes else 0

    # --- input ----------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Parse bytes from the client; `incoming.py` then calls `take` for a request."""
        reading, receiving, is_long = self.reading, self.receiving, len(data) >= PIECE_BYTES
        usual = reading.usual
        if usual is not None and receiving is BETWEEN and not is_long and not reading.rest:
            request = usual.request(data)
            if request is not None:
                self.active_at_seconds = self.connections.tick_seconds
                self.ready.append(request)
                return
        if is_long:
            self.share.unqueue(len(data))
        if receiving in states.NOT_PARSING:
            return
        self.active_at_seconds = self.connections.tick_seconds
        if is_long or reading.rest or receiving is WAITING:
            reading.keep(data)
            self.read_on()
            return
        refusal = reading.feed(data)
        if refusal is not None:
            self.refuse(refusal)
        elif reading.rest:  # the client has offered another protocol
            self.read_on()
        else:
            self.look_at_progress()

    def reach_end(self) -> None:
        """Note the end of input, queued behind all earlier bytes; `incoming.py` calls `take` next."""
        self.input = states.REACH_END[self.input]
        for request in (self.request, *self.ready):
            if request is not None:
                request.is_input_over = True

    def read_on(self) -> None:
        """Parse more of the bytes `reading.rest`, unless a body waits for memory. Refuses the client after a fault."""
        refusal = self.reading.feed_rest() if self.receiving is not WAITING else None
        if refusal is not None:
            self.refuse(refusal)
            return
        self.look_at_progress()
        if self.reading.rest:
            self.listen()

    def look_at_progress(self) -> None:
        """After parsing: leave INSIDE if a request is complete, else check the unfinished one (`look_inside`)."""
        if not self.ready:
            self.look_inside()
            return
        self.reading.message_bytes = 0
        if self.receiving is INSIDE:
            self.change(states.COMPLETE)
            self.share.complete()

    def look_inside(self) -> None:
        """Received bytes end inside a request: start the request's deadline, and limit its size and memory."""
        reading, share = self.reading, self.share
        if self.receiving is BETWEEN:
            self.change(states.BEGIN)
        if reading.is_too_large():
            self.refuse(MALFORMED)
            return
        if reading.stream is not None:
            if reading.stream.is_full and self.receiving is INSIDE:
                self.change(states.WAIT)
                self.listen()
                reading.stream.when_ready(self.let_in)
        elif not share.reserved_bytes:
            if not share.count(reading.message_bytes + len(reading.rest)):
                self.refuse(TOO_MUCH_UNFINISHED)
                return
            size_bytes = reading.large_body_bytes() if self.receiving is INSIDE else 0
            if size_bytes and not share.reserve(size_bytes, self.let_in):
                self.change(states.WAIT)
                self.listen()
        if reading.wants_continue and not reading.rest:
            self.go_on()

    def let_in(self) -> None:
        """Memory for the waiting body has been reserved, or what takes it is ready: restart its request's deadline,
        and read on. A lost connection, whose memory is not released yet, does neither.
        """
        if self.receiving is GONE:
            return
        self.change(states.LET_IN)
        self.active_at_seconds = self.connections.tick_seconds
        self.go_on()

    # --- requests and replies -------------------------------------------------------------------

    def take(self) -> HttpRequest | None:
        """Return the next request to answer; None if none is complete, one is being answered, or replies are unread."""
        ready = self.ready
        if not ready and (self.reading.rest or self.input is states.ENDED):
            self.take_rest()
        if ready and self.answering is IDLE and self.sending is FLOWING:
            self.answering = TAKE[self.answering]
            self.request = request = ready.popleft()
        else:
            request = None
        if self.input is (LISTENING if ready else PAUSED):
            self.listen()
        return request

    def take_rest(self) -> None:
        """Parse more of a long read, or close after the end of input. An error of parsing ends only this connection."""
        if self.receiving is GONE:
            return  # what is left of the long read is not released yet
        try:
            if self.reading.rest:
                self.read_on()
        except Exception as error:  # noqa: BLE001 - any error is internal, and costs only this client its connection
            self.lose(error)
            return
        if not self.ready:
            self.go_on()

    def respond(  # noqa: C901 - the hot path: each kind of reply, without calls
        self, status: int, body: bytes, content_type: bytes | None = None, extra: bytes = b"", used: str = ""
    ) -> None:
        """Answer the request that `take` returned last; may give way if `body` is large. Never raises."""
        request = self.request
        assert request is not None
        connections, transport, size_bytes = self.connections, self.transport, len(body)
        if connections.is_stopping:
            request.keeps_alive = False
        now = connections.wall_time()
        try:
            if size_bytes > PIECE_BYTES:
                look()  # give way if the slice is over: handing 4 MB to the socket takes 5 ms
                if transport.is_closing():
                    body = b""  # the client has left: do not compress a body that nobody reads
            if status == 200 and content_type is None:
                reply = connections.writer.ok(request, body, now)
            else:
                reply = connections.writer.reply(request, status, body, now, content_type, extra)
        except Exception as error:  # noqa: BLE001 - any error is internal, and costs only this client its connection
            self.lose(error)
        self.answering, self.request = ANSWER[self.answering], None
        self.reply_bytes = size_bytes
        if self.share.answering_bytes and not self.ready:
            self.share.answer()
        if transport.is_closing():
            return
        try:
            connections.outgoing.send(transport, reply, now)
            if connections.access_log is not None:
                connections.access_log(request, status, body, self.peer, used)
        except Exception as error:  # noqa: BLE001 - any error is internal, and costs only this client its connection
            self.lose(error)
            return
        if not request.keeps_alive:
            self.close()
        elif self.ready:
            connections.incoming.add(self, b"")
        elif self.input is not LISTENING or self.receiving is not BETWEEN or self.reading.url:
            self.go_on()

    def end_file_reply(self, status: int, size_bytes: int) -> None:
        """The reply that was read from a file has been handed to the transport, or the client has left."""
        request = self.request
        assert request is not None
        self.answering, self.request, self.file_reply = ANSWER[self.answering], None, None
        if not self.ready:
            self.share.answer()
        if self.transport.is_closing():
            return
        if self.connections.access_log is not None:
            self.connections.access_log(request, status, b"", self.peer, "", size_bytes)
        if not request.keeps_alive:
            self.close()
        elif self.ready:
            self.connections.incoming.add(self, b"")
        else:
            self.go_on()

    # --- states and the next step ---------------------------------------------------------------

    def change(self, event: Mapping[Receiving, Receiving]) -> None:
        """Change `receiving` by one of the events of `connection_states.py`; only LOSE occurs elsewhere.

        The time of the change is that of the last sweep. In a state that parses nothing more, the unfinished request is
        dropped and its memory released; once all is over, so are requests that wait. The release may let other
        connections in.
        """
        self.receiving = event[self.receiving]
        self.since_seconds = self.connections.tick_seconds
        if self.receiving in states.NOT_PARSING:
            self.reading.drop()
            self.share.leave()
            if self.receiving in states.OVER:
                self.ready.clear()

    @property
    def peer(self) -> Peer:
        """The client's address."""
        return cast("Peer", self.transport.get_extra_info("peername"))

    @property
    def sweep_seconds(self) -> float:
        """Monotonic time of the last sweep."""
        return self.connections.tick_seconds

    @property
    def is_gone(self) -> bool:
        """True if the connection is closing or lost: a reply would not be sent."""
        return self.transport.is_closing()

    @property
    def has_more(self) -> bool:
        """True if complete requests wait to be answered, or bytes of long reads to be parsed."""
        return bool(self.ready) or self.has_unparsed

    @property
    def has_unparsed(self) -> bool:
        """True if a long read (at least `PIECE_BYTES`), or part of one, waits to be parsed."""
        return bool(self.reading.rest) or self.share.queued_bytes > 0

    def go_on(self) -> None:
        """Do what `next_step` chooses; except for ASK_FOR_TURN, call `listen` too. Called if the choice may change."""
        if self.receiving is BETWEEN and self.reading.url and not self.has_more:
            self.look_inside()  # the unfinished request began behind complete ones, which have all been taken
        reading = self.reading
        step = states.next_step(
            self.receiving,
            self.answering,
            self.sending,
            self.input,
            bool(self.ready),
            bool(reading.rest),
            reading.wants_continue,
        )
        if step is states.ASK_FOR_TURN:
            self.connections.incoming.add(self, b"", is_long=not self.ready)
            return
        if step is states.SEND_REFUSAL:
            self.send_refusal()
        elif step is states.FINISH:
            self.close()
        elif step is states.SEND_CONTINUE:
            self.reading.wants_continue = False
            self.write_now(CONTINUE)
        self.listen()

    def listen(self) -> None:
        """Pause or resume reading from the client as `is_listened_to` says, unless input or connection has ended."""
        if self.receiving in states.OVER or self.transport.is_closing():
            return
        is_held = self.connections.long_reads.holds(self)
        is_wanted = states.is_listened_to(self.receiving, self.sending, bool(self.ready), self.has_unparsed, is_held)
        if is_wanted and self.input is PAUSED:
            self.input = states.RESUME[self.input]
            self.transport.resume_reading()
        elif not is_wanted and self.input is LISTENING:
            self.input = states.PAUSE[self.input]
            self.transport.pause_reading()

    def write_now(self, data: bytes) -> None:
        """Write data other than a reply, after all replies that `outgoing` holds."""
        self.connections.outgoing.flush()
        self.transport.write(data)

    # --- ending ---------------------------------------------------------------------------------

    def refuse(self, refusal: Refusal) -> None:
        """Send `refusal` after all due replies, then close; nothing more is parsed."""
        self.refusal = refusal
        self.change(states.REFUSE)
        if refusal is SPEAKS_TLS:
            self.connections.hint_https()
        self.go_on()

    def send_refusal(self) -> None:
        """Send the refusal; drop input until client or sweep ends the connection. With TLS or ended input, close it."""
        assert self.refusal is not None
        status, body, header_lines = self.refusal
        connections = self.connections
        self.change(states.REFUSAL_SENT)
        self.since_seconds = connections.monotonic()  # exact: a client may linger for two seconds only
        if self.transport.is_closing():
            return
        self.write_now(connections.writer.refusal(status, body, connections.wall_time(), header_lines))
        if connections.access_log is not None:
            connections.access_log(None, status, body, self.peer, "")
        if self.input is not states.ENDED and self.transport.can_write_eof():
            try:
                self.transport.write_eof()
            except OSError:  # a client that is not read has left, which asyncio's own loops notice only here
                self.close()
        else:
            self.close()

    def stop(self) -> None:
        """The server stops: close if no request is unanswered and no long read unparsed; else after the next reply."""
        if self.answering is IDLE and not self.has_more and self.receiving not in states.OVER:
            self.close()

    def drop_request(self) -> None:
        """Drop the request that `take` returned last, without an answer: its client has left."""
        self.answering, self.request = ANSWER[self.answering], None
        if not self.ready:
            self.share.answer()

    def lose(self, error: Exception) -> None:
        """Log an internal error (unless Abandoned), and end this connection only."""
        if not isinstance(error, Abandoned):
            _log.error("a connection met an error of ours; please report it", exc_info=error)
        self.cut_off()

    def close(self) -> None:
        """Close after sending what is written; unanswered requests are dropped."""
        self.change(states.CLOSE)
        self.connections.outgoing.flush()
        self.transport.close()
        if self.end_tls is not None:
            self.end_tls()
            self.end_tls = None

    def cut_off(self) -> None:
        """Close at once: unsent replies and unanswered requests are lost."""
        self.change(states.CUT_OFF)
        self.transport.abort()


# --- new connections ------------------------------------------------------------------------------


class FirstRead(asyncio.BufferedProtocol):
    """asyncio protocol of a new connection until its client has sent bytes: the first read takes at most a piece,
    8 KB; later reads go directly to the `Connection`.

    The event loop's library reads up to 256 KB of each readable connection in one pass: 300 new clients that send
    400 KB each would hold the loop for 80 ms. Reading a piece of each takes 1 ms, and shows which clients send long
    requests (`LongReads`). With TLS, `handshakes.py` receives the first data, and this class is not used.
    """

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
