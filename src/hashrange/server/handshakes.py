"""How do TLS handshakes not delay other connections? The TLS records of all handshakes wait in queues,
passed on a few at a time.

The signature of a handshake takes 1 to 6 ms of CPU, cannot be interrupted, and costs a client nothing. So until its
handshake is done, a connection's input is kept here, and passed to TLS one record at a time, for a limited time in each
turn of the loop. A connection's next record follows a turn later, so that no record behind the handshake's last one
reaches TLS before the Connection has its transport. After the handshake, TLS reads from the socket directly.

TLS encrypts written bytes at once and passes them to the socket's transport. The TLS transport reports a pause only
when a second reply is written, and leaves the first out of its buffer's size. So `TlsProtocol` then stands between the
socket's transport and TLS, and reports to the Connection that a client does not read replies, or has ended TCP.
This file must not know HTTP.
"""

import asyncio
import logging
import ssl
from collections import OrderedDict, deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from hashrange.server.connection import Connection
from hashrange.server.connections import HEAD_SECONDS_MAX, Connections
from hashrange.server.descriptors import TURNED_AWAY_MAX
from hashrange.server.receive_budget import Share

if TYPE_CHECKING:  # most servers have no DAX clusters, and start time counts
    from hashrange.server.dax.connection import DaxConnection

HANDSHAKE_SECONDS_MAX = HEAD_SECONDS_MAX
"""Longest time from the connection's beginning to the start of TLS, and again from there to the handshake's end."""
TLS_END_SECONDS_MAX = 1.0
"""Longest wait for the client to end TLS after the server has ended it; clients with idle connections never do."""
SLICE_SECONDS_MAX = 0.002
"""Time for handshakes in one turn: after it, no further record is passed to TLS."""
RECORD_TYPES = frozenset((20, 21, 22, 23))
"""Possible first bytes of a TLS record (RFC 8446, 5.1)."""
RECORD_HEAD_BYTES = 5

_log = logging.getLogger("hashrange.server")
NEVER_BYTES = 1 << 30
"""Write-buffer limit that the TLS transport never reaches: otherwise the Connection would get each pause twice."""


class TlsProtocol(asyncio.BufferedProtocol):
    """Protocol of the socket's transport after the handshake. For speed, TLS gets received bytes directly."""

    def __init__(
        self,
        tls: asyncio.BufferedProtocol,
        connection: "Connection | DaxConnection",
        transports: tuple[asyncio.Transport, asyncio.Transport],
    ) -> None:
        """`transports`: the TLS transport, then the socket's transport."""
        transport, socket_transport = transports
        transport.set_write_buffer_limits(high=NEVER_BYTES)
        connection.socket_transport = socket_transport
        self._tls = tls
        self._connection = connection
        self._transport = transport
        self._is_paused = False
        self._is_told = False
        self._socket_transport = socket_transport
        self.get_buffer = tls.get_buffer  # type: ignore[method-assign]
        self.buffer_updated = tls.buffer_updated  # type: ignore[method-assign]
        self.connection_lost = tls.connection_lost  # type: ignore[method-assign]

    def eof_received(self) -> bool | None:
        """The client has ended TCP but not TLS, which then writes nothing more: let the Connection answer first, in its
        turn, and close TLS. TLS is told then (`_end`).
        """
        self._connection.note_end_of_tcp(self._end)
        return self._tls.eof_received() if self._transport.is_closing() else True

    def _end(self) -> None:
        """The Connection has closed TLS: unless TLS still has something to send, close the socket, without waiting for
        the client to end TLS, which it cannot do.
        """
        if not self._transport.get_write_buffer_size() and not self._tls.eof_received():
            self._socket_transport.close()

    def pause_writing(self) -> None:
        """The client reads too slowly: report that to TLS and the Connection."""
        self._is_paused = True
        self._tls.pause_writing()
        self._tell()

    def resume_writing(self) -> None:
        """The client reads again: report that to TLS, and to the Connection unless TLS's pending output makes the
        transport pause again at once.
        """
        self._is_paused = False
        self._tls.resume_writing()
        self._tell()

    def _tell(self) -> None:
        if self._is_paused is self._is_told:
            return
        self._is_told = self._is_paused
        if self._is_paused:
            self._connection.pause_writing()
        else:
            self._connection.resume_writing()


class Handshake(asyncio.Protocol):
    """asyncio protocol of one connection's socket until its TLS handshake is done."""

    __slots__ = (
        "_connection",
        "_handshakes",
        "_has_ended",
        "_make_connection",
        "_received",
        "_share",
        "_task",
        "_tls",
        "_transport",
        "crowd",
        "is_in_line",
    )

    def __init__(self, handshakes: "Handshakes", make_dax: "Callable[[], DaxConnection] | None" = None) -> None:
        """`make_dax` makes the connection with a node of DAX; None: it is one of HTTPS."""
        self._handshakes = handshakes
        self._make_connection = make_dax or partial(Connection, handshakes.connections)
        self.crowd = handshakes.of_https if make_dax is None else handshakes.connections.dax
        """Where it counts until it is done."""
        self._connection: Connection | DaxConnection | None = None
        self._transport: asyncio.Transport = cast("asyncio.Transport", None)
        """The socket's transport, below TLS."""
        self._tls: asyncio.BufferedProtocol | None = None
        """The event loop's protocol for TLS, once TLS has begun."""
        self._task: asyncio.Task[None] | None = None
        self._received = bytearray()
        self._has_ended = False
        self._share = Share(handshakes.connections.receive_budget)
        self.is_in_line = False

    @property
    def has_begun(self) -> bool:
        """True once TLS has begun, with the first complete record."""
        return self._task is not None

    # --- transport callbacks --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the handshake of a new client."""
        self._transport = cast("asyncio.Transport", transport)
        self._handshakes.admit(self)

    def data_received(self, data: bytes) -> None:
        """Keep the client's bytes; queue this handshake once they hold a whole record. Close if no memory is left."""
        self._received += data
        if self._share.count(len(self._received)):
            self._look()
        else:
            self.end()

    def eof_received(self) -> bool:
        """The client has ended its input: `take_turn` closes, behind the records received before."""
        self._has_ended = True
        self._handshakes.ask_for_turn(self)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is lost before its handshake was done. `_release` does the rest in a later turn."""
        self.crowd.discard(self)
        self._handshakes.connections.lost.add(partial(self._release, exc))

    def _release(self, exc: Exception | None) -> None:
        self._leave()
        if self._tls is not None:
            self._tls.connection_lost(exc)

    # --- turns ----------------------------------------------------------------------------------

    def take_turn(self) -> None:
        """Begin TLS, or pass one record to it, or close if no record is left and the client has ended its input."""
        if self._transport.is_closing() or self._transport.get_protocol() is not self:
            return  # the connection is gone, or its handshake is done
        if self._task is None:
            if self._has_ended:
                self._handshakes.connections.lost.add(self._transport.abort)
            else:
                self._begin()
            return
        size_bytes = record_bytes(self._received)
        if size_bytes:
            self._hand_on(size_bytes)
            self._look()
        elif self._has_ended:
            self._handshakes.connections.lost.add(self._transport.abort)

    def end(self) -> None:
        """Close the connection at once."""
        self._leave()
        if self._task is None:
            self._transport.abort()
        else:
            self._task.cancel()

    def _look(self) -> None:
        """With a complete record, or after the end of input, pause reading and queue this handshake; else read on."""
        if self._transport.is_closing():
            return
        if self._has_ended or record_bytes(self._received):
            self._transport.pause_reading()
            self._handshakes.ask_for_turn(self)
        elif not self._transport.is_reading():
            self._transport.resume_reading()

    def _begin(self) -> None:
        self._handshakes.is_silent_no_more(self)
        loop = asyncio.get_running_loop()
        self._task = loop.create_task(self._shake_hands(loop))
        self._task.add_done_callback(self._finish)
        loop.call_soon(self._come_between)

    async def _shake_hands(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do the TLS handshake, then hand the socket over to TLS (`_hand_over`). Raises OSError if it fails."""
        self._connection = self._make_connection()
        transport = await loop.start_tls(
            self._transport,
            self._connection,
            self._handshakes.context,
            server_side=True,
            ssl_handshake_timeout=HANDSHAKE_SECONDS_MAX,
            ssl_shutdown_timeout=TLS_END_SECONDS_MAX,
        )
        if transport is not None and not self._transport.is_closing():
            self._hand_over(transport)

    def _come_between(self) -> None:
        """Become the socket's protocol again, in place of TLS's. In the next turn TLS starts, then `_look` runs."""
        protocol = self._transport.get_protocol()
        if protocol is self:  # the handshake was ended before TLS began
            return
        self._tls = cast("asyncio.BufferedProtocol", protocol)
        self._transport.set_protocol(self)
        asyncio.get_running_loop().call_soon(self._look)

    def _hand_on(self, size_bytes: int) -> None:
        """Pass this many received bytes to TLS."""
        assert self._tls is not None
        received = self._received
        while size_bytes:
            buffer = cast("memoryview", self._tls.get_buffer(size_bytes))
            some_bytes = min(size_bytes, len(buffer))
            buffer[:some_bytes] = received[:some_bytes]
            del received[:some_bytes]
            self._tls.buffer_updated(some_bytes)
            size_bytes -= some_bytes
        self._share.count(len(received))

    def _hand_over(self, transport: asyncio.Transport) -> None:
        """The handshake is done: pass TLS the bytes received already; from now on it reads from the socket."""
        assert self._connection is not None
        assert self._tls is not None
        self._leave()
        if not self._has_ended:
            self._transport.pause_reading()  # while reading, a buffered protocol cannot replace another kind
        protocol = TlsProtocol(self._tls, self._connection, (transport, self._transport))
        self._transport.set_protocol(protocol)
        if not self._has_ended:
            self._transport.resume_reading()
        self._connection.connection_made(transport)
        self._connection = None
        self._hand_on(len(self._received))
        if self._has_ended and not protocol.eof_received():
            self._transport.close()

    def _finish(self, task: asyncio.Task[None]) -> None:
        """Close the connection unless it was handed over. Forget the task: its exception refers to this object."""
        self._task = None
        error = None if task.cancelled() else task.exception()
        if error is None and self._connection is None and not task.cancelled():
            return  # the connection has been handed over
        if error is not None and not isinstance(error, OSError):
            _log.error("a TLS handshake met an error of ours; please report it", exc_info=error)
        if isinstance(self._connection, Connection):
            if isinstance(error, ssl.SSLError) and error.reason == "HTTP_REQUEST":
                self._handshakes.connections.hint_http()
            self._connection.reading.close()  # `Connection.connection_lost`, which would do this, may never be called
        self._transport.abort()

    def _leave(self) -> None:
        self._share.leave()
        self._handshakes.forget(self)


class Handshakes:
    """All handshakes that are not done, and the queues of those that can continue (`ask_for_turn`)."""

    def __init__(self, connections: Connections, context: ssl.SSLContext) -> None:
        self.connections = connections
        self.context = context
        self.of_https: set[object] = set()
        """Handshakes with clients of HTTPS; those with DAX's are in `connections.dax`."""
        self._silent: OrderedDict[Handshake, asyncio.TimerHandle] = OrderedDict()
        """Handshakes whose TLS has not begun, oldest first, each with the timer that ends it."""
        self._begun: deque[Handshake] = deque()
        self._new: deque[Handshake] = deque()
        """Queued handshakes whose TLS has not begun, served after `_begun`, those whose TLS has begun."""
        self._is_turn_due = False

    def take_turns(self, loop: asyncio.AbstractEventLoop) -> None:
        """Use `loop` for turns and timers from now on."""
        self._call_soon = loop.call_soon
        self._call_later = loop.call_later

    def admit(self, handshake: Handshake) -> None:
        """Add a handshake. If there are now too many connections of all kinds, end the oldest one in `_silent`."""
        handshake.crowd.add(handshake)
        self._silent[handshake] = self._call_later(HANDSHAKE_SECONDS_MAX, handshake.end)
        connections = self.connections
        count = len(self.of_https) + len(connections.open) + len(connections.turned_away) + connections.count_dax()
        if count > connections.connections_max + TURNED_AWAY_MAX:
            next(iter(self._silent)).end()

    def is_silent_no_more(self, handshake: Handshake) -> None:
        """Cancel a handshake's timer, because its first record has arrived (its TLS begins) or it has ended."""
        timer = self._silent.pop(handshake, None)
        if timer is not None:
            timer.cancel()

    def forget(self, handshake: Handshake) -> None:
        """Remove a handshake that is done or ended, or whose connection is gone."""
        handshake.crowd.discard(handshake)
        self.is_silent_no_more(handshake)

    def ask_for_turn(self, handshake: Handshake) -> None:
        """Queue a handshake that has a complete record or the end of input."""
        if handshake.is_in_line:
            return
        handshake.is_in_line = True
        (self._begun if handshake.has_begun else self._new).append(handshake)
        self._ask_loop()

    async def stop(self) -> None:
        """The server stops: end all handshakes that are not done, in as many turns as that takes."""
        undone = [one for one in (*self.of_https, *self.connections.dax) if isinstance(one, Handshake)]
        while self.connections.visit(undone, _end_undone):  # noqa: ASYNC110 - each call has a turn of its own
            await asyncio.sleep(0)

    def turn(self) -> None:
        """Serve queued handshakes for `SLICE_SECONDS_MAX`: at least one of `_begun`, and one of `_new`."""
        self._is_turn_due = False
        monotonic = self.connections.monotonic
        ends_seconds = monotonic() + SLICE_SECONDS_MAX
        for line in (self._begun, self._new):
            for _ in range(len(line)):  # a handshake that is queued meanwhile waits for the next turn
                handshake = line.popleft()
                handshake.is_in_line = False
                handshake.take_turn()
                if monotonic() >= ends_seconds:
                    break
        if self._begun or self._new:
            self._ask_loop()

    def _ask_loop(self) -> None:
        if not self._is_turn_due:
            self._is_turn_due = True
            self._call_soon(self.turn)


def _end_undone(handshake: Handshake) -> None:
    """End a handshake, unless it is done meanwhile: then its connection is one of those that are open."""
    if handshake in handshake.crowd:
        handshake.end()


def record_bytes(received: bytearray) -> int:
    """Size in bytes of the first record with its head; 0 while it is incomplete.

    Bytes that begin no record count as one record, which TLS refuses.
    """
    if received and received[0] not in RECORD_TYPES:
        return len(received)
    if len(received) < RECORD_HEAD_BYTES:
        return 0
    size_bytes = RECORD_HEAD_BYTES + int.from_bytes(received[3:RECORD_HEAD_BYTES])
    return size_bytes if len(received) >= size_bytes else 0
