"""Which rows are moved next? Those of the backups and restores that are in progress, one slice of each in turn.

What is in progress is known from the store's copies, whose owners are the names of documents. The job remembers of a
content of the store whose turn it is (`turns.py`) and what expires next (`expiries.py`); it first settles what a kill
has left.
"""

from collections.abc import Callable

from hashrange.backups.expiries import BackupExpiries
from hashrange.backups.settling import end_copy, settle_backups
from hashrange.backups.turns import Turns
from hashrange.clock import Clock
from hashrange.jobs.job import AT_ONCE
from hashrange.operations.backups.kept_backups import (
    BACKUP_PREFIX,
    RESTORE_PREFIX,
    backups_of,
    restores_of,
)
from hashrange.operations.backups.row_moves import fill_backup, fill_table, remove_backup
from hashrange.operations.operation import Scope
from hashrange.store.interface import WholeStore
from hashrange.store.row_copies import row_copies_of


class RowCopying:
    """The job that moves rows, of one store."""

    def __init__(self, store: WholeStore, clock: Clock, scope_of: Callable[[str, str], Scope]) -> None:
        self._store, self._clock, self._scope_of = store, clock, scope_of
        self._copies = row_copies_of(store)
        self._settled_generation: int | None = None
        """Generation of the content in which everything has been settled."""
        self._turns, self._expiries = Turns(self._copies), BackupExpiries(self._copies)

    async def run_slice(self) -> float | None:
        """Move the next rows. Raises StorageError and RecordsChanged."""
        generation = self._store.documents.generation
        if self._settled_generation != generation:
            await settle_backups(self._store, self._scope_of)
            self._settled_generation = generation
            self._turns, self._expiries = Turns(self._copies), BackupExpiries(self._copies)
        turns = self._turns
        owner = turns.next_owner(self._clock.service_time())
        if owner is None and turns.due_seconds is None and self._has_stuck_restore():
            await settle_backups(self._store, self._scope_of)
            owner = turns.next_owner(self._clock.service_time())
        if owner is None:
            return await self._expire()
        if seconds := await self._move(owner):
            turns.wait(owner, self._clock.service_time() + seconds)
        return AT_ONCE

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
        dues = [] if self._turns.due_seconds is None else [self._turns.due_seconds]
        if (expiry := self._expiries.next_expiry()) is not None:
            due_seconds, owner = expiry
            if due_seconds <= now_seconds and owner not in self._copies.attended:
                await self._remove(owner)
                return AT_ONCE
            dues.append(due_seconds)
        return max(0.001, min(dues) - now_seconds) if dues else None

    async def _remove(self, owner: str) -> None:
        account, region, backup_id = owner.removeprefix(BACKUP_PREFIX).split("/")
        backup = backups_of(self._store.documents).get(account, region, backup_id)
        if backup is not None:
            await remove_backup(self._scope_of(account, region), backup)
        else:
            await end_copy(self._store, owner)
