"""ListGlobalTables: list the global tables of the 2017 version.
Always empty; only the members' constraints are checked.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN, PositiveInteger


class ListGlobalTablesRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The name to start after, the page size, and a Region that must hold a replica."""

    ExclusiveStartGlobalTableName: (
        Annotated[str, Meta(min_length=3, max_length=255, pattern=f"^{NAME_PATTERN}$")] | None
    ) = None
    Limit: PositiveInteger | None = None
    RegionName: str | None = None


async def list_global_tables(scope: Scope, request: ListGlobalTablesRequest) -> Reply:
    """Return an empty list without a further page; the start name need not exist."""
    return {"GlobalTables": []}


OPERATION = Operation("ListGlobalTables", ListGlobalTablesRequest, list_global_tables, JSON)
