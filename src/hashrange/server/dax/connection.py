"""One connection of a DAX client: bytes → requests, answered one after the other.
A fault of the bytes ends this connection only.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast

from hashrange.dax.node_caches import LATENCIES_MAX
from hashrange.items.steps import look
from hashrange.long_reads import LONG_READ_BYTES
from hashrange.server.connections import HEAD_SECONDS_MAX
from hashrange.server.dax.authorization import DaxClient
from hashrange.server.dax.begun_bytes import BegunRequests
from hashrange.server.dax.node import DaxAnswer, DaxNode
from hashrange.wire.dax.reading import BadBytes
from hashrange.wire.dax.requests import DaxRequest, Frames, StrangersRequest, framed

SHORT_BYTES = 1024
"""Bytes that are read in up to 0.7 ms, and whose requests are begun at once while the turn's slice of time lasts; all
others in a worker, which gives way.
"""
REQUEST_SECONDS_MAX = 60.0
"""Longest time for a request of a client that has said who it is; others have `HEAD_SECONDS_MAX` to do so."""
LONG_REPLY_BYTES = 256 * 1024
"""A reply above this length is handed over with a look at the clock before."""


Told = TypeVar("Told")
Tell = Callable[["DaxConnection"], Told]
Later = Callable[[Callable[[], None]], None]


class DaxConnection(DaxAnswer, asyncio.Protocol):
    """The protocol of one connection, which takes the reply to the one request that is in work."""

    def __init__(
        self, node: DaxNode, begun: BegunRequests, opened: "Tell[bool]", closed: "Tell[None]", later: Later
    ) -> None:
        """`opened` returns False if there are too many connections. `later`: calls a function in a later turn."""
        self._now = node.service.clock.monotonic
        self._is_slice_over = node.service.workers.is_over
        self._node = node
        self._begun = begun
        self._counted_in = begun.strangers
        self._opened = opened
        self._closed = closed
        self._later = later
        self._frames = Frames(is_trusted=False)
        self._arrived: deque[bytes] = deque()
        """Received bytes that have not been read."""
        self._is_reading = self._is_refused = False
        self._requests: deque[DaxRequest] = deque()
        """Requests that have come and not begun."""
        self._is_waiting = False
        """True while a request is in work."""
        self._is_held = self._is_writing_held = self._is_going_on = False
        self._own_begun_bytes = 0
        self._began_seconds = 0.0
        """Monotonic time at which the request in work began."""
        self._transport: asyncio.Transport | None = None
        self.socket_transport: asyncio.Transport | None = None
        """With TLS, the socket's transport, which is below `_transport`; else None."""
        self._has_ended = self._is_released = False
        self.client = DaxClient()
        self._late_since_seconds: float | None = self._now()
        """Monotonic time since when the client keeps the node waiting, as far as known; None: it does not."""

    @property
    def is_over(self) -> bool:
        """True if nobody is answered any more: this connection has ended, or its node, which then ends all of its
        connections in some turns.
        """
        return self._has_ended or self._node.is_over

    def end_if_late(self, now_seconds: float) -> None:
        """Disconnect a client that has taken too long to say who it is, or to complete a request that it has begun."""
        if self._has_ended:
            return
        is_stranger = self.client.scope is None
        if not is_stranger and not self._own_begun_bytes:
            self._late_since_seconds = None
        elif self._late_since_seconds is None:
            self._late_since_seconds = now_seconds
        elif now_seconds - self._late_since_seconds > (HEAD_SECONDS_MAX if is_stranger else REQUEST_SECONDS_MAX):
            self.abort()

    @property
    def account(self) -> str:
        """The client's account; empty if it has not been authorized."""
        return "" if self.client.scope is None else self.client.scope.account

    @property
    def local_host(self) -> str:
        """The address of this end, in numbers, which the client has reached."""
        name = None if self._transport is None else self._transport.get_extra_info("sockname")
        return "127.0.0.1" if not name else str(name[0])

    # --- what the loop calls --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = cast("asyncio.Transport", transport)
        if not self._opened(self):
            self.abort()

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        if self.is_over or self._is_refused:
            return
        self._node.caches.received_bytes += len(data)
        if len(data) >= LONG_READ_BYTES:
            self._begun.long_reads.note(self, len(data))
        if self._is_reading:
            self._arrived.append(data)
        elif len(data) <= SHORT_BYTES and not self._own_begun_bytes and not self._is_slice_over(self._now()):
            self._read(data)
        else:
            self._is_reading = True
            self._arrived.append(data)
            self._node.run_long(self._read_long)
            self.listen()

    def _read_long(self) -> None:
        """Read what has arrived, in a worker."""
        while self._arrived and not self.is_over:
            self._read(self._arrived.popleft())
        self._is_reading = False
        self.listen()

    def _read(self, data: bytes) -> None:
        """Read requests, and begin them."""
        frames = self._frames
        try:
            requests = frames.feed(data)
        except StrangersRequest:
            self._refuse()
            return
        except BadBytes:
            self.abort()
            return
        if self.is_over:
            return  # the client has left while this gave way
        if self._own_begun_bytes or frames.begun_bytes:
            self._count_begun(frames.begun_bytes)
        if requests:
            if self.client.scope is not None:
                self._late_since_seconds = None
            self._requests += requests
            if len(requests) > 1 and frames.is_trusted:
                self._node.run_long(self._go_on)
            else:
                self._go_on()
            if not frames.is_trusted or self.client.scope is None:
                frames.is_trusted = self.client.scope is not None
                left = frames.take_left()
                if left and not self.is_over:
                    self._read(left)

    def _refuse(self) -> None:
        """Tell a stranger that it must say who it is, and end the connection once it has read that."""
        self._is_refused = True
        self._arrived.clear()
        transport = self._transport
        if transport is None or self.is_over:
            return
        content = self._node.refusal_of(self.client)
        transport.write(framed(content) if self._frames.wants_frames else content)
        if transport.can_write_eof():
            transport.write_eof()  # what still comes is dropped: closing now could take the reply from the client
        else:
            transport.close()

    def eof_received(self) -> bool:
        """Called by the loop, or by TLS, when the client sends nothing more: close the connection in a later turn,
        because thousands may end in one step of the loop. Returns False if the client has ended TLS, which closes now.
        """
        transport = self._transport
        if transport is None or not transport.can_write_eof():
            return False
        self._later(transport.close)
        return True

    def note_end_of_tcp(self, end_tls: Callable[[], None]) -> None:
        """The client has ended TCP, but not TLS: close the connection in a later turn."""
        self._later(partial(self._close_tls, end_tls))

    def _close_tls(self, end_tls: Callable[[], None]) -> None:
        if self._transport is not None:
            self._transport.close()
        end_tls()

    def pause_writing(self) -> None:
        """Called by the loop when the client reads too slowly."""
        self._is_writing_held = True

    def resume_writing(self) -> None:
        """Called by the loop when the client has read."""
        self._is_writing_held = False
        self._node.run_long(self._go_on)

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop."""
        del exc
        if not self._has_ended:
            self._has_ended = True
            self._closed(self)
            self._later(self._release)

    # --- requests and replies -------------------------------------------------------------------

    def _count_begun(self, begun_bytes: int) -> None:
        self._own_begun_bytes = begun_bytes
        counted_in = self._begun.strangers if self.client.scope is None else self._begun.known
        if counted_in is not self._counted_in:
            self._counted_in.count(self, 0)
            self._counted_in = counted_in
        counted_in.count(self, begun_bytes)

    def _go_on(self) -> None:
        """Begin the next request, unless one is in work, or the client reads too slowly;
        read more once all have begun. Gives way.
        """
        if self._is_going_on:
            return
        self._is_going_on = True
        requests = self._requests
        while requests and not self._is_waiting and not self._is_writing_held and not self.is_over:
            request = requests.popleft()
            if request.method == "authorizeConnection":
                self._become(self._node.authorize(request))
            else:
                self._is_waiting = True
                self._began_seconds = self._now()
                if self.client.temporary_key is not None:
                    self._become(self._node.look_again(self.client))
                self._node.begin(self.client, request, self)
            if requests:
                look()
        self._is_going_on = False
        if bool(requests) != self._is_held:
            self.listen()

    def _become(self, client: DaxClient) -> None:
        """The client has said who it is, is not let in any more, or has gone."""
        for one, change in ((self.client, -1), (client, 1)):
            if one.scope is not None:
                self._node.lists.count_client(one.scope.account, change)
        self.client = client

    def listen(self) -> None:
        """Stop receiving while there is something that has not begun, or the long reads of this turn are enough;
        otherwise go on.
        """
        transport = self._transport
        is_held = bool(self._requests) or self._is_reading or self._begun.long_reads.holds(self)
        if transport is not None and not self.is_over and is_held != self._is_held:
            self._is_held = is_held
            if is_held:
                transport.pause_reading()
            else:
                transport.resume_reading()

    def send(self, content: bytes) -> None:
        """Send the reply to the request in work, and begin the next one.
        Does nothing if the reply has been sent already. Gives way before a long reply.
        """
        if len(content) > LONG_REPLY_BYTES:
            look()
        if self._is_waiting and self._transport is not None and not self.is_over:
            self._is_waiting = False
            if self._frames.wants_frames:
                content = framed(content)
            caches = self._node.caches
            caches.sent_bytes += len(content)
            latencies = caches.latencies_seconds
            if latencies is not None:
                latencies.append(self._now() - self._began_seconds)
                if len(latencies) >= LATENCIES_MAX:
                    caches.count_latencies()
            self._transport.write(content)
            if self._requests:
                self._node.run_long(self._go_on)

    def cut(self, content: bytes) -> None:
        """Send only the begin of a reply, and end the connection."""
        if self._transport is not None and not self.is_over:
            self._transport.write(content)
            self._transport.close()
        self._end()

    def abort(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()
        self._end()

    def _end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._closed(self)
        self._release()

    def _release(self) -> None:
        """Release what the connection holds, which has ended, and abandon the request in work."""
        if self._is_released:
            return
        self._is_released = True
        self._begun.long_reads.forget(self)
        self._counted_in.count(self, 0)
        self._become(DaxClient())
        self._own_begun_bytes = 0
        self._requests.clear()
        self.on_over()
