"""DeleteTable: delete a table and all its items.

Order of checks: name → table exists → no index is CREATING, UPDATING or DELETING, and it is ACTIVE (a DELETING table is
described, not refused) → it is not protected → not too many tables change now.
A table whose point-in-time recovery is on leaves a backup (`backups/system_backups.py`).

With `table_state_delay_seconds` the table stays DELETING until its deadline, then the next control-plane operation that
finds it purges it; without a delay it is deleted immediately.
"""

from functools import partial

import msgspec

from hashrange.errors import ResourceInUseException, ValidationException
from hashrange.messages import tables as say
from hashrange.operations.backups.system_backups import delete_with_backup
from hashrange.operations.lookup import TableRequest, described_table, require_active
from hashrange.operations.naming import table_operation
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.operations.tables.account_quotas import check_changes
from hashrange.tables.description import describe_deleted, table_sources
from hashrange.tables.schema import Table
from hashrange.tables.states import has_unfinished_index, is_changing, status


async def delete_table(scope: Scope, request: TableRequest) -> Reply:
    """Delete the table, or set its deletion deadline; describe it as DELETING."""
    while True:
        table = await described_table(scope, request.TableName)
        now_seconds = scope.clock.service_time()
        statistics = await scope.store.statistics(table_sources(table))
        reply = {"TableDescription": describe_deleted(table, now_seconds, statistics)}
        if status(table, now_seconds) == "DELETING":
            return reply
        if status(table, now_seconds) == "UPDATING" and table.updating_for == "stream":
            raise ResourceInUseException(say.DELETION_DURING_STREAM)
        is_indexing = has_unfinished_index(table, now_seconds)
        if is_changing(table, now_seconds) and not is_indexing:
            raise ResourceInUseException(say.TABLE_BEING_UPDATED.format(name=table.name))
        if is_indexing and status(table, now_seconds) != "CREATING":
            raise ResourceInUseException(say.TABLE_INDEXES_IN_USE)
        require_active(table, now_seconds)
        if table.is_deletion_protected:
            raise ValidationException(say.TABLE_PROTECTED)
        check_changes(scope)
        delay_seconds = scope.state_delay(table.name, "DeleteTable")
        delete = partial(_delete, scope, table, now_seconds, delay_seconds)
        if await delete_with_backup(scope, table, delay_seconds, delete):
            scope.see_watches(table)
            return reply


async def _delete(scope: Scope, table: Table, now_seconds: float, delay_seconds: float) -> bool:
    """Delete the table, or set its deletion deadline; False if it has changed meanwhile."""
    catalog = scope.store.catalog
    if delay_seconds > 0:
        deleting = msgspec.structs.replace(table, deleted_at_seconds=now_seconds + delay_seconds)
        return await catalog.replace(table, deleting)
    return await catalog.delete(table)


OPERATION = table_operation("DeleteTable", delete_table, writes=True)
