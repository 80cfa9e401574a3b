"""The operations that switch point-in-time recovery: UpdateContinuousBackups, DescribeContinuousBackups; and the times
to which a table can be restored.

Source: service behaviour, captures of October 2026. Ours is that backups are DISABLED at first only where states of
tables take time.
"""

import math
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from hashrange.errors import (
    ContinuousBackupsUnavailableException,
    PointInTimeRecoveryUnavailableException,
    TableNotFoundException,
    ValidationException,
)
from hashrange.limits import BACKUPS_ENABLED_SECONDS, RECOVERY_DAYS
from hashrange.messages import backups as say
from hashrange.operations.backups.system_backups import give_up_backups
from hashrange.operations.lookup import TableRequest, find_table, table_name
from hashrange.operations.naming import table_operation
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.tables.schema import Recovery, Table
from hashrange.tables.states import status


class RestorableTimes(NamedTuple):
    """The times to which a table can be restored, in seconds of service time."""

    earliest_seconds: int
    """Clients are told, and name, whole seconds."""
    latest_seconds: int
    since_seconds: float
    """The moment behind `earliest_seconds` since when changes are really kept."""


async def backed_up_table(scope: Scope, name_or_arn: str) -> Table:
    """The table. Raises TableNotFoundException if there is none, or it is CREATING; Malformed for an impossible
    name.
    """
    table = await find_table(scope, name_or_arn)
    if table is None or status(table, scope.clock.service_time()) == "CREATING":
        raise TableNotFoundException(say.TABLE_NOT_FOUND_BY_BACKUPS.format(name=table_name(name_or_arn)))
    return table


def has_backups(scope: Scope, table: Table) -> bool:
    """False for the first moments of an ACTIVE table, if states of tables take time."""
    delay_seconds = min(BACKUPS_ENABLED_SECONDS, scope.settings.table_state_delay_seconds)
    return table.active_at_seconds + delay_seconds <= scope.clock.service_time()


def require_backups(scope: Scope, table: Table) -> None:
    """Raise ContinuousBackupsUnavailableException unless backups of the table are possible by now."""
    if not has_backups(scope, table):
        raise ContinuousBackupsUnavailableException(say.BACKUPS_UNAVAILABLE.format(name=table.name))


def restorable_times(scope: Scope, table: Table) -> RestorableTimes:
    """The times to which a table can be restored. Raises PointInTimeRecoveryUnavailableException while its recovery is
    off.
    """
    since_seconds = scope.row_copies.restorable_since(table)
    if since_seconds is None:
        raise PointInTimeRecoveryUnavailableException(say.RECOVERY_OFF.format(name=table.name))
    earliest = math.floor(since_seconds)
    latest = math.floor(scope.clock.service_time() - scope.settings.recovery_lag_seconds)
    return RestorableTimes(earliest, max(earliest, latest), since_seconds)


def _described(scope: Scope, table: Table) -> Reply:
    recovery: dict[str, Any] = {"PointInTimeRecoveryStatus": "DISABLED"}
    if table.recovery is not None:
        recovery = {"PointInTimeRecoveryStatus": "ENABLED", "RecoveryPeriodInDays": table.recovery.period_days}
        if table.deleted_at_seconds is None:
            times = restorable_times(scope, table)
            recovery["EarliestRestorableDateTime"] = times.earliest_seconds
            recovery["LatestRestorableDateTime"] = times.latest_seconds
    is_enabled = table.recovery is not None or has_backups(scope, table)
    described = {
        "ContinuousBackupsStatus": "ENABLED" if is_enabled else "DISABLED",
        "PointInTimeRecoveryDescription": recovery,
    }
    return {"ContinuousBackupsDescription": described}


async def describe_continuous_backups(scope: Scope, request: TableRequest) -> Reply:
    """DescribeContinuousBackups: return whether a table can be restored to a point in time, and to which times.

    Order of checks: name → table exists, and is not CREATING (else TableNotFoundException, a code of backup
    operations).
    """
    return _described(scope, await backed_up_table(scope, request.TableName))


class PointInTimeRecoverySpecification(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Whether point-in-time recovery is on, and how many days back a table can be restored."""

    PointInTimeRecoveryEnabled: bool
    RecoveryPeriodInDays: Annotated[int, Meta(ge=1, le=RECOVERY_DAYS, extra={"shape": "Integer"})] | None = None


class UpdateContinuousBackupsRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, and its new recovery settings."""

    PointInTimeRecoverySpecification: PointInTimeRecoverySpecification


async def update_continuous_backups(scope: Scope, request: UpdateContinuousBackupsRequest) -> Reply:
    """UpdateContinuousBackups: turn point-in-time recovery on or off, or change its period.

    Order of checks: name, member constraints → no period is given to turn it off → table exists, and is not CREATING
    → backups of it are possible by now.

    Turned on while it is on, it keeps its begin, and its period if the request names none. While a table is being
    deleted, recovery can only be turned off, and then no backup of the table remains.
    """
    wanted = request.PointInTimeRecoverySpecification
    table_name(request.TableName)
    if not wanted.PointInTimeRecoveryEnabled and wanted.RecoveryPeriodInDays is not None:
        raise ValidationException(say.PERIOD_WITHOUT_RECOVERY)
    while True:
        table = await backed_up_table(scope, request.TableName)
        require_backups(scope, table)
        recovery = _recovery(wanted, table.recovery, scope.clock.service_time())
        if table.deleted_at_seconds is not None:
            if recovery is not None:
                raise TableNotFoundException(say.TABLE_NOT_FOUND_BY_BACKUPS.format(name=table.name))
            await give_up_backups(scope, table)
        new = msgspec.structs.replace(table, recovery=recovery)
        if new == table or await scope.store.catalog.replace(table, new):
            return _described(scope, new)


def _recovery(
    wanted: PointInTimeRecoverySpecification, present: Recovery | None, now_seconds: float
) -> Recovery | None:
    if not wanted.PointInTimeRecoveryEnabled:
        return None
    if present is None:
        return Recovery(now_seconds, wanted.RecoveryPeriodInDays or RECOVERY_DAYS)
    return Recovery(present.since_seconds, wanted.RecoveryPeriodInDays or present.period_days)


OPERATIONS = (
    table_operation("DescribeContinuousBackups", describe_continuous_backups),
    table_operation("UpdateContinuousBackups", update_continuous_backups, writes=True),
)
