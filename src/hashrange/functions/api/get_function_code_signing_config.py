"""GetFunctionCodeSigningConfig: no function has one, which tools ask for nevertheless."""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller
from hashrange.functions.api.get_function_concurrency import FunctionRequest
from hashrange.functions.api.operation import LambdaOperation
from hashrange.functions.functions import Functions


async def get_function_code_signing_config(
    functions: Functions, caller: Caller, request: FunctionRequest
) -> Mapping[str, Any]:
    """The function's name alone."""
    return {"FunctionName": functions.find(request.FunctionName, caller).name}


OPERATION = LambdaOperation(
    name="GetFunctionCodeSigningConfig",
    method="GET",
    path="/2020-06-30/functions/{FunctionName}/code-signing-config",
    request=FunctionRequest,
    run=get_function_code_signing_config,
)
