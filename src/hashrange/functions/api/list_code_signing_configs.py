"""ListCodeSigningConfigs: there are none, and code is never signed."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.functions.api import members
from hashrange.functions.api.operation import LambdaOperation
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


OPERATION = LambdaOperation(
    name="ListCodeSigningConfigs",
    method="GET",
    path="/2020-04-22/code-signing-configs",
    request=ListCodeSigningConfigsRequest,
    run=list_code_signing_configs,
    query={"Marker": "Marker", "MaxItems": "MaxItems"},
)
