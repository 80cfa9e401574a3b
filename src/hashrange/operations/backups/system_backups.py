"""What remains of a deleted table whose recovery is on? A backup of the service's own, which keeps the table's rows
where they are, so that nothing is copied. It is shown once the table is gone, for 35 days.

The order of commits: record → the rows are kept → the table is deleted → the record is AVAILABLE. A kill in between
leaves the backup exactly if the table has been deleted (`backups/settling.py`).
Source: service behaviour, captures of October 2026.
"""

from collections.abc import Awaitable, Callable

import msgspec

from hashrange.limits import SYSTEM_BACKUP_SECONDS
from hashrange.operations.backups.kept_backups import (
    BACKUP_PREFIX,
    SYSTEM_SUFFIX,
    Backup,
    attending,
    backups_of,
    new_backup,
    record_backup,
)
from hashrange.operations.backups.row_moves import remove_backup
from hashrange.operations.operation import Scope
from hashrange.tables.schema import Table

NAME_END = "$DeletedTableBackup"


async def delete_with_backup(
    scope: Scope, table: Table, delay_seconds: float, delete: Callable[[], Awaitable[bool]]
) -> bool:
    """Call `delete`, which deletes the table in `delay_seconds`, and keep its rows if its recovery is on. Returns what
    `delete` returns: False if the table was not deleted. Raises StorageError.
    """
    if table.recovery is None:
        return await delete()
    made = new_backup(scope, table, table.name + NAME_END, SYSTEM_SUFFIX)
    statistics = (await scope.store.statistics((table.source_id,)))[table.source_id]
    backup = msgspec.structs.replace(
        made,
        item_count=statistics.item_count,
        size_bytes=statistics.size_bytes,
        expires_at_seconds=made.created_at_seconds + SYSTEM_BACKUP_SECONDS,
        shown_from_seconds=made.created_at_seconds + delay_seconds,
    )
    with attending(scope, backup.owner):
        await record_backup(scope, backup)
        if await scope.row_copies.keep(backup.owner, table) is None or not await delete():
            await remove_backup(scope, backup)
            return False
        await make_available(scope, backup)
    return True


async def make_available(scope: Scope, backup: Backup) -> None:
    """Let clients see the backup of a table that has been deleted."""
    await record_backup(scope, msgspec.structs.replace(backup, state="AVAILABLE"))


async def give_up_backups(scope: Scope, table: Table) -> None:
    """Remove the backup of a table that is being deleted, whose recovery is turned off."""
    for owner in list(scope.row_copies.users(table.source_id)):
        if owner.startswith(BACKUP_PREFIX) and owner.endswith(SYSTEM_SUFFIX):
            backup = backups_of(scope.documents).get(*owner.removeprefix(BACKUP_PREFIX).split("/"))
            if backup is not None:
                await remove_backup(scope, backup)
