"""ListAliases: no function has an alias, as versions cannot be published."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions

VERSION_PATTERN = r"(\$LATEST(\.PUBLISHED)?|[0-9]+)"


class ListAliasesRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function, perhaps one of its versions, where the page begins, and its length."""

    FunctionName: members.FunctionNameText
    FunctionVersion: Annotated[str, Meta(min_length=1, max_length=1024, extra={"pattern": VERSION_PATTERN})] | None = (
        None
    )
    Marker: str | None = None
    MaxItems: members.MaxItems | None = None


async def list_aliases(functions: Functions, caller: Caller, request: ListAliasesRequest) -> Mapping[str, Any]:
    """An empty list, if the function exists."""
    functions.find(request.FunctionName, caller)
    return {"Aliases": []}


OPERATION = Operation(
    "ListAliases",
    ListAliasesRequest,
    list_aliases,
    RestWire(
        "GET",
        "/2015-03-31/functions/{FunctionName}/aliases",
        query={name: name for name in ("FunctionVersion", "Marker", "MaxItems")},
    ),
)
