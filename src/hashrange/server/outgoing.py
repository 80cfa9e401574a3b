"""When are replies written? A few together, at the end of a turn of the loop or earlier.

A client that waits for its reply sleeps, and a write to its socket wakes it, which costs the server's CPU some 8 µs on
a virtual machine. Replies written right after one another find the client awake. So replies are held until the turn
ends, until `HELD_MAX` are held, or until a further reply comes at least 0.5 ms after the first.
Measurements: docs/adr/0017-held-replies.md.
"""

import asyncio
from collections.abc import Callable, Sized

from hashrange.wire.http import HttpReply

HELD_MAX = 16
HELD_SECONDS_MAX = 0.0005


class Outgoing:
    """Replies of all connections, in order, that wait to be written together at the end of the turn.

    The commits that these replies depend on are already durable where necessary: `service.py` has waited for them.
    """

    __slots__ = ("_call_soon", "_held", "_open", "_since_seconds")

    def __init__(self, open_sources: Sized) -> None:
        """`open_sources`: the open connections."""
        self._open = open_sources
        self._call_soon: Callable[[Callable[[], None]], object] | None = None
        self._held: list[tuple[asyncio.Transport, bytes]] = []
        self._since_seconds = 0.0

    def hold(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on, hold replies until the end of each turn of `loop`."""
        self._call_soon = loop.call_soon

    def send(self, transport: asyncio.Transport, reply: HttpReply, now_seconds: float) -> None:
        """Write `reply` by the end of the turn, after earlier replies; at once if its body is large.

        If no earlier reply is held, and only one connection is open, it is written at once.
        """
        held = self._held
        if isinstance(reply, tuple):
            self.flush()
            for part in reply:
                transport.write(part)
            return
        if not held:
            if len(self._open) == 1 or self._call_soon is None:
                transport.write(reply)
                return
            self._since_seconds = now_seconds
            self._call_soon(self.flush)
        held.append((transport, reply))
        if len(held) >= HELD_MAX or abs(now_seconds - self._since_seconds) >= HELD_SECONDS_MAX:
            self.flush()

    def flush(self) -> None:
        """Write all held replies now, except those of connections that are closing."""
        held = self._held
        if not held:
            return
        self._held = []
        for transport, reply in held:
            if not transport.is_closing():
                transport.write(reply)
