"""UpdateContinuousBackups: switch point-in-time recovery on or off.
It is off for every table and cannot be switched on yet.

Order of checks: name, member constraints → table exists (else `TableNotFoundException`, a code of backup operations)
→ the request is supported.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import UnsupportedOperationException
from hashrange.messages import other_services as say
from hashrange.operations.backups.describe_continuous_backups import continuous_backups
from hashrange.operations.described_table import TableRequest
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply


class PointInTimeRecoverySpecification(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Whether point-in-time recovery is on, and how many days back a table can be restored."""

    PointInTimeRecoveryEnabled: bool
    RecoveryPeriodInDays: Annotated[int, Meta(ge=1, le=35, extra={"shape": "Integer"})] | None = None


class UpdateContinuousBackupsRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN, and its new recovery settings."""

    PointInTimeRecoverySpecification: PointInTimeRecoverySpecification


async def update_continuous_backups(scope: Scope, request: UpdateContinuousBackupsRequest) -> Reply:
    """Accept switching off, which changes nothing; raises UnsupportedOperationException for switching on.

    Raises TableNotFoundException for a missing table, Malformed for an impossible name.
    """
    reply = await continuous_backups(scope, request.TableName)
    if request.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled:
        raise UnsupportedOperationException(say.OPERATION_NOT_SUPPORTED_YET.format(operation=OPERATION.name))
    return reply


OPERATION = Operation(
    "UpdateContinuousBackups",
    UpdateContinuousBackupsRequest,
    update_continuous_backups,
    JsonWire(rules=TABLE_NAME_FIRST),
    tables=by_table_name,
    writes=True,
)
