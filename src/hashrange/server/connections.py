"""How slowly may clients send and read, and what else is limited over all connections? The times after which a
slow client is cut off and the sweep that does it, the memory of unread replies, and what all connections share
(`long_reads.py` limits the long reads of one turn).

This file must not know how a connection handles its client (`connection.py`). Source of limits: operations.md 1.1.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Protocol, TypeVar

from hashrange.clock import Clock
from hashrange.long_reads import LongReads
from hashrange.server import connection_states as states
from hashrange.server.access_log import AccessLog
from hashrange.server.incoming import PIECE_BYTES, Handle, Incoming, Waiting
from hashrange.server.lost import Lost
from hashrange.server.misdirected_clients import hint_http, hint_https
from hashrange.server.outgoing import Outgoing
from hashrange.server.reading import PLAIN_LONG_BODIES, LongBodies, Reading
from hashrange.server.receive_budget import ReceiveBudget, Share
from hashrange.server.refusals import TOO_MUCH_UNFINISHED, TOO_SLOW, Refusal
from hashrange.wire.http import ReplyWriter

VISIT_SECONDS_MAX = 0.002
"""Longest time for one call of `sweep` or `stop`: to check 65,536 connections takes 17 ms, to close them 140 ms."""
HTTP_SHARE = 4
"""One connection in this many is for clients of HTTP, whatever the clients of DAX take."""
UNREAD_BYTES_MAX = 256 * 1024 * 1024
"""Limit for the unread replies of all connections: enough for 200 clients that leave a Scan's full page unread."""


Visited = TypeVar("Visited")


class OpenConnection(Protocol):
    """The members of a connection (`connection.Connection`) that this file needs. Times are monotonic seconds."""

    transport: asyncio.Transport
    receiving: states.Receiving
    answering: states.Answering
    sending: states.Sending
    input: states.Input
    reading: Reading
    share: Share
    active_at_seconds: float
    """Time of connecting, of the client's last bytes, or of reserving memory for a waiting body: the latest."""
    since_seconds: float
    """Time at which `receiving` last changed."""

    @property
    def has_more(self) -> bool:
        """True if received data waits to be parsed or answered."""

    def listen(self) -> None:
        """Pause or resume reading from the client: `LongReads.holds` has changed."""

    def count_unsent_bytes(self) -> int:
        """Return the bytes of memory that written replies take because the client has not read them; 0 for none."""

    def refuse(self, refusal: Refusal) -> None:
        """Send `refusal` after all due replies, then close."""

    def stop(self) -> None:
        """Close the connection; if requests or long reads wait, after the next reply."""

    def close(self) -> None:
        """Close after sending what is written."""

    def cut_off(self) -> None:
        """Close at once; unsent replies and unanswered requests are lost."""


class Connections:
    """All open connections, what they share, and the sweep that ends slow ones."""

    def __init__(
        self,
        handle: Handle,
        clock: Clock,
        connections_max: int = 65_536,
        access_log: AccessLog | None = None,
        long_bodies: LongBodies = PLAIN_LONG_BODIES,
        waiting: Waiting | None = None,
    ) -> None:
        """`waiting`: an empty queue for input whose length the front sees; None: nobody does."""
        self.wall_time = clock.wall_time
        self.monotonic = clock.monotonic
        self.writer = ReplyWriter()
        self.receive_budget = ReceiveBudget()
        self.unread = Unread()
        self.long_reads = LongReads()
        self.long_bodies = long_bodies
        self.piece = memoryview(bytearray(PIECE_BYTES))
        """Buffer that all these connections share for their first reads; the bytes read are copied at once."""
        self.open: set[OpenConnection] = set()
        self.outgoing = Outgoing(self.open)
        self.turned_away: set[OpenConnection] = set()
        """Connections refused when they were made, because too many were open or the server is
        stopping, and not lost yet."""
        self.lost = Lost(clock.monotonic)
        """Connections that are lost, and still hold something."""
        self.incoming = Incoming(
            handle, self.outgoing, clock.monotonic, self.open, deque() if waiting is None else waiting
        )
        self.connections_max = connections_max
        self.dax: set[object] = set()
        """Connections with nodes of DAX, and handshakes that precede one."""
        self.dax_sockets = 0
        """Number of sockets at which nodes listen."""
        self.access_log = access_log
        self.hint_https = cache(hint_https)
        """Logs the hint once."""
        self.hint_http = cache(hint_http)
        """Logs the hint once."""
        self.is_stopping = False
        self._is_all_read = False
        """True once all input that was queued when `stop` was first called has been read."""
        self._unswept: list[OpenConnection] = []
        self._unstopped: list[OpenConnection] = []
        self.tick_seconds = clock.monotonic()
        """Monotonic time at which the last sweep began: exact enough for deadlines, and costs nothing to read."""

    def take_turns(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on, process requests of several connections together, and write their replies together, at the
        end of each turn of `loop`.
        """
        self.incoming.hold(loop)
        self.outgoing.hold(loop)
        self.long_reads.take_turns(loop.call_soon)
        self.lost.take_turns(loop.call_soon)

    def has_room(self, *, is_dax: bool = False) -> bool:
        """True if one more client may connect, to HTTP or to a node of DAX, whose clients have a share of all."""
        dax_max = self.connections_max - -(-self.connections_max // HTTP_SHARE)
        has_share = not is_dax or self.count_dax() < dax_max
        return has_share and len(self.open) + min(self.count_dax(), dax_max) < self.connections_max

    def count_dax(self) -> int:
        """Number of descriptors that DAX's clients and nodes take."""
        return len(self.dax) + self.dax_sockets

    def count_held(self) -> int:
        """Number of connections that are open, or lost and not released yet."""
        return len(self.open) + len(self.lost)

    def everyone(self) -> list[OpenConnection]:
        """Return every connection that is not lost yet, those in `turned_away` last."""
        return [*self.open, *self.turned_away]

    def sweep(self) -> bool:
        """End connections that missed a deadline, for `VISIT_SECONDS_MAX`. True: call again for unchecked ones."""
        if not self._unswept:
            self.outgoing.flush()
            self.tick_seconds = self.monotonic()
            self._unswept = self.everyone()
        return self.visit(
            self._unswept, lambda connection: end_if_late(connection, self.tick_seconds, self.receive_budget)
        )

    def stop(self) -> bool:
        """Close connections, busy ones after their next reply, for `VISIT_SECONDS_MAX`. True: call again for others.

        From the first call on, each connection gets one more reply. None is closed before the turns of the loop have
        read all input that was queued at the first call, because a request in it is to be answered.
        """
        if not self.is_stopping:
            self.is_stopping = True
            self.incoming.when_read(self._note_all_read)
        if not self._is_all_read:
            return True
        if not self._unstopped:
            self.outgoing.flush()
            self._unstopped = self.everyone()
        return self.visit(self._unstopped, lambda connection: connection.stop())

    def _note_all_read(self) -> None:
        self._is_all_read = True

    def visit(self, left: list[Visited], visit: Callable[[Visited], None]) -> bool:
        """Remove connections from `left` and call `visit` with each, for `VISIT_SECONDS_MAX`. True: some are left."""
        ends_seconds = self.monotonic() + VISIT_SECONDS_MAX
        while left:
            visit(left.pop())
            if self.monotonic() >= ends_seconds:
                break
        return bool(left)


# --- deadlines ------------------------------------------------------------------------------------

HEAD_SECONDS_MAX = 10.0
"""Longest time from a request's first byte to the end of its head."""
BODY_SECONDS_FREE = 20.0
"""A request with a complete head may take this long, plus its bytes so far divided by `BODY_BYTES_PER_SECOND_MIN`."""
BODY_BYTES_PER_SECOND_MIN = 16 * 1024
IN_THE_WAY_SECONDS_FREE, BODY_BYTES_PER_SECOND_WANTED = 2.0, 1024 * 1024
"""Values that replace `BODY_SECONDS_FREE` and `BODY_BYTES_PER_SECOND_MIN` for a large body while other requests wait
for the memory that the body reserves. The others wait for `MEMORY_WAIT_SECONDS_MAX`, so that no client keeps them from
their turn by sending a little at a time.
"""
STALL_SECONDS_MAX = 2.0
"""Longest time without new bytes of a large body while other bodies wait for the memory that it reserves."""
MEMORY_WAIT_SECONDS_MAX = 5.0
"""Longest time that a large body waits for memory; then its client gets 503 and may try again later."""
DISK_WAIT_SECONDS_MAX = 60.0
"""Longest time that a body which is taken as it comes waits for what takes it, likewise."""
STREAM_SILENT_SECONDS_MAX = 20.0
"""Longest time without new bytes of a body which is taken as it comes."""
IDLE_SECONDS_MAX = 600.0
LEFT_SECONDS_MAX = 10.0
"""If the client has ended its input, and no reply is ready this long after its last bytes, the client is taken to have
left."""
WRITE_SECONDS_MAX = 60.0
"""A client that leaves replies unread is cut off this long after the last bytes received from it. Also the longest time
that closing a connection may take."""
LINGER_SECONDS = 2.0
"""Longest time after a refusal for which input is read and dropped: else the client may never see the refusal."""


# C901: one deadline for each state of a connection
def end_if_late(connection: OpenConnection, now_seconds: float, budget: ReceiveBudget) -> None:  # noqa: C901
    """End `connection` if it has missed the deadline of its states. `budget`: the memory budget of all connections.

    Most states have a limit, one of the constants above.
    The first row that fits the connection's states applies. The time of the last received bytes is `active_at_seconds`.

    | state | counted from | at most | then |
    |---|---|---|---|
    | BLOCKED | the last received bytes | `WRITE_SECONDS_MAX` | cut off |
    | BUSY, not BLOCKED, input ENDING or ENDED | the last received bytes | `LEFT_SECONDS_MAX` | cut off |
    | BUSY, not BLOCKED, otherwise | | no limit: the server is working | |
    | BETWEEN, nothing waits to be parsed or answered | the last received bytes | `IDLE_SECONDS_MAX` | closed |
    | INSIDE | the state's beginning | as `is_request_too_slow` decides | refused |
    | WAITING | the last received bytes | `MEMORY_WAIT_SECONDS_MAX`, `DISK_WAIT_SECONDS_MAX` | refused |
    | REFUSED | | none: replies are due, so the connection is BUSY, BLOCKED or queued in `incoming.py` | |
    | LINGERING | the state's beginning: the refusal was sent | `LINGER_SECONDS` | cut off |
    | CLOSING | the state's beginning | `WRITE_SECONDS_MAX` | cut off |
    """
    receiving = connection.receiving
    silent_seconds = now_seconds - connection.active_at_seconds
    if connection.sending is states.BLOCKED:
        if silent_seconds > WRITE_SECONDS_MAX:
            connection.cut_off()
    elif connection.answering is states.BUSY:
        if connection.input in states.HAS_ENDED and silent_seconds > LEFT_SECONDS_MAX:
            connection.cut_off()
    elif receiving is states.BETWEEN:
        if silent_seconds > IDLE_SECONDS_MAX and not connection.has_more:
            connection.close()
    elif receiving is states.INSIDE:
        if is_request_too_slow(connection, now_seconds, budget):
            connection.refuse(TOO_SLOW)
    elif receiving is states.WAITING:
        is_streamed = connection.reading.stream is not None
        if silent_seconds > (DISK_WAIT_SECONDS_MAX if is_streamed else MEMORY_WAIT_SECONDS_MAX):
            connection.refuse(TOO_MUCH_UNFINISHED)
    elif receiving is states.LINGERING:
        if now_seconds - connection.since_seconds > LINGER_SECONDS:
            connection.cut_off()
    elif receiving is states.CLOSING and now_seconds - connection.since_seconds > WRITE_SECONDS_MAX:
        connection.cut_off()


def is_request_too_slow(connection: OpenConnection, now_seconds: float, budget: ReceiveBudget) -> bool:
    """True if the request being received takes too long; sooner if other bodies wait for the memory it reserved."""
    reading = connection.reading
    silent_seconds = now_seconds - connection.active_at_seconds
    if reading.stream is not None and silent_seconds > STREAM_SILENT_SECONDS_MAX:
        return True
    is_in_the_way = connection.share.reserved_bytes > 0 and budget.is_wanted
    if is_in_the_way and silent_seconds > STALL_SECONDS_MAX:
        return True
    age_seconds, has_head = now_seconds - connection.since_seconds, reading.layout is not None
    return is_too_slow(age_seconds, reading.message_bytes, has_head=has_head, is_in_the_way=is_in_the_way)


def is_too_slow(age_seconds: float, message_bytes: int, *, has_head: bool, is_in_the_way: bool = False) -> bool:
    """True if `age_seconds` is too long for a request of which `message_bytes` are received.

    `is_in_the_way`: other bodies wait for memory, and this request has reserved memory.
    """
    if not has_head:
        return age_seconds > HEAD_SECONDS_MAX
    if is_in_the_way:
        return age_seconds > IN_THE_WAY_SECONDS_FREE + message_bytes / BODY_BYTES_PER_SECOND_WANTED
    return age_seconds > BODY_SECONDS_FREE + message_bytes / BODY_BYTES_PER_SECOND_MIN


# --- unread replies -------------------------------------------------------------------------------


class Unread:
    """Connections whose clients have stopped reading, the earliest first, and the unread bytes of each.

    Above a limit over all connections, those blocked for longest are aborted. One connection holds at most one large
    reply and some small ones, because no request is answered while its client does not read. But there may be thousands
    of connections, and a reply may have 16 MB.
    """

    __slots__ = ("_bytes", "_sizes")

    def __init__(self) -> None:
        self._sizes: dict[OpenConnection, int] = {}
        self._bytes = 0

    def add(self, reader: OpenConnection) -> None:
        """Add a connection whose client has stopped reading. Above the limit, abort the connections added earliest."""
        self.remove(reader)
        size_bytes = self._sizes[reader] = reader.count_unsent_bytes()
        self._bytes += size_bytes
        while self._bytes > UNREAD_BYTES_MAX:
            longest = next(iter(self._sizes))
            self.remove(longest)
            longest.transport.abort()

    def remove(self, reader: OpenConnection) -> None:
        """Remove a connection whose client reads again or is gone."""
        self._bytes -= self._sizes.pop(reader, 0)
