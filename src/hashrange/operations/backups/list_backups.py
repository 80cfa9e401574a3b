"""ListBackups: list the backups of the caller, or of one table. Always empty, also for a missing table.

Only the table's name and the constraints of the members are checked. A page may start after any backup ARN, as in the
service's other lists.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.limits import LISTED_MAX
from hashrange.operations.lookup import table_name
from hashrange.operations.naming import GIVEN_TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import TableName as NameOrArn

BackupType = Literal["USER", "SYSTEM", "AWS_BACKUP", "ALL"]


class ListBackupsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Table, time range (in epoch seconds) and type of the backups; the ARN to start after, and the page size."""

    TableName: NameOrArn | None = None
    Limit: Annotated[int, Meta(ge=1, le=LISTED_MAX, extra={"shape": "Integer"})] | None = None
    TimeRangeLowerBound: float | None = None
    TimeRangeUpperBound: float | None = None
    ExclusiveStartBackupArn: Annotated[str, Meta(min_length=37, max_length=1024)] | None = None
    BackupType: "BackupType | None" = None


async def list_backups(scope: Scope, request: ListBackupsRequest) -> Reply:
    """Return an empty list without a further page; raises Malformed for an impossible table name."""
    if request.TableName is not None:
        table_name(request.TableName)
    return {"BackupSummaries": []}


OPERATION = Operation(
    "ListBackups", ListBackupsRequest, list_backups, JsonWire(rules=GIVEN_TABLE_NAME_FIRST), tables=by_table_name
)
