"""Which backup of a deleted table expires next?

Only owners that have begun to keep rows since the last time are looked at; all of them, if the latest of those has
gone.
"""

from heapq import heappop, heappush
from itertools import takewhile

from hashrange.items.steps import walk
from hashrange.limits import SYSTEM_BACKUP_SECONDS
from hashrange.operations.backups.kept_backups import BACKUP_PREFIX, SYSTEM_SUFFIX
from hashrange.store.row_copies import RowCopies


class BackupExpiries:
    """The backups of deleted tables in the order in which they expire, of one content of a store."""

    def __init__(self, copies: RowCopies) -> None:
        self._copies = copies
        self._last_kept = ""
        """The owner that had begun to keep rows last when this was looked at."""
        self._expiring: list[tuple[float, str]] = []
        """A heap: when it expires, in service time, and the owner of each; some may have gone."""

    def next_expiry(self) -> tuple[float, str] | None:
        """When the next one expires, in service time, and its owner; None if there is none. May give way."""
        kept = self._copies.kept()
        last = self._last_kept
        if last in kept:
            new = list(takewhile(lambda owner: owner != last, reversed(kept)))
        else:
            new, self._expiring = list(kept), []
        self._last_kept = next(reversed(kept), "")
        for owner in walk(new):
            if owner.startswith(BACKUP_PREFIX) and owner.endswith(SYSTEM_SUFFIX):
                created_ms = int(owner.rpartition("/")[2].partition("-")[0])
                heappush(self._expiring, (created_ms / 1000 + SYSTEM_BACKUP_SECONDS, owner))
        while self._expiring and self._expiring[0][1] not in kept:
            heappop(self._expiring)
        return self._expiring[0] if self._expiring else None
