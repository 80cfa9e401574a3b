"""DeleteFunctionConcurrency: a function shares the executions of the account again."""

import msgspec

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.get_function_concurrency import FunctionRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.description import FunctionDescription
from hashrange.functions.functions import Functions


async def delete_function_concurrency(functions: Functions, caller: Caller, request: FunctionRequest) -> None:
    """Forget the number; it is no error if there is none."""
    description = functions.find(request.FunctionName, caller)

    def release(current: FunctionDescription) -> FunctionDescription:
        return msgspec.structs.replace(current, reserved_executions=None)

    await functions.reserve(description, release)


OPERATION = Operation(
    "DeleteFunctionConcurrency",
    FunctionRequest,
    delete_function_concurrency,
    RestWire("DELETE", "/2017-10-31/functions/{FunctionName}/concurrency", status=204),
)
