"""Whose rows are moved next? Copies in progress take turns in the order of their owners' names; who waits takes none.

The time of a turn does not grow with the number of copies, apart from the search in a sorted list.
"""

from bisect import bisect_left, bisect_right
from heapq import heappop, heappush

from hashrange.items.steps import walk
from hashrange.operations.backups.kept_backups import BACKUP_PREFIX, RESTORE_PREFIX
from hashrange.store.row_copies import RowCopies


class Turns:
    """The turns of the copies of backups and restores, of one content of a store."""

    def __init__(self, copies: RowCopies) -> None:
        self._copies = copies
        self._last_number = 0
        """Copies up to this number have been seen."""
        self._owners: list[str] = []
        """Who takes turns, in order; some may have ended."""
        self._last = ""
        """The owner whose turn it was last."""
        self._waiting: list[tuple[float, str]] = []
        """A heap: until when, in service time, and which owner takes no turn; some may have ended."""

    def next_owner(self, now_seconds: float) -> str | None:
        """The owner behind the last one, or else the first one; None if nobody takes a turn. May give way."""
        begun = self._copies.begun_after(self._last_number)
        if begun:
            self._last_number = begun[-1][0]
        for _, owner in walk(begun):
            if owner.startswith((BACKUP_PREFIX, RESTORE_PREFIX)):
                self._add(owner)
        while (due_seconds := self.due_seconds) is not None and due_seconds <= now_seconds:
            self._add(heappop(self._waiting)[1])
        skipped = 0
        place = bisect_right(self._owners, self._last)
        while skipped < len(self._owners):
            place %= len(self._owners)
            owner = self._owners[place]
            if self._copies.copy_of(owner) is None:
                del self._owners[place]
            elif owner in self._copies.attended:
                skipped += 1
                place += 1
            else:
                self._last = owner
                return owner
        return None

    def _add(self, owner: str) -> None:
        place = bisect_left(self._owners, owner)
        if self._owners[place : place + 1] != [owner]:
            self._owners.insert(place, owner)

    def wait(self, owner: str, until_seconds: float) -> None:
        """Let an owner take no turn until then, in service time, because all of its rows have been moved."""
        place = bisect_left(self._owners, owner)
        if self._owners[place : place + 1] == [owner]:
            del self._owners[place]
        heappush(self._waiting, (until_seconds, owner))

    @property
    def due_seconds(self) -> float | None:
        """When the first of those that wait takes turns again, in service time; None if nobody waits."""
        while self._waiting and self._copies.copy_of(self._waiting[0][1]) is None:
            heappop(self._waiting)
        return self._waiting[0][0] if self._waiting else None
