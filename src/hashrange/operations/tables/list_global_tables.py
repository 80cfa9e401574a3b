"""ListGlobalTables: return an empty list, as there are no global tables of the 2017 version.

Tools ask for them nevertheless. Source: service behaviour, captures to October 2026.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN, PositiveInteger


class ListGlobalTablesRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The name to start after, which need not exist, the page size, and a Region that must hold a replica,
    for global tables of the 2017 version.
    """

    ExclusiveStartGlobalTableName: (
        Annotated[str, Meta(min_length=3, max_length=255, pattern=f"^{NAME_PATTERN}$")] | None
    ) = None
    Limit: PositiveInteger | None = None
    RegionName: str | None = None


async def list_global_tables(_scope: Scope, _request: ListGlobalTablesRequest) -> Reply:
    """ListGlobalTables: return an empty list."""
    return {"GlobalTables": []}


OPERATION = Operation("ListGlobalTables", ListGlobalTablesRequest, list_global_tables, JSON)
