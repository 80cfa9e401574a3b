"""How much of what clients have sent may wait in memory, of all connections together?

A large body is read once there is room for the whole of it: until then its connection is not listened to, in the order of arrival.
So those that are being read can always be finished, and what waits holds one read of its socket. A body whose length is not
known reserves the largest there may be. Small bodies never wait. What has come of all other unfinished requests is counted,
and beyond a sum that no ordinary load comes near, whoever brings more is refused.
This file must not know sockets or requests.
"""

from collections.abc import Callable

MIB = 1024 * 1024
ROOM_BYTES = 128 * MIB
"""For large bodies, until they are answered: eight of the largest, thousands of usual ones."""
SMALL_BYTES = 64 * 1024
"""A body of this size never waits."""
BEGINNINGS_BYTES_MAX = 128 * MIB
"""Of unfinished requests without room of their own, and of reads that are not parsed yet: 500 of the longest reads."""


class ReceiveBudget:
    """What all connections share. Sizes are in bytes."""

    __slots__ = ("_beginnings_bytes", "_free_bytes", "_waiting")

    def __init__(self, room_bytes: int = ROOM_BYTES) -> None:
        self._free_bytes = room_bytes
        self._waiting: dict[Share, tuple[int, Callable[[], None]]] = {}
        self._beginnings_bytes = 0

    def begin(self, size_bytes: int) -> bool:
        """Count so much more of what has no room of its own; False, and nothing is counted, if that is too much in sum."""
        if size_bytes > 0 and self._beginnings_bytes + size_bytes > BEGINNINGS_BYTES_MAX:
            return False
        self._beginnings_bytes += size_bytes
        return True

    def end(self, size_bytes: int) -> None:
        """So much of it is complete, has room of its own now, or is dropped."""
        self._beginnings_bytes -= size_bytes

    @property
    def is_wanted(self) -> bool:
        """Does anybody wait for room?"""
        return bool(self._waiting)

    def ask(self, share: "Share", size_bytes: int, let_in: Callable[[], None]) -> bool:
        """Take so much, behind all who wait already; False: `share` now waits too, until `let_in` is called."""
        if not self._waiting and size_bytes <= self._free_bytes:
            self._free_bytes -= size_bytes
            return True
        self._waiting[share] = (size_bytes, let_in)
        return False

    def give_back(self, size_bytes: int) -> None:
        """So much is free again: whoever waits goes in."""
        self._free_bytes += size_bytes
        while self._waiting:
            share, (wanted_bytes, let_in) = next(iter(self._waiting.items()))
            if wanted_bytes > self._free_bytes:
                return
            del self._waiting[share]
            self._free_bytes -= wanted_bytes
            share.take(wanted_bytes)
            let_in()

    def forget(self, share: "Share") -> None:
        """If it waits, it does no longer; those behind it may fit."""
        if self._waiting.pop(share, None) is not None:
            self.give_back(0)


class Share:
    """What one connection has of the room: for the body that is being read, and for those that are being answered."""

    __slots__ = ("_counted_bytes", "_room", "answering_bytes", "reserved_bytes")

    def __init__(self, room: ReceiveBudget) -> None:
        self._room = room
        self._counted_bytes = 0
        self.reserved_bytes = 0
        self.answering_bytes = 0

    def count(self, come_bytes: int) -> bool:
        """So much has come of a request that is not complete, and has no room of its own; False if that is too much in sum."""
        if not self._room.begin(come_bytes - self._counted_bytes):
            return False
        self._counted_bytes = come_bytes
        return True

    def reserve(self, size_bytes: int, let_in: Callable[[], None]) -> bool:
        """Room for a body of that size; False: it waits, and `let_in` is called once there is."""
        has_room = self._room.ask(self, size_bytes, let_in)
        if has_room:
            self.take(size_bytes)
        return has_room

    def take(self, size_bytes: int) -> None:
        """The body has that room; what has come of it counts no longer."""
        self.reserved_bytes = size_bytes
        self._uncount()

    def complete(self) -> None:
        """The request is whole: a large body keeps its room until it is answered."""
        self.answering_bytes += self.reserved_bytes
        self.reserved_bytes = 0
        self._uncount()

    def answer(self) -> None:
        """All requests that were whole are answered."""
        freed_bytes, self.answering_bytes = self.answering_bytes, 0
        self._room.give_back(freed_bytes)

    def leave(self) -> None:
        """Nothing more of the request is read."""
        self._uncount()
        self._room.forget(self)
        freed_bytes, self.reserved_bytes = self.reserved_bytes, 0
        if freed_bytes:
            self._room.give_back(freed_bytes)

    def _uncount(self) -> None:
        self._room.end(self._counted_bytes)
        self._counted_bytes = 0
