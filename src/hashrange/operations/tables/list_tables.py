"""ListTables: return the caller's table names, sorted, in pages."""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange import limits
from hashrange.aws_services.operation import Operation
from hashrange.items.steps import sort
from hashrange.limits import LIST_TABLES_MAX
from hashrange.operations.lookup import purge_gone_tables
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN


class ListTablesRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The name to start after, and the page size."""

    Limit: Annotated[int, Meta(ge=1, le=LIST_TABLES_MAX, extra={"shape": "Integer"})] | None = None
    ExclusiveStartTableName: Annotated[str, Meta(min_length=3, max_length=255, pattern=f"^{NAME_PATTERN}$")] | None = (
        None
    )


async def list_tables(scope: Scope, request: ListTablesRequest) -> Reply:
    """Names after ExclusiveStartTableName, which need not exist; LastEvaluatedTableName only if more follow."""
    await purge_gone_tables(scope)
    names = sort(list(scope.tables))
    if request.ExclusiveStartTableName is not None:
        names = [name for name in names if name > request.ExclusiveStartTableName]
    limit = request.Limit or limits.LIST_TABLES_MAX
    reply: Reply = {"TableNames": names[:limit]}
    if len(names) > limit:
        reply["LastEvaluatedTableName"] = names[limit - 1]
    return reply


OPERATION = Operation("ListTables", ListTablesRequest, list_tables, JSON)
