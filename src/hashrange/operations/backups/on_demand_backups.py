"""The operations on backups: CreateBackup, DescribeBackup, ListBackups, DeleteBackup.

A backup has the items of one moment, the commit with which its copy begins. Small tables are copied by the request
itself, so that the backup is AVAILABLE in the next call; others by a job, while the table is written.
Source: service behaviour, captures of October 2026.
"""

from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import BackupInUseException, TableNotFoundException, ValidationException
from hashrange.items.steps import spend, walk
from hashrange.limits import LISTED_MAX
from hashrange.messages import backups as say
from hashrange.operations.backups.continuous_backups import backed_up_table, require_backups
from hashrange.operations.backups.described_backups import backup_details, backup_summary, describe_backup_of
from hashrange.operations.backups.kept_backups import (
    Backup,
    attending,
    backups_of,
    find_backup,
    new_backup,
    read_backup_arn,
    record_backup,
    recorded_table,
)
from hashrange.operations.backups.row_moves import fill_backup, remove_backup
from hashrange.operations.lasting import lasting_since_now
from hashrange.operations.lookup import TableRequest, table_name
from hashrange.operations.naming import GIVEN_TABLE_NAME_FIRST, TABLE_NAME_FIRST, by_backup_arn, table_operation
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.operations.shapes import TableName as NameOrArn
from hashrange.tables.schema import Table
from hashrange.tables.states import is_being_restored
from hashrange.wire.rules import ConstraintWording, ConstraintWordings, RequestRules

BackupArn = Annotated[str, Meta(min_length=37, max_length=1024)]
BACKUP_ARN_WORDINGS: ConstraintWordings = {
    ("backupArn", "min_length"): ConstraintWording(say.INVALID_BACKUP_ARN, is_bare=True),
    ("backupArn", "max_length"): ConstraintWording(say.INVALID_BACKUP_ARN, is_bare=True),
}
"""A text that is too short or too long for an ARN has a message of its own."""
BACKUP_STEPS = 8
"""Steps that the summary of a backup takes."""


# --- CreateBackup ---------------------------------------------------------------------------------


class CreateBackupRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, and a name for the backup, which others may have too."""

    BackupName: Annotated[str, Meta(min_length=3, max_length=255, pattern=f"^{NAME_PATTERN}$")]


async def create_backup(scope: Scope, request: CreateBackupRequest) -> Reply:
    """CreateBackup: keep the items and the description of a table as they are now.

    Order of checks: names, member constraints → table exists, and is neither CREATING nor DELETING (else
    TableNotFoundException) → backups of it are possible by now.

    The order of commits: record → the copy begins → its rows are kept → the record is CREATING. Returns the backup as
    CREATING, whatever it is by then.
    """
    table = await backed_up_table(scope, request.TableName)
    if table.deleted_at_seconds is not None:
        raise _no_table(table)
    require_backups(scope, table)
    backup = new_backup(scope, table, request.BackupName)
    with attending(scope, backup.owner):
        await record_backup(scope, backup)
        begun = await scope.row_copies.begin(backup.owner, table)
        if begun is None:
            await remove_backup(scope, backup)
            raise _no_table(table)
        await scope.row_copies.keep(backup.owner, None)
        backup = msgspec.structs.replace(
            backup,
            table=recorded_table(begun.table),
            state="CREATING",
            item_count=begun.statistics.item_count,
            size_bytes=begun.statistics.size_bytes,
            lasting=lasting_since_now(scope, table.name, "CreateBackup"),
        )
        await record_backup(scope, backup)
        await fill_backup(scope, backup)
    return {"BackupDetails": backup_details(backup)}


def _no_table(table: Table) -> TableNotFoundException:
    return TableNotFoundException(say.TABLE_NOT_FOUND_BY_BACKUPS.format(name=table.name))


# --- DescribeBackup, DeleteBackup -----------------------------------------------------------------


class BackupRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The backup."""

    BackupArn: BackupArn


async def describe_backup(scope: Scope, request: BackupRequest) -> Reply:
    """DescribeBackup: return a backup, and what it has recorded of its table.

    Order of checks: the ARN is that of a backup → it is of this account → the backup exists.
    """
    backup = find_backup(scope, request.BackupArn)
    return {"BackupDescription": describe_backup_of(backup, request.BackupArn)}


async def delete_backup(scope: Scope, request: BackupRequest) -> Reply:
    """DeleteBackup: delete a backup with its items.

    Order of checks: those of DescribeBackup → it is no backup of the service's own → no table is being restored from it
    → it is not CREATING.
    """
    backup, arn = find_backup(scope, request.BackupArn), request.BackupArn
    if backup.expires_at_seconds is not None:
        date = datetime.fromtimestamp(backup.expires_at_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        raise ValidationException(say.SYSTEM_BACKUP_NOT_DELETABLE.format(arn=arn, date=date))
    if is_restoring(scope, backup):
        raise BackupInUseException(say.BACKUP_NOT_DELETABLE.format(arn=arn))
    require_available(backup, arn)
    with attending(scope, backup.owner):
        await remove_backup(scope, backup)
    return {"BackupDescription": describe_backup_of(msgspec.structs.replace(backup, state="DELETED"), arn)}


def is_restoring(scope: Scope, backup: Backup) -> bool:
    """True if a table of this account and Region is being restored from the backup. Looks at each table."""
    now_seconds, arn = scope.clock.service_time(), backup.arn
    for table in walk(list(scope.tables.values())):
        source = table.schema.restored_from
        if source is not None and source.backup_arn == arn and is_being_restored(table.schema, now_seconds):
            return True
    return False


def require_available(backup: Backup, arn: str) -> None:
    """Raise BackupInUseException for a backup that is CREATING."""
    if backup.state != "AVAILABLE":
        raise BackupInUseException(say.BACKUP_BEING_CREATED.format(arn=arn))


# --- ListBackups ----------------------------------------------------------------------------------


BackupType = Literal["USER", "SYSTEM", "AWS_BACKUP", "ALL"]


class ListBackupsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Table, time range (in epoch seconds) and type of the backups; the ARN to start after, and the page size.
    A page may start after the ARN of a backup that has been deleted.
    """

    TableName: NameOrArn | None = None
    Limit: Annotated[int, Meta(ge=1, le=LISTED_MAX, extra={"shape": "Integer"})] | None = None
    TimeRangeLowerBound: float | None = None
    TimeRangeUpperBound: float | None = None
    ExclusiveStartBackupArn: BackupArn | None = None
    BackupType: "BackupType | None" = None


async def list_backups(scope: Scope, request: ListBackupsRequest) -> Reply:
    """ListBackups: list backups of one table or all in the order in which they were made, those of clients unless the
    request names a type. The table need not exist.

    Order of checks: member constraints, table name → the time range → the ARN to start after is that of a backup of
    this account and Region. The lower bound of the time range belongs to it, the upper one does not.
    """
    name = None if request.TableName is None else table_name(request.TableName)
    lower, upper = request.TimeRangeLowerBound, request.TimeRangeUpperBound
    if lower is not None and upper is not None and lower > upper:
        raise ValidationException(say.TIME_RANGE_REVERSED)
    after = _place(scope, request.ExclusiveStartBackupArn)
    now_seconds, size = scope.clock.service_time(), request.Limit or LISTED_MAX
    found: list[Backup] = []
    for _, backup in backups_of(scope.documents).walk(scope.account, scope.region, after=after):
        spend(BACKUP_STEPS)
        is_of_type = request.BackupType == "ALL" or (request.BackupType == "SYSTEM") == backup.is_system
        is_in_range = (lower is None or backup.created_at_seconds >= lower) and (
            upper is None or backup.created_at_seconds < upper
        )
        if request.BackupType == "AWS_BACKUP" or not is_of_type or not is_in_range:
            continue
        if name in (None, backup.table.name) and backup.is_shown(now_seconds):
            found.append(backup)
            if len(found) > size:
                break
    reply: Reply = {"BackupSummaries": [backup_summary(one) for one in found[:size]]}
    if len(found) > size:
        reply["LastEvaluatedBackupArn"] = found[size - 1].arn
    return reply


def _place(scope: Scope, arn: str | None) -> str | None:
    """Path of the backup after which a page begins. Raises what `read_backup_arn` raises."""
    if arn is None:
        return None
    place = read_backup_arn(scope, arn)
    if place.region != scope.region:
        raise ValidationException(say.INVALID_BACKUP_ARN)
    return f"{scope.account}/{scope.region}/{place.backup_id}"


_ARN_RULES = RequestRules(wordings=BACKUP_ARN_WORDINGS)
OPERATIONS = (
    table_operation("CreateBackup", create_backup, TABLE_NAME_FIRST, writes=True),
    Operation("DescribeBackup", BackupRequest, describe_backup, JsonWire(rules=_ARN_RULES), tables=by_backup_arn),
    Operation(
        "DeleteBackup",
        BackupRequest,
        delete_backup,
        JsonWire(rules=_ARN_RULES),
        tables=by_backup_arn,
        writes=True,
    ),
    table_operation("ListBackups", list_backups, GIVEN_TABLE_NAME_FIRST),
)
