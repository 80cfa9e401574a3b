"""What has a kill left half done of backups and restores? What had begun goes on, and the rest is removed.

| a record | and | becomes |
|---|---|---|
| of a backup, BEGUN | | removed: its client has had no reply |
| of a deleted table, BEGUN | the table is still there | removed |
| of a deleted table, BEGUN | the table is deleted, its rows are kept | AVAILABLE |
| of a backup, DELETED | | removed |
| of a restore | the table is complete, or gone | removed |
| of a restore | the table waits for items, and no copy has begun | begun again; deleted if the source is gone |
| none | a copy, or kept rows | ended, dropped |

Copies with a record go on by themselves (`copying.py`).
"""

import logging
from collections.abc import Callable

from hashrange.items.steps import look
from hashrange.messages.backups import LOG_RECORD_DAMAGED, LOG_RESTORE_ENDED
from hashrange.operations.backups.kept_backups import (
    BACKUP_PREFIX,
    RESTORE_PREFIX,
    Backup,
    Restore,
    backups_of,
    restores_of,
)
from hashrange.operations.backups.row_moves import forget_restore, remove_backup, restored_table
from hashrange.operations.backups.system_backups import make_available
from hashrange.operations.operation import Scope
from hashrange.store.interface import WholeStore
from hashrange.store.records import KeptRecords, RecordT
from hashrange.store.row_copies import row_copies_of

_log = logging.getLogger("hashrange.backups")


async def settle_backups(store: WholeStore, scope_of: Callable[[str, str], Scope]) -> None:
    """Settle everything in a store to whose owners no operation sees at this moment. Gives way. Raises StorageError and
    RecordsChanged.
    """
    backups, restores, copies = backups_of(store.documents), restores_of(store.documents), row_copies_of(store)
    attended = copies.attended
    for backup in _sound(backups):
        look()
        now = backups.get(*backup.path)
        if now is not None and now.owner not in attended:
            await _settle_backup(scope_of(now.account, now.region), now)
    for restore in _sound(restores):
        look()
        still = restores.get(*restore.path)
        if still is not None and still.owner not in attended:
            await _settle_restore(scope_of(still.account, still.region), still)
    for owner in {*copies.owners(), *copies.kept()}:
        look()
        is_ours = owner.startswith((BACKUP_PREFIX, RESTORE_PREFIX))
        if is_ours and owner not in attended and store.documents.get(owner) is None:
            await end_copy(store, owner)


def _sound(records: KeptRecords[RecordT]) -> list[RecordT]:
    """All records; a document that holds none is logged. Gives way."""
    found: list[RecordT] = []
    for some in records.pieces(note_damaged=lambda _, wrong: _log.error(LOG_RECORD_DAMAGED, wrong)):
        found += [record for _, record in some]
        look()
    return found


async def end_copy(store: WholeStore, owner: str) -> None:
    """End the copy of an owner without a record, and keep its rows no longer."""
    copies = row_copies_of(store)
    await copies.end(owner)
    await copies.drop(owner)


async def _settle_backup(scope: Scope, backup: Backup) -> None:
    is_kept = backup.owner in scope.row_copies.kept()
    if backup.state == "BEGUN" and backup.is_system and is_kept and not _is_alive(scope, backup):
        await make_available(scope, backup)
    elif backup.state in ("BEGUN", "DELETED") or not is_kept:
        await remove_backup(scope, backup)


def _is_alive(scope: Scope, backup: Backup) -> bool:
    """True if the table of a backup is there, and is not being deleted."""
    table = scope.store.catalog.find_id(backup.table.table_id)
    return table is not None and table.schema.uuid == backup.table.uuid and table.schema.deleted_at_seconds is None


async def _settle_restore(scope: Scope, restore: Restore) -> None:
    table = restored_table(scope, restore)
    if table is None:
        await scope.row_copies.end(restore.owner)
        await forget_restore(scope, restore)
    elif scope.row_copies.copy_of(restore.owner) is None and not await _begin_again(scope, restore):
        _log.warning(LOG_RESTORE_ENDED, restore.table_name, restore.account, restore.region)
        await scope.store.catalog.delete(table.schema)
        await forget_restore(scope, restore)


async def _begin_again(scope: Scope, restore: Restore) -> bool:
    """Begin the copy of a restore; False if what it is restored from is gone."""
    if restore.source is None:
        source_id = scope.row_copies.kept().get(restore.backup or "")
        if source_id is not None:
            await scope.row_copies.begin_of_kept(restore.owner, source_id)
        return source_id is not None
    since_seconds = scope.row_copies.restorable_since(restore.source)
    if restore.at_seconds is not None and (since_seconds is None or since_seconds > restore.at_seconds):
        return False
    return await scope.row_copies.begin(restore.owner, restore.source, restore.at_seconds) is not None
