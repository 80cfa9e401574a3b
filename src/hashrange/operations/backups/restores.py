"""The operations that restore tables: RestoreTableFromBackup, RestoreTableToPointInTime.

The table is CREATING until it has all items; meanwhile requests for its items find no table. The request itself moves
the first rows, so that a small table is restored by the next call; a job moves the others. The order of commits:
record → table → the copy begins → rows, index entries and how far the copy is, together → the table is complete → the
copy ends → the record is removed.
Source: service behaviour, captures of October 2026.
"""

import math
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange import limits
from hashrange.aws_services.operation import Operation
from hashrange.errors import (
    ApiError,
    BackupInUseException,
    BackupNotFoundException,
    InvalidRestoreTimeException,
    LimitExceededException,
    TableAlreadyExistsException,
    TableInUseException,
    TableNotFoundException,
    ValidationException,
)
from hashrange.items.steps import walk
from hashrange.messages import backups as say
from hashrange.messages.tables import TOO_MANY_TABLES
from hashrange.operations.backups.continuous_backups import RestorableTimes, backed_up_table, restorable_times
from hashrange.operations.backups.kept_backups import (
    Restore,
    attending,
    find_backup,
    read_backup_arn,
    restores_of,
)
from hashrange.operations.backups.on_demand_backups import (
    BACKUP_ARN_WORDINGS,
    BackupArn,
    is_restoring,
    require_available,
)
from hashrange.operations.backups.restored_tables import (
    RestoreRequest,
    check_override_names,
    planned_restore,
    with_table_id,
)
from hashrange.operations.backups.row_moves import fill_table, forget_restore
from hashrange.operations.lasting import lasting_since_now
from hashrange.operations.lookup import check_arn, find_table, purge_gone_tables, read_table_arn
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.operations.tables.account_quotas import check_capacity, check_changes
from hashrange.tables.description import described_sources, table_description
from hashrange.tables.schema import RestoredFrom, Table
from hashrange.tables.states import is_being_restored, status
from hashrange.wire.rules import RequestRules

RestoredName = Annotated[str, Meta(min_length=3, max_length=255, pattern=f"^{NAME_PATTERN}$")]


# --- RestoreTableFromBackup -----------------------------------------------------------------------


class RestoreTableFromBackupRequest(RestoreRequest, frozen=True, kw_only=True, gc=False):
    """The backup, the name of the new table, and what is to be other than in the backup."""

    TargetTableName: RestoredName
    BackupArn: BackupArn


async def restore_table_from_backup(scope: Scope, request: RestoreTableFromBackupRequest) -> Reply:
    """RestoreTableFromBackup: make a table with the items of a backup.

    Order of checks: member constraints → the ARN is that of a backup of this account → encryption is given for one of
    another Region → the backup exists → no other table is being restored from it → it is AVAILABLE → overrides → the
    name is free → quotas.
    """
    check_override_names(request)
    place, arn = read_backup_arn(scope, request.BackupArn), request.BackupArn
    _require_encryption(scope, request, place.region)
    backup = find_backup(scope, arn, place.region)
    if is_restoring(scope, backup):
        raise BackupInUseException(say.BACKUP_BEING_RESTORED.format(arn=arn))
    require_available(backup, arn)
    source_id = scope.row_copies.kept()[backup.owner]
    restored_from = RestoredFrom(backup.table.arn, backup.created_at_seconds, backup.arn)
    planned = planned_restore(scope, request, backup.table, request.TargetTableName, restored_from)
    count = scope.row_copies.kept_statistics(source_id).item_count
    restore = Restore(scope.account, scope.region, planned.name, backup=backup.owner, item_count=count)

    async def begin() -> bool:
        await scope.row_copies.begin_of_kept(restore.owner, source_id)
        return scope.row_copies.kept().get(backup.owner) == source_id  # it may have been deleted meanwhile

    gone = BackupNotFoundException(say.BACKUP_NOT_FOUND.format(arn=arn))
    return await _restore(scope, planned, restore, begin, gone)


def _require_encryption(scope: Scope, request: RestoreRequest, region: str) -> None:
    if region != scope.region and request.SSESpecificationOverride is None:
        raise ValidationException(say.REGION_NEEDS_ENCRYPTION)


# --- RestoreTableToPointInTime --------------------------------------------------------------------


class RestoreTableToPointInTimeRequest(RestoreRequest, frozen=True, kw_only=True, gc=False):
    """The source by name or ARN, the time (in epoch seconds) or that it is the latest one, the name of the new table,
    and what is to be other than in the source.
    """

    SourceTableArn: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None
    SourceTableName: RestoredName | None = None
    TargetTableName: RestoredName
    UseLatestRestorableTime: bool | None = None
    RestoreDateTime: float | None = None


async def restore_table_to_point_in_time(scope: Scope, request: RestoreTableToPointInTimeRequest) -> Reply:
    """RestoreTableToPointInTime: make a table with the items that another one had at some time.

    Order of checks: member constraints → one of two times is given → one of two sources → the ARN is that of a table of
    this account, and encryption is given for one of another Region → the source exists → its recovery is on → the time
    → overrides → the name is free → quotas.

    The time counts in whole seconds; the earliest one stands for the moment within it at which recovery was turned on,
    and the latest one, without `--recovery-lag`, for now.
    """
    check_override_names(request)
    if (request.RestoreDateTime is not None) == bool(request.UseLatestRestorableTime):
        raise ValidationException(say.ONE_RESTORE_TIME)
    if (request.SourceTableArn is None) == (request.SourceTableName is None):
        raise ValidationException(say.ONE_RESTORE_SOURCE)
    source = await _source(scope, request)
    times = restorable_times(scope, source)
    asked_seconds = _asked_time(request.RestoreDateTime, times)
    is_now = request.RestoreDateTime is None and scope.settings.recovery_lag_seconds == 0
    at_seconds = None if is_now else max(asked_seconds, times.since_seconds)
    restored_from = RestoredFrom(source.arn, asked_seconds)
    planned = planned_restore(scope, request, source, request.TargetTableName, restored_from)
    count = (await scope.store.statistics((source.source_id,)))[source.source_id].item_count
    restore = Restore(scope.account, scope.region, planned.name, source=source, at_seconds=at_seconds, item_count=count)

    async def begin() -> bool:
        return await scope.row_copies.begin(restore.owner, source, at_seconds) is not None

    gone = TableNotFoundException(say.TABLE_NOT_FOUND_BY_BACKUPS.format(name=source.name))
    return await _restore(scope, planned, restore, begin, gone)


async def _source(scope: Scope, request: RestoreTableToPointInTimeRequest) -> Table:
    """The table that is restored. Raises what its checks raise."""
    name_or_arn = request.SourceTableArn or request.SourceTableName
    assert name_or_arn is not None
    table: Table | None
    place = read_table_arn(name_or_arn)
    if request.SourceTableArn is not None and place is None:
        check_arn(scope, name_or_arn, "RestoreTableToPointInTime")
    if place is not None and place.account != scope.account:
        raise ValidationException(say.OWNER_ONLY)
    if place is not None and place.region != scope.region:
        _require_encryption(scope, request, place.region)
        opened = scope.store.catalog.find(place.account, place.region, place.name)
        table = opened.schema if opened is not None and scope.reaches(place.region) else None
        is_there = table is not None and status(table, scope.clock.service_time()) != "CREATING"
    else:
        table, is_there = await backed_up_table(scope, name_or_arn), True
    if table is None or not is_there or table.deleted_at_seconds is not None:
        name = name_or_arn if place is None else place.name
        raise TableNotFoundException(say.TABLE_NOT_FOUND_BY_BACKUPS.format(name=name))
    return table


def _asked_time(given: float | None, times: RestorableTimes) -> float:
    """The second to which a request restores a table. Raises InvalidRestoreTimeException."""
    if given is None:
        return float(times.latest_seconds)
    if not times.earliest_seconds <= given < times.latest_seconds + 1:
        raise InvalidRestoreTimeException(
            say.OUTSIDE_WINDOW.format(
                time=_date(given), earliest=_date(times.earliest_seconds), latest=_date(times.latest_seconds)
            )
        )
    return float(math.floor(given))


def _date(seconds: float) -> str:
    """A time as the message shows it; years that no date has are shown in seconds."""
    try:
        return datetime.fromtimestamp(math.floor(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return f"{seconds:.0f}"


# --- both -----------------------------------------------------------------------------------------


async def _restore(
    scope: Scope, planned: Table, restore: Restore, begin: Callable[[], Awaitable[bool]], gone: ApiError
) -> Reply:
    """Make the planned table, begin its copy and move the first rows. Raises `gone` if `begin` returns False, because
    the source is gone; what `_require_free` raises, and StorageError.
    """
    await _require_free(scope, planned, restore)
    restore = msgspec.structs.replace(restore, lasting=lasting_since_now(scope, planned.name, restore.operation))
    records, catalog = restores_of(scope.documents), scope.store.catalog
    with attending(scope, restore.owner):
        await scope.row_copies.end(restore.owner)  # of a former restore under this name
        await records.write(records.change(restore, *restore.path))
        opened = await catalog.create(lambda table_id: with_table_id(planned, table_id))
        if opened is None:
            await forget_restore(scope, restore)
            raise TableAlreadyExistsException(say.TARGET_EXISTS.format(name=planned.name))
        table = opened.schema
        statistics = await scope.store.statistics(described_sources(table))
        reply = {"TableDescription": table_description(table, planned.created_at_seconds, statistics, "CREATING")}
        if not await begin():
            await catalog.delete(table)
            await scope.row_copies.end(restore.owner)
            await forget_restore(scope, restore)
            raise gone
        await fill_table(scope, restore)
    return reply


async def _require_free(scope: Scope, planned: Table, restore: Restore) -> None:
    """Require that the table's name is free, and that no quota forbids the table. Raises TableInUseException,
    TableAlreadyExistsException and LimitExceededException.
    """
    name, now_seconds = planned.name, scope.clock.service_time()
    present = await find_table(scope, name)
    source = None if present is None else present.restored_from
    if present is not None and source is not None and source.backup_arn and is_being_restored(present, now_seconds):
        raise TableInUseException(say.TARGET_BEING_RESTORED.format(name=name, arn=source.backup_arn))
    if present is not None or restore.owner in scope.row_copies.attended:
        raise TableAlreadyExistsException(say.TARGET_EXISTS.format(name=name))
    await purge_gone_tables(scope)
    if len(scope.tables) >= limits.TABLES_MAX:
        raise LimitExceededException(TOO_MANY_TABLES.format(limit=limits.TABLES_MAX))
    if len(scope.tables) >= limits.RESTORES_MAX:
        restored = [is_being_restored(one.schema, now_seconds) for one in walk(list(scope.tables.values()))]
        if sum(restored) >= limits.RESTORES_MAX:
            raise LimitExceededException(say.TOO_MANY_RESTORES.format(limit=limits.RESTORES_MAX))
    check_changes(scope, planned)
    check_capacity(scope, None, planned)


OPERATIONS = (
    Operation(
        "RestoreTableFromBackup",
        RestoreTableFromBackupRequest,
        restore_table_from_backup,
        JsonWire(rules=RequestRules(wordings=BACKUP_ARN_WORDINGS)),
        tables=lambda request: (request.TargetTableName, request.BackupArn),
        writes=True,
    ),
    Operation(
        "RestoreTableToPointInTime",
        RestoreTableToPointInTimeRequest,
        restore_table_to_point_in_time,
        JsonWire(),
        tables=lambda request: (
            *[one for one in (request.SourceTableArn, request.SourceTableName) if one is not None],
            request.TargetTableName,
        ),
        writes=True,
    ),
)
