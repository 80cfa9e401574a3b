"""GetFunctionRecursionConfig: what happens to recursive loops of functions.

The service ends them by default. Here nothing looks for loops, so the answer is Allow, which is what holds.
"""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.get_function_concurrency import FunctionRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions


async def get_function_recursion_config(
    functions: Functions, caller: Caller, request: FunctionRequest
) -> Mapping[str, Any]:
    """Always Allow, if the function exists."""
    functions.find(request.FunctionName, caller)
    return {"RecursiveLoop": "Allow"}


OPERATION = Operation(
    "GetFunctionRecursionConfig",
    FunctionRequest,
    get_function_recursion_config,
    RestWire("GET", "/2024-08-31/functions/{FunctionName}/recursion-config"),
)
