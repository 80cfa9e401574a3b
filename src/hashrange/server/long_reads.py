"""How much of long requests is read in one turn? About 2 MB over all connections;
the rest stays in the sockets for later turns.

One pass over the sockets reads up to 256 KB of each readable one: 300 clients that send 400 KB each hold the loop
80 ms, mostly to allocate memory. So this file remembers connections that have ever sent a long read (at least
`incoming.PIECE_BYTES`). Once one pass has read 2 MB from them, all of them are held: the server stops reading from
them, and in each later turn releases eight, in the order of their last long reads.
Other connections are read meanwhile. The first read of a new connection takes at most 8 KB (`connection.FirstRead`).
This file must not know sockets or requests.
"""

from collections.abc import Callable
from typing import Protocol

TURN_BYTES = 2 * 1024 * 1024
"""Bytes of long reads in one turn, read in some 2 ms, after which all connections that ever sent long reads are held
(not read)."""
RELEASED_TOGETHER = 8
"""Number of held connections that are read again in each later turn; they bring at most 2 MB."""


class Sender(Protocol):
    """The members of a connection that the limit on long reads needs."""

    is_held: bool
    """True: do not read from the client, whatever the connection's other states."""

    def listen(self) -> None:
        """Pause or resume reading from the client: `is_held` has changed."""


class LongReads:
    """The connections that have sent long reads, held or not, and the bytes of long reads in this turn."""

    __slots__ = ("_call_soon", "_held", "_is_turn_due", "_listened", "_turn_bytes", "_turn_bytes_max")

    def __init__(self, turn_bytes: int = TURN_BYTES) -> None:
        """`turn_bytes`: the limit for one turn. No connection is held before `take_turns` is called."""
        self._turn_bytes_max = turn_bytes
        self._call_soon: Callable[[Callable[[], None]], object] | None = None
        self._listened: dict[Sender, None] = {}
        """Connections that have sent long reads and are not held, in order of the last long read or release."""
        self._held: dict[Sender, None] = {}
        self._turn_bytes = 0
        self._is_turn_due = False

    def take_turns(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """From now on, limit the bytes of long reads in each turn of the event loop; `call_soon` is the loop's."""
        self._call_soon = call_soon

    def note(self, sender: Sender, size_bytes: int) -> None:
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
                each.is_held = True
                each.listen()

    def forget(self, sender: Sender) -> None:
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
            sender.is_held = False
            sender.listen()
        if self._held:
            self._call_turn()
