"""ListVersionsByFunction: the versions of a function; there is only $LATEST, as versions cannot be published."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.configuration import listed_configuration
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions
from hashrange.functions.names import LATEST


class ListVersionsByFunctionRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function, where the page begins, and its length."""

    FunctionName: members.FunctionNameText
    Marker: str | None = None
    MaxItems: members.MaxItems | None = None


async def list_versions_by_function(
    functions: Functions, caller: Caller, request: ListVersionsByFunctionRequest
) -> Mapping[str, Any]:
    """The only version. No reply has a NextMarker, so nothing follows any Marker."""
    description = functions.find(request.FunctionName, caller)
    return {"Versions": [] if request.Marker else [listed_configuration(description, LATEST)]}


OPERATION = Operation(
    "ListVersionsByFunction",
    ListVersionsByFunctionRequest,
    list_versions_by_function,
    RestWire(
        "GET", "/2015-03-31/functions/{FunctionName}/versions", query={"Marker": "Marker", "MaxItems": "MaxItems"}
    ),
)
