"""Which rows are moved next? Those of the backups and restores that are in progress, one slice of each in turn.

What is in progress is known from the store's copies, whose owners are the names of documents: the job needs no memory
of earlier slices. Once for each content of the store it first settles what a kill has left.
"""

from collections.abc import Callable

from hashrange.backups.settling import end_copy, settle_backups
from hashrange.clock import Clock
from hashrange.jobs.job import AT_ONCE
from hashrange.limits import SYSTEM_BACKUP_SECONDS
from hashrange.operations.backups.kept_backups import (
    BACKUP_PREFIX,
    RESTORE_PREFIX,
    SYSTEM_SUFFIX,
    backups_of,
    restores_of,
)
from hashrange.operations.backups.row_moves import fill_backup, fill_table, remove_backup
from hashrange.operations.operation import Scope
from hashrange.store.interface import WholeStore


class RowCopying:
    """The job that moves rows, of one store."""

    def __init__(self, store: WholeStore, clock: Clock, scope_of: Callable[[str, str], Scope]) -> None:
        self._store, self._clock, self._scope_of = store, clock, scope_of
        self._copies = store.row_copies
        self._settled_generation: int | None = None
        """Generation of the content in which everything has been settled."""
        self._last = ""
        """The owner whose rows were moved last."""
        self._waiting: dict[str, float] = {}
        """Owner → until when it waits, in service time, although all of its rows have been moved."""

    async def run_slice(self) -> float | None:
        """Move the next rows. Raises StorageError and RecordsChanged."""
        generation = self._store.documents.generation
        if self._settled_generation != generation:
            await settle_backups(self._store, self._scope_of)
            self._settled_generation = generation
            self._waiting.clear()
        owner = self._next_owner()
        if owner is None and not self._waiting and self._has_stuck_restore():
            await settle_backups(self._store, self._scope_of)
            owner = self._next_owner()
        if owner is None:
            return await self._expire()
        self._last = owner
        if seconds := await self._move(owner):
            self._waiting[owner] = self._clock.service_time() + seconds
        return AT_ONCE

    def _next_owner(self) -> str | None:
        """The owner behind the last one, or else the first one; None if nothing is in progress."""
        attended, now_seconds, copies = self._copies.attended, self._clock.service_time(), self._copies.copies()
        self._waiting = {one: due for one, due in self._waiting.items() if due > now_seconds and one in copies}
        owners = sorted(
            one
            for one in copies
            if one.startswith((BACKUP_PREFIX, RESTORE_PREFIX)) and one not in attended and one not in self._waiting
        )
        behind = [one for one in owners if one > self._last]
        return next(iter(behind or owners), None)

    def _has_stuck_restore(self) -> bool:
        """True if there is a restore without a copy, because a commit of its operation has failed."""
        attended = self._copies.attended
        if any(owner.startswith(RESTORE_PREFIX) for owner in attended):
            return False
        pieces = restores_of(self._store.documents).pieces(note_damaged=lambda _, __: None)
        return any(some for some in pieces)

    async def _move(self, owner: str) -> float:
        """Move the next rows of an owner. Returns the seconds of service time for which it then waits."""
        documents = self._store.documents
        if owner.startswith(BACKUP_PREFIX):
            path = owner.removeprefix(BACKUP_PREFIX).split("/")
            backup = backups_of(documents).get(*path)
            if backup is not None and backup.state == "BEGUN":  # a commit of its operation has failed
                await remove_backup(self._scope_of(backup.account, backup.region), backup)
                return AT_ONCE
            if backup is not None and owner in self._copies.kept():
                return await fill_backup(self._scope_of(backup.account, backup.region), backup)
        else:
            path = owner.removeprefix(RESTORE_PREFIX).split("/")
            restore = restores_of(documents).get(*path)
            if restore is not None:
                return await fill_table(self._scope_of(restore.account, restore.region), restore)
        await end_copy(self._store, owner)
        return AT_ONCE

    async def _expire(self) -> float | None:
        """Delete the next backup of a deleted table that has expired. Returns the seconds until one may expire, or has
        waited long enough.
        """
        now_seconds = self._clock.service_time()
        dues = list(self._waiting.values())
        for owner in list(self._copies.kept()):
            if not owner.startswith(BACKUP_PREFIX) or not owner.endswith(SYSTEM_SUFFIX):
                continue
            account, region, backup_id = owner.removeprefix(BACKUP_PREFIX).split("/")
            due_seconds = int(backup_id.partition("-")[0]) / 1000 + SYSTEM_BACKUP_SECONDS
            if due_seconds > now_seconds or owner in self._copies.attended:
                dues.append(due_seconds)
                continue
            backup = backups_of(self._store.documents).get(account, region, backup_id)
            if backup is not None:
                await remove_backup(self._scope_of(account, region), backup)
            else:
                await end_copy(self._store, owner)
            return AT_ONCE
        return max(0.001, min(dues) - now_seconds) if dues else None
