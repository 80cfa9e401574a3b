"""What do all connections share, and how are slow ones ended?
The set of open connections, their shared objects, the sweep.

This file must not know how a connection handles its client (`connection.py`).
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from hashrange.clock import Clock
from hashrange.server.access_log import AccessLog
from hashrange.server.deadlines import Timed, end_if_late
from hashrange.server.incoming import PIECE_BYTES, Handle, Incoming
from hashrange.server.long_reads import LongReads
from hashrange.server.misdirected_clients import HttpsHint
from hashrange.server.outgoing import Outgoing
from hashrange.server.reading import BodyLimit, RefuseBody, refuse_plainly, usual_body_limit
from hashrange.server.receive_budget import ReceiveBudget
from hashrange.server.unread_replies import Unread
from hashrange.wire.http import ReplyWriter

VISIT_SECONDS_MAX = 0.002
"""Longest time for one call of `sweep` or `stop`: to check 65,536 connections takes 17 ms, to close them 140 ms."""


class OpenConnection(Timed, Protocol):
    """The members of a connection that `Connections` needs for the sweep and for stopping."""

    transport: asyncio.Transport

    def stop(self) -> None:
        """Close the connection; if requests or long reads wait, after the next reply."""


class Connections:
    """All open connections, what they share, and the sweep that ends slow ones."""

    def __init__(
        self, handle: Handle, clock: Clock, connections_max: int = 65_536, access_log: AccessLog | None = None
    ) -> None:
        self.wall_time = clock.wall_time
        self.monotonic = clock.monotonic
        self.writer = ReplyWriter()
        self.outgoing = Outgoing()
        self.receive_budget = ReceiveBudget()
        self.unread = Unread()
        self.long_reads = LongReads()
        self.body_limit: BodyLimit = usual_body_limit
        """How long bodies may be; may be replaced before the first connection is made."""
        self.refuse_body: RefuseBody = refuse_plainly
        """How longer bodies are refused; may be replaced before the first connection is made."""
        self.piece = memoryview(bytearray(PIECE_BYTES))
        """Buffer that all these connections share for their first reads; the bytes read are copied at once."""
        self.open: set[OpenConnection] = set()
        self.turned_away: set[OpenConnection] = set()
        """Connections refused when they were made, because too many were open or the server is
        stopping, and not lost yet."""
        self.incoming = Incoming(handle, self.outgoing, clock.monotonic, self.open)
        self.connections_max = connections_max
        self.access_log = access_log
        self.hint_https = HttpsHint()
        self.is_stopping = False
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

    def everyone(self) -> list[OpenConnection]:
        """Return every connection that is not lost yet, those in `turned_away` last."""
        return [*self.open, *self.turned_away]

    def sweep(self) -> bool:
        """End connections that missed a deadline, for `VISIT_SECONDS_MAX`. True: call again for unchecked ones."""
        if not self._unswept:
            self.outgoing.flush()
            self.tick_seconds = self.monotonic()
            self._unswept = self.everyone()
        return self._visit(
            self._unswept, lambda connection: end_if_late(connection, self.tick_seconds, self.receive_budget)
        )

    def stop(self) -> bool:
        """Close connections, busy ones after their next reply, for `VISIT_SECONDS_MAX`. True: call again for others."""
        if not self.is_stopping:
            self.incoming.drain()
            self.is_stopping = True
        if not self._unstopped:
            self.outgoing.flush()
            self._unstopped = self.everyone()
        return self._visit(self._unstopped, lambda connection: connection.stop())

    def _visit(self, left: list[OpenConnection], visit: Callable[[OpenConnection], None]) -> bool:
        """Remove connections from `left` and call `visit` with each, for `VISIT_SECONDS_MAX`. True: some are left."""
        ends_seconds = self.monotonic() + VISIT_SECONDS_MAX
        while left:
            visit(left.pop())
            if self.monotonic() >= ends_seconds:
                break
        return bool(left)
