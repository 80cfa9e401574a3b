"""When are requests answered? Once per turn of the event loop, the requests of many connections
together, stage by stage.

The input that one pass over the sockets brings is divided into groups of up to 16 reads. A group is parsed, then
authenticated and decoded, then run, then answered. Each stage finds its code in the processor's caches from the request
before, which saves a tenth to a fifth of all CPU. If only one connection is open, it is answered at once. Connections
that have had no reply yet are answered after the others, then connections whose last reply was large (a hundred replies
of 1 MB take half a second), then long reads: those of at least `PIECE_BYTES`, and what follows of a request that is
that long already (a hundred take 50 to 150 ms). Of clients that have ended their input, some are seen to in each turn.
Measurements: docs/adr/0019-turns.md.
"""

from collections import deque
from collections.abc import Callable, Sequence, Sized
from math import inf
from typing import TYPE_CHECKING, Protocol, cast

from hashrange.wire.http import LARGE_BYTES, HttpRequest

if TYPE_CHECKING:
    import asyncio

    from hashrange.server.outgoing import Outgoing

PIECE_BYTES = 8 * 1024
"""Usual size of a piece. A *long read* brings at least as many bytes; they are parsed in pieces, until one completes a
request. Parsing all requests that fit into a piece takes 0.7 ms, all that fit into the longest read 23 ms."""
GROUP_MAX = 16
"""Most inputs (mostly of one read each) that are parsed, then answered, as one group: more would delay the first, and
fill the processor's caches."""
ENDS_MAX = 64
"""Clients that have ended their input and are closed in one turn. In the next, kernel and loop take 25 µs for each."""
TURN_SECONDS_MAX = 0.005
"""Time for input in one turn of the loop, which has other callbacks too; further input waits for the next turn."""

NO_REPLY = -1
"""`AnsweredConnection.reply_bytes` before the first reply."""

Respond = Callable[..., None]
"""respond(status, body, content_type=None, extra=b"", used=""): answers the request that is passed on together with it.

Never raises. `extra`: header lines with line ends. `used`: tables and units for the access log (`access_log.py`)."""
Handle = Callable[[Sequence[tuple[HttpRequest, Respond]]], None]
"""Answers each of the requests passed to it, now or later: those of one group of inputs, or one that was queued."""


class AnsweredConnection(Protocol):
    """The members of a connection that `Incoming` and protocols need to answer its requests."""

    reply_bytes: int
    """Length of the body of the connection's last reply, which predicts what its next request costs; or NO_REPLY."""

    @property
    def is_gone(self) -> bool:
        """True if the connection is closing or lost: a reply would not be sent."""

    @property
    def respond(self) -> Respond:
        """The function that answers the request that `take` returned last."""

    def receive(self, data: bytes) -> None:
        """Parse bytes that the client has sent."""

    def reach_end(self) -> None:
        """Note the end of the client's input; called after `receive` has got all that the client has sent."""

    def lose(self, error: Exception) -> None:
        """End the connection after an internal error."""

    def take(self) -> HttpRequest | None:
        """Return the next request to answer; None if none is complete, one is being answered, or replies are unread."""

    def drop_request(self) -> None:
        """Drop the request that `take` returned last without an answer, because the client has left."""


Waiting = deque[tuple[AnsweredConnection, bytes | None]]
"""Connections, and the bytes of each that wait to be parsed; None: the end of what its client sends."""


class _Mark:
    """An entry of the queue that is no connection: when its turn comes, it calls a function."""

    __slots__ = ("take",)

    def __init__(self, take: Callable[[], None]) -> None:
        """`take` is called in place of `AnsweredConnection.take`, and returns None as well."""
        self.take = take


class Incoming:
    """Queues of the received input of all connections, and of requests that wait."""

    def __init__(
        self,
        handle: Handle,
        outgoing: "Outgoing",
        monotonic: Callable[[], float],
        open_sources: Sized,
        waiting: Waiting,
    ) -> None:
        """`waiting`: an empty queue for input; the front sees how much there is."""
        self._handle = handle
        self._outgoing = outgoing
        self._monotonic = monotonic
        self._open = open_sources
        self._call_soon: Callable[[Callable[[], None]], object] | None = None
        self._waiting = waiting
        self._long: dict[AnsweredConnection, list[bytes | None]] = {}
        """Connections with long reads, and their input that is not parsed yet; their clients are not read meanwhile."""
        self._new: deque[tuple[AnsweredConnection, HttpRequest]] = deque()
        """Requests of connections without a reply so far, answered after those with a small last reply."""
        self._dear: deque[tuple[AnsweredConnection, HttpRequest]] = deque()
        """Requests of connections whose last reply was large, answered after `_new` and before `_long`."""
        self._ended: deque[AnsweredConnection] = deque()
        """Connections whose clients have ended their input, until that end is queued behind the input."""
        self._is_late = False
        """True if a turn has left input, until ends are queued."""
        self._is_turning = False
        self._is_due = False
        """True while `turn` runs or is scheduled."""
        self._last_ends_seconds: float | None = None
        """Until when `answer_last` processes input in this turn; None: it has not been called in this turn."""

    def hold(self, loop: "asyncio.AbstractEventLoop") -> None:
        """From now on, process input at the end of each turn of `loop`."""
        self._call_soon = loop.call_soon

    def add(self, connection: AnsweredConnection, data: bytes | None, *, is_long: bool = False) -> None:
        """Queue `data`, to be parsed and answered at the end of the turn; at once if no other connection is open.

        `is_long`: `data` is a long read, or part of a long request. Empty data: take the next request or, with
        `is_long`, parse more of a long read. None: the client's input has ended.
        """
        if is_long or (self._long and connection in self._long):
            self._long.setdefault(connection, []).append(data)
        else:
            self._waiting.append((connection, data))
        if not self._is_due:
            self._begin_turn()

    def end(self, connection: AnsweredConnection) -> None:
        """The client has ended its input: queue the end behind that, in a turn; at once if no other connection is open.

        If a client with thousands of connections is killed, the loop reports all of their ends in one step. What
        follows from an end takes ten times as long as its report, so each turn does it for some of them.
        """
        self._ended.append(connection)
        if not self._is_due:
            self._begin_turn()

    def _begin_turn(self) -> None:
        """Process what is queued at the end of the turn; at once if no other connection is open."""
        self._is_due = True
        if len(self._open) == 1 or self._call_soon is None:
            self.turn()
        else:
            self._call_soon(self.turn)

    def when_read(self, callback: Callable[[], None]) -> None:
        """Call `callback` once all input that waits for its first turn now has been parsed; now, if none waits.

        Connections whose input waits elsewhere say so by `has_more`.
        """
        if self._waiting:
            self._waiting.append((cast("AnsweredConnection", _Mark(callback)), b""))
        else:
            callback()

    def answer_last(self, connection: AnsweredConnection) -> None:
        """Process what is queued for `connection`, and for no other, because it can send nothing later.

        All connections for which this is called in one turn of the loop have TURN_SECONDS_MAX together. What is left
        then stays queued: the caller closes the connection, so that it is dropped.
        """
        if self._is_turning:
            return
        if self._last_ends_seconds is None:
            self._last_ends_seconds = inf if self._call_soon is None else self._monotonic() + TURN_SECONDS_MAX
            if self._call_soon is not None:
                self._call_soon(self._end_last)
        if self._monotonic() >= self._last_ends_seconds:
            return
        was_due = self._is_due
        self._is_turning = self._is_due = True
        own = self._take_from_queues(connection)
        try:
            while self._monotonic() < self._last_ends_seconds and self._go_on_with(connection, own):
                pass
        finally:
            self._is_turning = False
            self._is_due = was_due
            self._waiting += [(connection, data) for data in own]
            self._outgoing.flush()
        if self._has_input() and not was_due:
            self._is_due = True
            if self._call_soon is None:
                self.turn()
            else:
                self._call_soon(self.turn)

    def _end_last(self) -> None:
        """A new turn has begun: `answer_last` has time again."""
        self._last_ends_seconds = None

    def _take_from_queues(self, connection: AnsweredConnection) -> deque[bytes | None]:
        """Remove the input of `connection` from the queues, and return it; answer its request in `_new` or `_dear`."""
        waiting = self._waiting
        own = deque(data for source, data in waiting if source is connection)
        if own:
            others = [one for one in waiting if one[0] is not connection]
            waiting.clear()
            waiting += others
        for behind in (self._new, self._dear):
            for one in [one for one in behind if one[0] is connection]:
                behind.remove(one)
                behind.append(one)
        return own

    def _go_on_with(self, connection: AnsweredConnection, own: deque[bytes | None]) -> bool:
        """Process the next input in `own`, or the next of what has been queued for `connection` since.
        False: there is none.
        """
        for behind in (self._new, self._dear):
            if behind and behind[-1][0] is connection:
                _, request = behind.pop()
                self._handle([(request, connection.respond)])
                return True
        if self._waiting and self._waiting[-1][0] is connection:
            own.append(self._waiting.pop()[1])
        own.extend(self._long.pop(connection, ()))
        if own:
            self._read_group([(connection, own.popleft())])
            return True
        return False

    def turn(self) -> None:
        """Process queued input until none is left or, with a loop, for `TURN_SECONDS_MAX`; then write held replies."""
        call_soon = self._call_soon
        ends_seconds = self._monotonic() + TURN_SECONDS_MAX if call_soon is not None else inf
        self._is_turning = self._is_due = True
        has_more = call_soon is not None  # also after an error: the next turn looks
        try:
            if self._ended:
                self._queue_ends()
            self._go_round(ends_seconds)
            while (has_more := self._has_input()) and self._monotonic() < ends_seconds:
                self._go_round(ends_seconds)
            if self._ended:
                has_more = True
        finally:
            self._is_turning = False
            self._is_due = has_more
            if call_soon is not None and has_more:
                self._is_late = bool(self._waiting)
                call_soon(self.turn)
            self._outgoing.flush()

    def _has_input(self) -> bool:
        return bool(self._waiting or self._new or self._dear or self._long)

    def _queue_ends(self) -> None:
        """Queue the ends of some clients' input; fewer if the last turn has left input: they delay what comes next."""
        ended = self._ended
        count = len(ended) if self._call_soon is None else GROUP_MAX if self._is_late else ENDS_MAX
        self._is_late = False
        for _ in range(min(count, len(ended))):
            self.add(ended.popleft(), None)

    def _go_round(self, ends_seconds: float) -> None:
        """Process the queues in order until `ends_seconds`; of each at least one group, request or long read."""
        monotonic = self._monotonic
        waiting = self._waiting
        while waiting:
            if len(waiting) > GROUP_MAX:
                group = [waiting.popleft() for _ in range(GROUP_MAX)]
            else:
                group = [*waiting]
                waiting.clear()
            self._read_group(group)
            if monotonic() >= ends_seconds:
                break
        if self._new:
            self._answer_behind(self._new, ends_seconds)
        if self._dear:
            self._answer_behind(self._dear, ends_seconds)
        while self._long:
            connection = next(iter(self._long))
            self._read_group([(connection, data) for data in self._long.pop(connection)])
            if monotonic() >= ends_seconds:
                break

    def _answer_behind(self, behind: deque[tuple[AnsweredConnection, HttpRequest]], ends_seconds: float) -> None:
        """Answer requests of `_new` or `_dear` until `ends_seconds`, at least one."""
        while behind:
            connection, request = behind.popleft()
            if connection.is_gone:
                connection.drop_request()
            else:
                self._handle([(request, connection.respond)])
            if self._monotonic() >= ends_seconds:
                break

    def _read_group(self, group: list[tuple[AnsweredConnection, bytes | None]]) -> None:
        """Parse the input of a group of connections. Answer requests of those whose last reply was small;
        queue the other requests in `_new` or `_dear`.
        """
        calls: list[tuple[HttpRequest, Respond]] = []
        for connection, data in group:
            if data:
                try:
                    connection.receive(data)
                except Exception as error:  # noqa: BLE001 - the other connections of the group must be served
                    connection.lose(error)
            elif data is None:
                connection.reach_end()
            request = connection.take()
            if request is None:
                continue
            reply_bytes = connection.reply_bytes
            if reply_bytes < LARGE_BYTES and reply_bytes != NO_REPLY:
                calls.append((request, connection.respond))
            else:
                (self._new if reply_bytes == NO_REPLY else self._dear).append((connection, request))
        self._handle(calls)
