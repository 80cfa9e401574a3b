"""How much received data may wait in memory, over all connections? Large bodies reserve memory; other input is counted.

A large body is read once memory for all of it is reserved. Until then its connection waits, in order of arrival, and is
not read. A body above `HUGE_BYTES`, which only a function's zip may have, may be overtaken: one that waits holds nobody
up. So every body that is being read can be finished, and a waiting connection holds little more than one read of its
socket. A body of unknown length reserves the largest size once more than `SMALL_BYTES` have come. Small bodies never
wait. All other unfinished or unparsed input is counted; above a sum that no ordinary load approaches, more is refused.
This file must not know sockets or requests.
"""

from collections.abc import Callable

MIB = 1024 * 1024
RECEIVE_BYTES_MAX = 128 * MIB
"""Bytes that large bodies may reserve until they are answered: eight of the largest, or 2,000 of the smallest."""
SMALL_BYTES = 64 * 1024
"""Longest body that is small: it reserves no memory, and never waits for any."""
HUGE_BYTES = 16 * MIB
"""Longest body that is not overtaken while it waits: the largest of DynamoDB's.
Of the huge ones, one has room at a time."""
BEGINNINGS_BYTES_MAX = 128 * MIB
"""Limit for the sum of unparsed long reads, and of unfinished requests and TLS handshakes without a reservation: 500 of
the longest reads."""


class ReceiveBudget:
    """Memory for received data, shared by all connections. Sizes are in bytes."""

    __slots__ = ("_beginnings_bytes", "_free_bytes", "_waiting")

    def __init__(self, room_bytes: int = RECEIVE_BYTES_MAX) -> None:
        self._free_bytes = room_bytes
        self._waiting: dict[Share, tuple[int, Callable[[], None]]] = {}
        self._beginnings_bytes = 0

    def begin(self, size_bytes: int) -> bool:
        """Count bytes of unfinished input without reserved memory; False and uncounted above `BEGINNINGS_BYTES_MAX`."""
        if size_bytes > 0 and self._beginnings_bytes + size_bytes > BEGINNINGS_BYTES_MAX:
            return False
        self._beginnings_bytes += size_bytes
        return True

    def end(self, size_bytes: int) -> None:
        """Stop counting bytes that `begin` counted: they are parsed, complete, dropped, or have a reservation."""
        self._beginnings_bytes -= size_bytes

    @property
    def is_wanted(self) -> bool:
        """True if a body waits for memory."""
        return bool(self._waiting)

    def ask(self, share: "Share", size_bytes: int, let_in: Callable[[], None]) -> bool:
        """Reserve memory for `share`. False: `share` waits, and `let_in` is called once its memory is reserved."""
        is_behind = size_bytes > HUGE_BYTES or any(wanted <= HUGE_BYTES for wanted, _ in self._waiting.values())
        if not (self._waiting and is_behind) and size_bytes <= self._free_bytes:
            self._free_bytes -= size_bytes
            return True
        self._waiting[share] = (size_bytes, let_in)
        return False

    def give_back(self, size_bytes: int) -> None:
        """Free reserved memory, and reserve it for the connections that wait for memory, in order of arrival."""
        self._free_bytes += size_bytes
        while (share := self._first_that_fits()) is not None:
            wanted_bytes, let_in = self._waiting.pop(share)
            self._free_bytes -= wanted_bytes
            share.take(wanted_bytes)
            let_in()

    def _first_that_fits(self) -> "Share | None":
        """The connection that is next, if there is memory for its body; huge bodies without room are passed over."""
        for share, (wanted_bytes, _) in self._waiting.items():
            if wanted_bytes <= self._free_bytes:
                return share
            if wanted_bytes <= HUGE_BYTES:
                return None
        return None

    def forget(self, share: "Share") -> None:
        """Remove `share` if it waits; reserve memory for the shares that waited behind it and fit now."""
        if self._waiting.pop(share, None) is not None:
            self.give_back(0)


class Share:
    """Memory of one connection: reserved for the body being read and for bodies being answered, and other input."""

    __slots__ = ("_budget", "_counted_bytes", "answering_bytes", "queued_bytes", "reserved_bytes")

    def __init__(self, budget: ReceiveBudget) -> None:
        self._budget = budget
        self._counted_bytes = 0
        self.reserved_bytes = 0
        self.answering_bytes = 0
        self.queued_bytes = 0
        """Bytes of long reads (at least `incoming.PIECE_BYTES`) that wait in `incoming.py`, still unparsed."""

    def queue(self, size_bytes: int) -> bool:
        """Count a long read that is to be parsed later. False: no memory left."""
        if not self._budget.begin(size_bytes):
            return False
        self.queued_bytes += size_bytes
        return True

    def unqueue(self, size_bytes: int) -> None:
        """Stop counting a long read: it is parsed now, or dropped."""
        self.queued_bytes -= size_bytes
        self._budget.end(size_bytes)

    def count(self, come_bytes: int) -> bool:
        """Count `come_bytes`, received so far of a request or handshake without reservation. False: no memory left."""
        if not self._budget.begin(come_bytes - self._counted_bytes):
            return False
        self._counted_bytes = come_bytes
        return True

    def reserve(self, size_bytes: int, let_in: Callable[[], None]) -> bool:
        """Reserve memory for a body. False: the body waits, and `let_in` is called once its memory is reserved."""
        has_room = self._budget.ask(self, size_bytes, let_in)
        if has_room:
            self.take(size_bytes)
        return has_room

    def take(self, size_bytes: int) -> None:
        """The budget has reserved memory for a body: note its size, and stop counting the body's received bytes."""
        self.reserved_bytes = size_bytes
        self._uncount()

    def complete(self) -> None:
        """The request is complete: a large body keeps its reservation until it is answered."""
        self.answering_bytes += self.reserved_bytes
        self.reserved_bytes = 0
        self._uncount()

    def answer(self) -> None:
        """All complete requests are answered or dropped: free their reservations."""
        freed_bytes, self.answering_bytes = self.answering_bytes, 0
        self._budget.give_back(freed_bytes)

    def leave(self) -> None:
        """The unfinished request is dropped: free its reservation, and no longer wait or count its bytes."""
        self._uncount()
        self._budget.forget(self)
        freed_bytes, self.reserved_bytes = self.reserved_bytes, 0
        if freed_bytes:
            self._budget.give_back(freed_bytes)

    def _uncount(self) -> None:
        self._budget.end(self._counted_bytes)
        self._counted_bytes = 0
