"""How does a connection come by TLS without holding up the others? Records of all handshakes wait in one line.

The signature of a handshake takes 1 to 6 ms of CPU, cannot be left halfway, and costs a client nothing. So until its handshake is done, what a
connection brings stops here, and is handed to TLS one record at a time, a slice of time in each turn of the loop. The next record of
a connection comes a turn later, so that none behind the handshake's last one is handed on before the connection has its transport.
Afterwards TLS reads from the socket directly, as if it had from the beginning. This file must not know HTTP.
"""

import asyncio
import logging
import ssl
from collections import OrderedDict, deque
from typing import cast

from hashrange.server.connection import Connection
from hashrange.server.connections import Connections
from hashrange.server.descriptors import TURNED_AWAY_MAX
from hashrange.server.receive_budget import Share
from hashrange.server.slow_clients import HEAD_SECONDS_MAX
from hashrange.server.tls_sending import TlsProtocol

HANDSHAKE_SECONDS_MAX = HEAD_SECONDS_MAX
"""So long a client may take until its first record is whole, and again from its turn until the handshake is done."""
TLS_END_SECONDS_MAX = 1.0
"""So long a client may take to end TLS in turn; those that hold idle connections never do. Until then a connection with TLS is not among those
that are counted."""
SLICE_SECONDS_MAX = 0.002
"""After so long in a turn, no further record is handed on."""
RECORD_TYPES = frozenset((20, 21, 22, 23))
"""The first byte of a TLS record (RFC 8446, 5.1)."""
RECORD_HEAD_BYTES = 5

_log = logging.getLogger("hashrange.server")


class Handshake(asyncio.Protocol):
    """One connection from its beginning until its TLS handshake is done."""

    __slots__ = (
        "_connection",
        "_handshakes",
        "_has_ended",
        "_received",
        "_share",
        "_task",
        "_tls",
        "_transport",
        "is_in_line",
    )

    def __init__(self, handshakes: "Handshakes") -> None:
        self._handshakes = handshakes
        self._connection: Connection | None = None
        self._transport: asyncio.Transport = cast("asyncio.Transport", None)
        """Of the socket, below TLS."""
        self._tls: asyncio.BufferedProtocol | None = None
        """The library's side of TLS, once it has begun."""
        self._task: asyncio.Task[None] | None = None
        self._received = bytearray()
        self._has_ended = False
        self._share = Share(handshakes.connections.room)
        self.is_in_line = False

    @property
    def has_begun(self) -> bool:
        """Has TLS begun? It does with the first whole record."""
        return self._task is not None

    # --- the transport's calls ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self._transport = cast("asyncio.Transport", transport)
        self._handshakes.admit(self)

    def data_received(self, data: bytes) -> None:
        """Bytes from the client: a whole record waits in line."""
        self._received += data
        if self._share.count(len(self._received)):
            self._look()
        else:
            self.end()

    def eof_received(self) -> bool:
        """The client sends nothing more: that has its turn behind what came before."""
        self._has_ended = True
        if self._task is None:
            return False
        self._look()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone before its handshake was done."""
        self._leave()
        if self._tls is not None:
            self._tls.connection_lost(exc)

    # --- turns ----------------------------------------------------------------------------------

    def take_turn(self) -> None:
        """Begin TLS, or hand one record to it."""
        if self._transport.is_closing() or self._transport.get_protocol() is not self:
            return  # it is gone, or its handshake is done
        if self._task is None:
            self._begin()
            return
        size_bytes = record_bytes(self._received)
        if size_bytes:
            self._hand_on(size_bytes)
            self._look()
        elif self._has_ended:
            self._transport.abort()

    def end(self) -> None:
        """Close at once."""
        self._leave()
        if self._task is None:
            self._transport.abort()
        else:
            self._task.cancel()

    def _look(self) -> None:
        """With a whole record, or the end, wait for a turn, and listen to the client no longer; else listen."""
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
        """Raises OSError when the handshake fails."""
        self._connection = Connection(self._handshakes.connections)
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
        """TLS has made itself the socket's protocol, and is told of the connection, and listens to it, in the next turn."""
        protocol = self._transport.get_protocol()
        if protocol is self:  # it was ended before it began
            return
        self._tls = cast("asyncio.BufferedProtocol", protocol)
        self._transport.set_protocol(self)
        asyncio.get_running_loop().call_soon(self._look)

    def _hand_on(self, size_bytes: int) -> None:
        """Let TLS read so many bytes."""
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
        """The handshake is done: from now on, TLS reads from the socket, first what has come already."""
        assert self._connection is not None
        assert self._tls is not None
        self._leave()
        if not self._has_ended:
            self._transport.pause_reading()  # for protocols with and without buffers are not changed while one of them reads
        self._transport.set_protocol(TlsProtocol(self._tls, self._connection, (transport, self._transport)))
        if not self._has_ended:
            self._transport.resume_reading()
        self._connection.connection_made(transport)
        self._connection = None
        self._hand_on(len(self._received))
        if self._has_ended and not self._tls.eof_received():
            self._transport.close()

    def _finish(self, task: asyncio.Task[None]) -> None:
        """The handshake is done or has failed. Its task is let go of, which holds what failed, and with it this object."""
        self._task = None
        error = None if task.cancelled() else task.exception()
        if error is None and self._connection is None and not task.cancelled():
            return  # it has been handed over
        if error is not None and not isinstance(error, OSError):
            _log.error("a TLS handshake met an error of ours; please report it", exc_info=error)
        if self._connection is not None:
            self._connection.reading.close()  # nobody will tell it that it is lost
        self._transport.abort()

    def _leave(self) -> None:
        self._share.leave()
        self._handshakes.forget(self)


class Handshakes:
    """All connections whose handshake is not done, and the line of those that have brought a record."""

    __slots__ = (
        "_all",
        "_begun",
        "_call_later",
        "_call_soon",
        "_is_turn_due",
        "_new",
        "_silent",
        "connections",
        "context",
    )

    def __init__(self, connections: Connections, context: ssl.SSLContext) -> None:
        self.connections = connections
        self.context = context
        self._all: set[Handshake] = set()
        self._silent: OrderedDict[Handshake, asyncio.TimerHandle] = OrderedDict()
        """Those whose first record is not whole, longest first, and what ends them."""
        self._begun: deque[Handshake] = deque()
        self._new: deque[Handshake] = deque()
        """They begin behind those that have begun: a crowd would else take turns until all of them are late."""
        self._is_turn_due = False

    def take_turns(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on, connections come, on `loop`."""
        self._call_soon = loop.call_soon
        self._call_later = loop.call_later

    def admit(self, handshake: Handshake) -> None:
        """One more. With too many connections of all kinds, the one that has been silent for longest is ended."""
        self._all.add(handshake)
        self._silent[handshake] = self._call_later(HANDSHAKE_SECONDS_MAX, handshake.end)
        connections = self.connections
        count = len(self._all) + len(connections.open) + len(connections.turned_away)
        if count > connections.connections_max + TURNED_AWAY_MAX:
            next(iter(self._silent)).end()

    def is_silent_no_more(self, handshake: Handshake) -> None:
        """Its first record is whole, or it is gone."""
        timer = self._silent.pop(handshake, None)
        if timer is not None:
            timer.cancel()

    def forget(self, handshake: Handshake) -> None:
        """Its handshake is done, or it is gone."""
        self._all.discard(handshake)
        self.is_silent_no_more(handshake)

    def ask_for_turn(self, handshake: Handshake) -> None:
        """It has a whole record, or an end."""
        if handshake.is_in_line:
            return
        handshake.is_in_line = True
        (self._begun if handshake.has_begun else self._new).append(handshake)
        self._ask_loop()

    def stop(self) -> None:
        """End them all."""
        for handshake in list(self._all):
            handshake.end()

    def turn(self) -> None:
        """As many as there is time for; one that has begun, and one that has not, at least."""
        self._is_turn_due = False
        monotonic = self.connections.monotonic
        ends_seconds = monotonic() + SLICE_SECONDS_MAX
        for line in (self._begun, self._new):
            for _ in range(len(line)):  # whoever asks again meanwhile has the next turn
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


def record_bytes(received: bytearray) -> int:
    """Size of the first record, with its head; 0 while it is not whole. What is no record is as large as all that has come, and TLS refuses it."""
    if received and received[0] not in RECORD_TYPES:
        return len(received)
    if len(received) < RECORD_HEAD_BYTES:
        return 0
    size_bytes = RECORD_HEAD_BYTES + int.from_bytes(received[3:RECORD_HEAD_BYTES])
    return size_bytes if len(received) >= size_bytes else 0
