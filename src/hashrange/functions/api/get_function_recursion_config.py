"""GetFunctionRecursionConfig: what happens to recursive loops of functions.

The service ends them by default. Here nothing looks for loops, so the answer is Allow, which is what holds.
"""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller
from hashrange.functions.api.get_function_concurrency import FunctionRequest
from hashrange.functions.api.operation import LambdaOperation
from hashrange.functions.functions import Functions


async def get_function_recursion_config(
    functions: Functions, caller: Caller, request: FunctionRequest
) -> Mapping[str, Any]:
    """Always Allow, if the function exists."""
    functions.find(request.FunctionName, caller)
    return {"RecursiveLoop": "Allow"}


OPERATION = LambdaOperation(
    name="GetFunctionRecursionConfig",
    method="GET",
    path="/2024-08-31/functions/{FunctionName}/recursion-config",
    request=FunctionRequest,
    run=get_function_recursion_config,
)
