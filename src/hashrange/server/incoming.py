"""When are requests answered? Those of many connections together, stage by stage, once a turn of the loop.

What one pass over the sockets has brought is parsed, then judged and decoded, then run, then answered: each stage finds its own code
still in the processor's caches from the request before, which saves a tenth to a fifth of all CPU. The only connection of a server
is answered at once. Connections that are new are answered behind those that are known, and those whose last reply was large behind these: a
hundred that each ask for 1 MB take half a second. Last come long reads: a hundred take 50 ms. Figures: docs/adr/0019-turns.md.
"""

from collections import deque
from collections.abc import Callable, Sequence, Sized
from enum import StrEnum, auto
from math import inf
from typing import TYPE_CHECKING, Protocol

from hashrange.server.reading import PIECE_BYTES
from hashrange.wire.http import HttpRequest

if TYPE_CHECKING:
    import asyncio

    from hashrange.server.outgoing import Outgoing

GROUP_MAX = 16
"""So many requests go through the stages together: with more, the first would wait, and their data would crowd the caches."""
TURN_SECONDS_MAX = 0.005
"""After so long the loop has other turns to give; what is left goes on in the next one."""

Respond = Callable[..., None]
"""respond(status, body, content_type=None, extra=b"", used=""): answers the one request that it was handed with, and never raises.

`used` is what the access log tells of tables and units (`access_log.py`)."""
Handle = Callable[[Sequence[tuple[HttpRequest, Respond]]], None]
"""Answers every one of these requests, now or later."""


class LastReply(StrEnum):
    """What a connection was answered last, which tells what its next request is likely to cost."""

    NONE = auto()
    SMALL = auto()
    LARGE = auto()


NONE, SMALL, LARGE = LastReply.NONE, LastReply.SMALL, LastReply.LARGE


class AnsweredConnection(Protocol):
    """A connection, as far as this file knows it."""

    last_reply: LastReply

    @property
    def is_gone(self) -> bool:
        """Nobody waits for its reply any more."""

    @property
    def peer(self) -> Sequence[object] | None:
        """The client's address as the transport tells it, the host first."""

    @property
    def respond(self) -> Respond:
        """Answers the request in work."""

    def receive(self, data: bytes) -> None:
        """Read what the client has sent."""

    def reach_end(self) -> None:
        """The client's end has its turn, behind all that it has sent."""

    def lose(self, error: Exception) -> None:
        """End the connection: it met an error of ours."""

    def take(self) -> HttpRequest | None:
        """The next request, which is then in work; None while another one is, or when none is complete."""

    def drop_request(self) -> None:
        """The request in work is not answered: nobody waits for it any more."""


class Incoming:
    """What the sockets have brought, of all connections, in order."""

    __slots__ = (
        "_call_soon",
        "_dear",
        "_handle",
        "_is_due",
        "_is_turning",
        "_long",
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
        self._waiting: deque[tuple[AnsweredConnection, bytes | None]] = deque()
        self._long: dict[AnsweredConnection, list[bytes | None]] = {}
        """Long reads, begun or not, and what came of their connections behind them. Nobody listens to these until all of it is parsed."""
        self._new: deque[tuple[AnsweredConnection, HttpRequest]] = deque()
        """Requests of new connections, which go behind those of known ones."""
        self._dear: deque[tuple[AnsweredConnection, HttpRequest]] = deque()
        """Requests of connections whose last reply was large, which go behind all others."""
        self._is_turning = False
        self._is_due = False
        """A turn goes on, or will."""

    def hold(self, loop: "asyncio.AbstractEventLoop") -> None:
        """From now on, wait for the end of a turn of `loop`."""
        self._call_soon = loop.call_soon

    def add(self, connection: AnsweredConnection, data: bytes | None, *, is_long: bool = False) -> None:
        """Read `data` and answer what it completes, soon; at once when no other connection is open.

        No data: only look for requests, or, if it `is_long`, go on with a long read. None: the client sends nothing more.
        """
        if is_long or (data and len(data) > PIECE_BYTES) or (self._long and connection in self._long):
            self._long.setdefault(connection, []).append(data)
        else:
            self._waiting.append((connection, data))
        if self._is_due:
            return
        self._is_due = True
        if len(self._open) == 1 or self._call_soon is None:
            self.turn()
        else:
            self._call_soon(self.turn)

    def count_behind(self) -> int:
        """How much waits behind the group that is being answered."""
        return len(self._waiting)

    def drain(self) -> None:
        """Answer everything that has come, now."""
        while self._has_more() and not self._is_turning:
            self.turn()

    def turn(self) -> None:
        """Go round until nothing waits or, on a loop, others must have their turn."""
        call_soon = self._call_soon
        ends_seconds = self._monotonic() + TURN_SECONDS_MAX if call_soon is not None else inf
        self._is_turning = self._is_due = True
        try:
            self._go_round(ends_seconds)
            while self._has_more() and self._monotonic() < ends_seconds:
                self._go_round(ends_seconds)
        finally:
            self._is_turning = False
            self._is_due = self._has_more()
            if call_soon is not None and self._is_due:
                call_soon(self.turn)
        self._outgoing.flush()

    def _has_more(self) -> bool:
        return bool(self._waiting or self._new or self._dear or self._long)

    def _go_round(self, ends_seconds: float) -> None:
        """A group after the other until then; one new request, one dear one, and one long read at least."""
        monotonic = self._monotonic
        waiting = self._waiting
        while waiting:
            self._read_group([waiting.popleft() for _ in range(min(len(waiting), GROUP_MAX))])
            if monotonic() >= ends_seconds:
                break
        for behind in (self._new, self._dear):
            while behind:
                connection, request = behind.popleft()
                if connection.is_gone:
                    connection.drop_request()
                else:
                    self._handle([(request, connection.respond)])
                if monotonic() >= ends_seconds:
                    break
        while self._long:
            connection = next(iter(self._long))
            self._read_group([(connection, data) for data in self._long.pop(connection)])
            if monotonic() >= ends_seconds:
                break

    def _read_group(self, group: list[tuple[AnsweredConnection, bytes | None]]) -> None:
        """Parse what some connections have sent, and have the requests answered of those that are known not to cost much."""
        for connection, data in group:
            if data:
                try:
                    connection.receive(data)
                except Exception as error:  # noqa: BLE001 - the others of the group have their turn all the same
                    connection.lose(error)
            elif data is None:
                connection.reach_end()
        calls: list[tuple[HttpRequest, Respond]] = []
        for connection, _ in group:
            request = connection.take()
            if request is None:
                continue
            last_reply = connection.last_reply
            if last_reply is SMALL:
                calls.append((request, connection.respond))
            else:
                (self._new if last_reply is NONE else self._dear).append((connection, request))
        self._handle(calls)
