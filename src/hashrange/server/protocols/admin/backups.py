"""`GET backups`: which tables can be restored to which times, which backups are there, and how far are restores?

Times are in seconds of service time. What a request has not finished yet, or is being removed, is left out, as in
DynamoDB's API.
"""

from hashrange.aws_services.operation import Operation
from hashrange.items.steps import spend, walk
from hashrange.operations.backups.kept_backups import Backup, Restore, backups_of, restores_of
from hashrange.server.protocols.admin.endpoint import AdminWire, Nothing, Serving
from hashrange.store.interface import WholeStore
from hashrange.store.row_copies import row_copies_of
from hashrange.tables.schema import Table

SHOWN_STEPS = 10
"""Steps that showing a backup takes."""


async def tell_backups(serving: Serving, request: Nothing) -> dict[str, object]:
    """Return recovery, backups and restores of all accounts and Regions. Gives way. Raises StorageError."""
    store, now_seconds = serving.service.store, serving.service.clock.service_time()
    backups = []
    for backup in list(backups_of(store.documents).by_path().values()):
        spend(SHOWN_STEPS)
        if backup.is_shown(now_seconds):
            backups.append(_shown_backup(store, backup))
    restores = [_shown_restore(store, one) for one in walk(list(restores_of(store.documents).by_path().values()))]
    tables = [one.schema for one in walk(list(store.catalog.all_tables())) if one.schema.recovery is not None]
    recovery = [_shown_recovery(store, table) for table in walk(tables)]
    return {"recovery": recovery, "backups": backups, "restores": [one for one in restores if one is not None]}


def _shown_recovery(store: WholeStore, table: Table) -> dict[str, object]:
    assert table.recovery is not None
    return {
        "account": table.account,
        "region": table.region,
        "table": table.name,
        "days": table.recovery.period_days,
        "earliest_time": row_copies_of(store).restorable_since(table),
    }


def _shown_backup(store: WholeStore, backup: Backup) -> dict[str, object]:
    shown: dict[str, object] = {
        "arn": backup.arn,
        "name": backup.name,
        "type": "SYSTEM" if backup.is_system else "USER",
        "status": backup.state,
        "created_at": backup.created_at_seconds,
        "items": backup.item_count,
        "bytes": backup.size_bytes,
    }
    if backup.state == "CREATING":
        source_id = row_copies_of(store).kept().get(backup.owner)
        shown["items_done"] = 0 if source_id is None else row_copies_of(store).kept_statistics(source_id).item_count
    return shown


def _shown_restore(store: WholeStore, restore: Restore) -> dict[str, object] | None:
    """What is shown of a restore; None if the table has all items, or is gone."""
    table = store.catalog.find(restore.account, restore.region, restore.table_name)
    if table is None or not table.schema.is_filling or table.schema.restored_from is None:
        return None
    source = table.schema.restored_from
    return {
        "account": restore.account,
        "region": restore.region,
        "table": restore.table_name,
        "source": source.backup_arn or source.table_arn,
        "time": source.at_seconds,
        "items": restore.item_count,
        "items_done": row_copies_of(store).kept_statistics(table.source_id).item_count,
    }


ENDPOINTS = (Operation("GET backups", Nothing, tell_backups, AdminWire()),)
