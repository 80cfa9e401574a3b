"""What do all connections share, and who ends the slow ones? The open ones, what serves them together, and the sweep.

This file must not know how a connection lives (`protocol.py`).
"""

import asyncio
from typing import Protocol

from hashrange.clock import Clock
from hashrange.server.access_log import AccessLog
from hashrange.server.hints import HttpsHint
from hashrange.server.incoming import Handle, Incoming
from hashrange.server.outgoing import Outgoing
from hashrange.server.room import Room
from hashrange.wire.http import ReplyWriter


class Member(Protocol):
    """A connection, as far as this file knows it."""

    transport: asyncio.Transport

    def check_deadline(self, now_seconds: float) -> None:
        """End it if it has passed a deadline."""

    def stop(self) -> None:
        """End it as soon as its replies are out."""


class Connections:
    """All open connections, what they share, and the sweep that ends slow ones."""

    def __init__(
        self, handle: Handle, clock: Clock, connections_max: int = 65_536, access_log: AccessLog | None = None
    ) -> None:
        self.wall_time = clock.wall_time
        self.monotonic = clock.monotonic
        self.writer = ReplyWriter()
        self.outgoing = Outgoing()
        self.room = Room()
        self.open: set[Member] = set()
        self.turned_away: set[Member] = set()
        """Those above the limit that still read why."""
        self.incoming = Incoming(handle, self.outgoing, clock.monotonic, self.open)
        self.connections_max = connections_max
        self.access_log = access_log
        self.hint_https = HttpsHint()
        self.is_stopping = False
        self.tick_seconds = clock.monotonic()
        """Monotonic time of the last sweep: exact enough for deadlines, and free to read."""

    def take_turns(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on, requests are read, and replies written, together at the end of a turn of `loop`."""
        self.incoming.hold(loop)
        self.outgoing.hold(loop)

    def everyone(self) -> tuple[Member, ...]:
        """Every connection that is not closed yet."""
        return (*self.open, *self.turned_away)

    def sweep(self) -> None:
        """End the connections that passed a deadline."""
        self.outgoing.flush()
        now = self.tick_seconds = self.monotonic()
        for connection in self.everyone():
            connection.check_deadline(now)

    def stop(self) -> None:
        """Close every idle connection, and each other one once its replies are out."""
        self.incoming.drain()
        self.is_stopping = True
        self.outgoing.flush()
        for connection in self.everyone():
            connection.stop()
