"""ListCodeSigningConfigs: there are none, and code is never signed."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions


class ListCodeSigningConfigsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where the page begins, and its length."""

    Marker: str | None = None
    MaxItems: members.MaxItems | None = None


async def list_code_signing_configs(
    functions: Functions, caller: Caller, request: ListCodeSigningConfigsRequest
) -> Mapping[str, Any]:
    """An empty list."""
    return {"CodeSigningConfigs": []}


OPERATION = Operation(
    "ListCodeSigningConfigs",
    ListCodeSigningConfigsRequest,
    list_code_signing_configs,
    RestWire("GET", "/2020-04-22/code-signing-configs", query={"Marker": "Marker", "MaxItems": "MaxItems"}),
)
