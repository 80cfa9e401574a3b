"""ListLayerVersions: there are no layers, as they cannot be published.
The service answers with an empty list too for one that is missing.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.list_members import ListOfLayersRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions


class ListLayerVersionsRequest(ListOfLayersRequest, frozen=True, kw_only=True, gc=False):
    """A layer, and a page of its versions."""

    LayerName: Annotated[str, Meta(min_length=1, max_length=2048)]


async def list_layer_versions(
    functions: Functions, caller: Caller, request: ListLayerVersionsRequest
) -> Mapping[str, Any]:
    """An empty list."""
    return {"LayerVersions": []}


OPERATION = Operation(
    "ListLayerVersions",
    ListLayerVersionsRequest,
    list_layer_versions,
    RestWire(
        "GET",
        "/2018-10-31/layers/{LayerName}/versions",
        query={name: name for name in ("CompatibleArchitecture", "CompatibleRuntime", "Marker", "MaxItems")},
    ),
)
