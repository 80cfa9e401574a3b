"""GetFunctionCodeSigningConfig: no function has one, which tools ask for nevertheless."""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.get_function_concurrency import FunctionRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions


async def get_function_code_signing_config(
    functions: Functions, caller: Caller, request: FunctionRequest
) -> Mapping[str, Any]:
    """The function's name alone."""
    return {"FunctionName": functions.find(request.FunctionName, caller).name}


OPERATION = Operation(
    "GetFunctionCodeSigningConfig",
    FunctionRequest,
    get_function_code_signing_config,
    RestWire("GET", "/2020-06-30/functions/{FunctionName}/code-signing-config"),
)
