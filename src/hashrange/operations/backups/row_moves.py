"""How does a backup or a restored table get its rows? In slices: the first one by the request that makes it, the
others by a job (`backups/feature.py`). A slice takes some milliseconds.

A slice that fails, or is followed by a kill, is done again: what shows that all is done is written first, and the copy
ends last. Every function raises StorageError and RecordsChanged.

What lasts longer than its rows take to be moved (`operations/lasting.py`) has all of them before it ends.
"""

import msgspec

from hashrange.operations.backups.kept_backups import (
    Backup,
    Restore,
    backups_of,
    record_backup,
    restores_of,
)
from hashrange.operations.lasting import seconds_left
from hashrange.operations.operation import Scope
from hashrange.tables.open_table import OpenTable


async def fill_backup(scope: Scope, backup: Backup) -> float:
    """Move the next rows into a backup, which is AVAILABLE with the last one. Returns the seconds of service time for
    which nothing is to be moved.
    """
    source_id = scope.row_copies.kept()[backup.owner]
    moved = await scope.row_copies.move(backup.owner, source_id)
    if not moved.is_last:
        return 0.0
    if seconds := seconds_left(backup.lasting, scope.clock.service_time()):
        return seconds
    records = backups_of(scope.documents)
    await records.write(records.updated(_as_available, *backup.path))
    await scope.row_copies.end(backup.owner)
    return 0.0


def _as_available(backup: Backup | None) -> Backup | None:
    if backup is None or backup.state != "CREATING":
        return backup
    return msgspec.structs.replace(backup, state="AVAILABLE")


def restored_table(scope: Scope, restore: Restore) -> OpenTable | None:
    """The table of a restore, unless it has all its items, or is gone."""
    table = scope.store.catalog.find(restore.account, restore.region, restore.table_name)
    return table if table is not None and table.schema.is_filling else None


async def fill_table(scope: Scope, restore: Restore) -> float:
    """Move the next rows into a table that is being restored. With the last one it becomes ACTIVE, at once or after the
    time that states of tables take. Returns the seconds of service time for which nothing is to be moved.
    """
    table = restored_table(scope, restore)
    if table is not None:
        moved = await scope.row_copies.move(restore.owner, table)
        if not moved.is_last:
            return 0.0
        if seconds := seconds_left(restore.lasting, scope.clock.service_time()):
            return seconds
        await _complete(scope, restore)
    await scope.row_copies.end(restore.owner)
    await forget_restore(scope, restore)
    return 0.0


async def _complete(scope: Scope, restore: Restore) -> None:
    while (table := restored_table(scope, restore)) is not None:
        schema = table.schema
        assert schema.restored_from is not None
        active_at_seconds = scope.clock.service_time() + scope.state_delay(schema.name, restore.operation)
        restored_from = msgspec.structs.replace(schema.restored_from, is_complete=True)
        new = msgspec.structs.replace(schema, active_at_seconds=active_at_seconds, restored_from=restored_from)
        if await scope.store.catalog.replace(schema, new):
            return


async def forget_restore(scope: Scope, restore: Restore) -> None:
    """Remove the record of a restore that has ended."""
    records = restores_of(scope.documents)
    await records.write(records.removal(*restore.path))


async def remove_backup(scope: Scope, backup: Backup) -> None:
    """Remove a backup that nobody may see any more, with its rows and the copy that fills it. Whoever is killed in
    between does it again.
    """
    records = backups_of(scope.documents)
    if backup.state != "DELETED":
        await record_backup(scope, msgspec.structs.replace(backup, state="DELETED"))
    await scope.row_copies.end(backup.owner)
    await scope.row_copies.drop(backup.owner)
    await records.write(records.removal(*backup.path))
