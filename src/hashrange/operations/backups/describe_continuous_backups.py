"""DescribeContinuousBackups: can a table be restored to a point in time? Not yet, no table.

Order of checks: name → table exists (`TableNotFoundException`, as all backup operations say it). The service calls
continuous backups themselves always ENABLED; what can be switched, and is off, is point-in-time recovery.
"""

from hashrange.errors import TableNotFoundException
from hashrange.messages import other_services as say
from hashrange.operations.described_table import TableRequest
from hashrange.operations.lookup import find_table, table_name
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.reply import Reply


class DescribeContinuousBackupsRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN."""


async def describe_continuous_backups(scope: Scope, request: DescribeContinuousBackupsRequest) -> Reply:
    """What is so for every table."""
    return await continuous_backups(scope, request.TableName)


async def continuous_backups(scope: Scope, name_or_arn: str) -> Reply:
    """Point-in-time recovery DISABLED, which has no window; raises TableNotFoundException."""
    if await find_table(scope, name_or_arn) is None:
        raise TableNotFoundException(say.BACKUP_TABLE_NOT_FOUND.format(name=table_name(name_or_arn)))
    described = {
        "ContinuousBackupsStatus": "ENABLED",
        "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
    }
    return {"ContinuousBackupsDescription": described}


OPERATION = Operation(
    name="DescribeContinuousBackups",
    request=DescribeContinuousBackupsRequest,
    run=describe_continuous_backups,
    tables=by_table_name,
    rules=TABLE_NAME_FIRST,
)
