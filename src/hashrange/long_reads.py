"""How much is read from many sockets in one turn of the event loop? About 2 MB of long reads; the rest stays in the
sockets.

The clients of the server share one `LongReads`; the processes of functions and the endpoints that requests are sent to
share another one (`long_reads_of`).
"""

import asyncio
from collections.abc import Callable
from typing import Protocol
from weakref import WeakValueDictionary

LONG_READ_BYTES = 8 * 1024
"""A read of at least as many bytes is long. A connection that may not have sent one yet should read no more at once."""
TURN_BYTES = 2 * 1024 * 1024
"""Bytes of long reads in one turn, read in some 2 ms, after which all connections that ever sent long reads are held
(not read)."""
RELEASED_TOGETHER = 8
"""Number of held connections that are read again in each later turn; they bring at most 2 MB."""


class LongSender(Protocol):
    """A connection whose reads may be long. It is hashed by its identity."""

    def listen(self) -> None:
        """Pause or resume reading: `LongReads.holds` has changed."""


class LongReads:
    """Which connections are held, because together they have sent enough in this turn.

    One pass over the sockets reads up to 256 KB of each readable one, and the library of some event loops up to 32
    times as much: 300 clients that send 400 KB each hold the loop for 80 ms, mostly to allocate memory. So this object
    remembers connections that have ever sent a long read. Once one pass has read 2 MB from them, all of them are held:
    nothing more is read from them, and each later turn releases eight, in the order of their last long reads.
    Other connections are read meanwhile. The first read of a new connection, or of a new message, takes at most 8 KB.
    """

    __slots__ = ("__weakref__", "_call_soon", "_held", "_is_turn_due", "_listened", "_turn_bytes", "_turn_bytes_max")

    def __init__(self, turn_bytes: int = TURN_BYTES) -> None:
        """`turn_bytes`: the limit for one turn. No connection is held before `take_turns` is called."""
        self._turn_bytes_max = turn_bytes
        self._call_soon: Callable[[Callable[[], None]], object] | None = None
        self._listened: dict[LongSender, None] = {}
        """Connections that have sent long reads and are not held, in order of the last long read or release."""
        self._held: dict[LongSender, None] = {}
        self._turn_bytes = 0
        self._is_turn_due = False

    def take_turns(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """From now on, limit the bytes of long reads in each turn of the event loop; `call_soon` is the loop's."""
        self._call_soon = call_soon

    def note(self, sender: LongSender, size_bytes: int) -> None:
        """Count a long read of `sender`. If this turn's long reads reach the limit, read nothing more from all
        connections that have sent a long read, until `_turn` releases them.
        """
        if self._call_soon is None:
            return
        self._turn_bytes += size_bytes
        if sender not in self._held:
            self._listened.pop(sender, None)
            self._listened[sender] = None
        self._call_turn()
        if self._turn_bytes >= self._turn_bytes_max:
            held, self._listened = self._listened, {}
            self._held.update(held)
            for each in held:
                each.listen()

    def holds(self, sender: LongSender) -> bool:
        """True while nothing is read from this sender, whatever its states."""
        return sender in self._held

    def forget(self, sender: LongSender) -> None:
        """Remove a sender whose connection is lost."""
        self._listened.pop(sender, None)
        self._held.pop(sender, None)

    def _call_turn(self) -> None:
        if not self._is_turn_due:
            self._is_turn_due = True
            assert self._call_soon is not None
            self._call_soon(self._turn)

    def _turn(self) -> None:
        """A new turn has begun: count from 0, and read from `RELEASED_TOGETHER` of the held connections again."""
        self._is_turn_due = False
        self._turn_bytes = 0
        for _ in range(min(RELEASED_TOGETHER, len(self._held))):
            sender = next(iter(self._held))
            del self._held[sender]
            self._listened[sender] = None
            sender.listen()
        if self._held:
            self._call_turn()


_of_loops = WeakValueDictionary[asyncio.AbstractEventLoop, LongReads]()


def long_reads_of(loop: asyncio.AbstractEventLoop) -> LongReads:
    """What connections to others than clients share on this loop; it goes with the last one that keeps it."""
    long_reads = _of_loops.get(loop)
    if long_reads is None:
        long_reads = _of_loops[loop] = LongReads()
        long_reads.take_turns(loop.call_soon)
    return long_reads
