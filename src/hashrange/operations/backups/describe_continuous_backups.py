"""DescribeContinuousBackups: return whether a table can be restored to a point in time; none can yet.

Order of checks: name → table exists (else `TableNotFoundException`, a code of backup operations). As in the service,
continuous backups are always ENABLED; point-in-time recovery, the part that can be switched, is off.
"""

from hashrange.aws_services.operation import Operation
from hashrange.errors import TableNotFoundException
from hashrange.messages import other_services as say
from hashrange.operations.described_table import TableRequest
from hashrange.operations.lookup import find_table, table_name
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply


class DescribeContinuousBackupsRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN."""


async def describe_continuous_backups(scope: Scope, request: DescribeContinuousBackupsRequest) -> Reply:
    """Describe continuous backups, in the same way for every table."""
    return await continuous_backups(scope, request.TableName)


async def continuous_backups(scope: Scope, name_or_arn: str) -> Reply:
    """The reply for any table: point-in-time recovery is DISABLED, so the reply has no restorable times.

    Raises TableNotFoundException for a missing table, Malformed for an impossible name.
    """
    if await find_table(scope, name_or_arn) is None:
        raise TableNotFoundException(say.BACKUP_TABLE_NOT_FOUND.format(name=table_name(name_or_arn)))
    described = {
        "ContinuousBackupsStatus": "ENABLED",
        "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
    }
    return {"ContinuousBackupsDescription": described}


OPERATION = Operation(
    "DescribeContinuousBackups",
    DescribeContinuousBackupsRequest,
    describe_continuous_backups,
    JsonWire(rules=TABLE_NAME_FIRST),
    tables=by_table_name,
)
