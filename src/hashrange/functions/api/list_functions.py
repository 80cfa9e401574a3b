"""ListFunctions: the functions of an account and Region, by name, 50 at a time at most.
A marker is the name listed last.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.configuration import listed_configuration
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions
from hashrange.functions.names import LATEST
from hashrange.limits import FUNCTIONS_LIST_MAX


class ListFunctionsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where the page begins, and its length."""

    MasterRegion: Annotated[str, Meta(min_length=1, max_length=50)] | None = None
    FunctionVersion: Literal["ALL"] | None = None
    Marker: str | None = None
    MaxItems: members.MaxItems | None = None


async def list_functions(functions: Functions, caller: Caller, request: ListFunctionsRequest) -> Mapping[str, Any]:
    """One page. MasterRegion asks for replicas of Lambda@Edge, of which there are none."""
    if request.MasterRegion is not None:
        return {"Functions": []}
    count = min(request.MaxItems or FUNCTIONS_LIST_MAX, FUNCTIONS_LIST_MAX)
    descriptions, has_more = functions.list_after(caller, request.Marker or "", count)
    qualifier = LATEST if request.FunctionVersion == "ALL" else None
    reply: dict[str, Any] = {"Functions": [listed_configuration(one, qualifier) for one in descriptions]}
    if has_more:
        reply["NextMarker"] = descriptions[-1].name
    return reply


OPERATION = Operation(
    "ListFunctions",
    ListFunctionsRequest,
    list_functions,
    RestWire(
        "GET",
        "/2015-03-31/functions",
        query={name: name for name in ("MasterRegion", "FunctionVersion", "Marker", "MaxItems")},
    ),
)
