"""When are requests answered? Those of many connections together, stage by stage, once a turn of the loop.

What one pass over the sockets has brought is parsed, then judged and decoded, then run, then answered: each stage finds its own code
still in the processor's caches from the request before, which saves a tenth to a fifth of all CPU. The only connection of a server
is answered at once. Connections that are new are answered behind those that are known, and those whose last reply was large come last: a
hundred that each ask for 1 MB take half a second. Figures: docs/adr/0019-turns.md.
"""

from collections import deque
from collections.abc import Callable, Sequence, Sized
from typing import TYPE_CHECKING, Protocol

from hashrange.wire.http import Request

if TYPE_CHECKING:
    import asyncio

    from hashrange.server.outgoing import Outgoing

GROUP_MAX = 16
"""So many requests go through the stages together: with more, the first would wait, and their data would crowd the caches."""
TURN_SECONDS_MAX = 0.005
"""After so long the loop has other turns to give; what is left goes on in the next one."""

Respond = Callable[..., None]
"""respond(status, body, content_type=None, extra=b""): answers the one request that it was handed with, and never raises."""
Handle = Callable[[Sequence[tuple[Request, Respond]]], None]
"""Answers every one of these requests, now or later."""


class Source(Protocol):
    """A connection, as far as this file knows it."""

    @property
    def is_dear(self) -> bool | None:
        """Was its last reply large? None before the first one."""

    @property
    def is_gone(self) -> bool:
        """Nobody waits for its reply any more."""

    @property
    def respond(self) -> Respond:
        """Answers the request in work."""

    def receive(self, data: bytes) -> None:
        """Read what the client has sent."""

    def lose(self, error: Exception) -> None:
        """End the connection: it met an error of ours."""

    def take(self) -> Request | None:
        """The next request, which is then in work; None while another one is, or when none is complete."""


class Incoming:
    """What the sockets have brought, of all connections, in order."""

    __slots__ = (
        "_call_soon",
        "_dear",
        "_handle",
        "_is_turning",
        "_monotonic",
        "_new",
        "_open",
        "_outgoing",
        "_waiting",
    )

    def __init__(
        self, handle: Handle, outgoing: "Outgoing", monotonic: Callable[[], float], open_sources: Sized
    ) -> None:
        self._handle = handle
        self._outgoing = outgoing
        self._monotonic = monotonic
        self._open = open_sources
        self._call_soon: Callable[[Callable[[], None]], object] | None = None
        self._waiting: deque[tuple[Source, bytes]] = deque()
        self._new: deque[tuple[Source, Request]] = deque()
        """Requests of new connections, which go behind those of known ones."""
        self._dear: deque[tuple[Source, Request]] = deque()
        """Requests of connections whose last reply was large, which go behind all others."""
        self._is_turning = False

    def hold(self, loop: "asyncio.AbstractEventLoop") -> None:
        """From now on, wait for the end of a turn of `loop`."""
        self._call_soon = loop.call_soon

    def add(self, source: Source, data: bytes) -> None:
        """Read `data` and answer what it completes, soon; at once when no other connection is open. No data: only look for requests."""
        waiting = self._waiting
        waiting.append((source, data))
        if self._is_turning or len(waiting) > 1 or self._new or self._dear:
            return
        if len(self._open) == 1 or self._call_soon is None:
            self.turn()
        else:
            self._call_soon(self.turn)

    def drain(self) -> None:
        """Answer everything that has come, now."""
        while (self._waiting or self._new or self._dear) and not self._is_turning:
            self.turn()

    def turn(self) -> None:
        """A group after the other, until nothing waits or, on a loop, others must have their turn; one new and one dear request at least."""
        waiting, monotonic, call_soon = self._waiting, self._monotonic, self._call_soon
        ends_seconds = monotonic() + TURN_SECONDS_MAX
        self._is_turning = True
        try:
            while waiting:
                self._read_group()
                if call_soon is not None and monotonic() >= ends_seconds:
                    break
            for behind in (self._new, self._dear):
                while behind:
                    source, request = behind.popleft()
                    if not source.is_gone:
                        self._handle([(request, source.respond)])
                    while waiting and call_soon is None:
                        self._read_group()
                    if call_soon is not None and monotonic() >= ends_seconds:
                        break
        finally:
            self._is_turning = False
            if (waiting or self._new or self._dear) and call_soon is not None:
                call_soon(self.turn)
        self._outgoing.flush()

    def _read_group(self) -> None:
        """Parse what some connections have sent, and have the requests answered of those that are known not to cost much."""
        waiting = self._waiting
        group = [waiting.popleft() for _ in range(min(len(waiting), GROUP_MAX))]
        for source, data in group:
            if data:
                try:
                    source.receive(data)
                except Exception as error:  # noqa: BLE001 - the others of the group have their turn all the same
                    source.lose(error)
        calls: list[tuple[Request, Respond]] = []
        for source, _ in group:
            request = source.take()
            if request is None:
                continue
            is_dear = source.is_dear
            if is_dear is False:
                calls.append((request, source.respond))
            else:
                (self._new if is_dear is None else self._dear).append((source, request))
        self._handle(calls)
