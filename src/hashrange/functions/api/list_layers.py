"""ListLayers: there are no layers, as they cannot be published."""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.list_members import ListOfLayersRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions


async def list_layers(functions: Functions, caller: Caller, request: ListOfLayersRequest) -> Mapping[str, Any]:
    """An empty list."""
    return {"Layers": []}


OPERATION = Operation(
    "ListLayers",
    ListOfLayersRequest,
    list_layers,
    RestWire(
        "GET",
        "/2018-10-31/layers",
        query={name: name for name in ("CompatibleArchitecture", "CompatibleRuntime", "Marker", "MaxItems")},
    ),
)
