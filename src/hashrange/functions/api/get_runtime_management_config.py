"""GetRuntimeManagementConfig: when a function's runtime changes.
Always Auto, the service's default: with the machine's own.
"""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.configuration import qualified_arn
from hashrange.functions.api.get_function import QualifiedRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions
from hashrange.functions.names import LATEST


async def get_runtime_management_config(
    functions: Functions, caller: Caller, request: QualifiedRequest
) -> Mapping[str, Any]:
    """Auto, for the function's only version."""
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    return {"UpdateRuntimeOn": "Auto", "FunctionArn": qualified_arn(description, request.Qualifier or LATEST)}


OPERATION = Operation(
    "GetRuntimeManagementConfig",
    QualifiedRequest,
    get_runtime_management_config,
    RestWire("GET", "/2021-07-20/functions/{FunctionName}/runtime-management-config", query={"Qualifier": "Qualifier"}),
)
