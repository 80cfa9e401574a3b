"""How much of what clients send at length is read in one turn? The rest stays in the sockets for later turns.

One pass over the sockets reads up to 256 KB of each that has something: 300 clients that send 400 KB each hold the loop 80 ms, most of it
for fresh pages of memory. So connections that have ever sent a long read are known here. Once one pass has read 2 MB of them, the server
stops listening to all of them, and in each later turn it listens to eight of them again, in the order of their last reads. It listens to
all other connections meanwhile. Of a connection of which nothing is known yet, only a piece is read (`first_read.py`).
This file must not know sockets or requests.
"""

from collections.abc import Callable
from typing import Protocol

TURN_BYTES = 2 * 1024 * 1024
"""So much is read of them in one turn before they are held: some 2 ms."""
RELEASED_TOGETHER = 8
"""So many are listened to again in each later turn; what they send then is 2 MB at most."""


class Sender(Protocol):
    """A connection, as far as this file knows it."""

    is_held: bool
    """Do not listen to the client, whatever else happens."""

    def listen(self) -> None:
        """Listen to it, or do not: `is_held` has changed."""


class LongReads:
    """Connections that have sent long reads, and how much of these one turn has brought."""

    __slots__ = ("_call_soon", "_held", "_is_turn_due", "_listened", "_turn_bytes", "_turn_bytes_max")

    def __init__(self, turn_bytes: int = TURN_BYTES) -> None:
        """Until `take_turns`, nobody is held."""
        self._turn_bytes_max = turn_bytes
        self._call_soon: Callable[[Callable[[], None]], object] | None = None
        self._listened: dict[Sender, None] = {}
        """In the order of their last long reads, the latest last."""
        self._held: dict[Sender, None] = {}
        self._turn_bytes = 0
        self._is_turn_due = False

    def take_turns(self, call_soon: Callable[[Callable[[], None]], object]) -> None:
        """From now on, count by turns of the loop whose `call_soon` this is."""
        self._call_soon = call_soon

    def note(self, sender: Sender, size_bytes: int) -> None:
        """It has sent a long read; this turn may be too full for more of them."""
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
        """Its connection is lost."""
        self._listened.pop(sender, None)
        self._held.pop(sender, None)

    def _call_turn(self) -> None:
        if not self._is_turn_due:
            self._is_turn_due = True
            assert self._call_soon is not None
            self._call_soon(self._turn)

    def _turn(self) -> None:
        """Another turn has begun: some of those that are held are listened to again."""
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
