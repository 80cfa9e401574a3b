"""ListLayers: there are no layers, as they cannot be published."""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller
from hashrange.functions.api.list_members import ListOfLayersRequest
from hashrange.functions.api.operation import LambdaOperation
from hashrange.functions.functions import Functions


async def list_layers(functions: Functions, caller: Caller, request: ListOfLayersRequest) -> Mapping[str, Any]:
    """An empty list."""
    return {"Layers": []}


OPERATION = LambdaOperation(
    name="ListLayers",
    method="GET",
    path="/2018-10-31/layers",
    request=ListOfLayersRequest,
    run=list_layers,
    query={name: name for name in ("CompatibleArchitecture", "CompatibleRuntime", "Marker", "MaxItems")},
)
