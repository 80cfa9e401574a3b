"""GetFunctionEventInvokeConfig: no function has settings of its own for asynchronous invocations."""

from typing import NoReturn

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.configuration import qualified_arn
from hashrange.functions.api.get_function import QualifiedRequest
from hashrange.functions.api.operation import LambdaError, RestWire
from hashrange.functions.functions import Functions
from hashrange.functions.names import LATEST
from hashrange.messages import functions_api as say


async def get_function_event_invoke_config(functions: Functions, caller: Caller, request: QualifiedRequest) -> NoReturn:
    """The settings are not found; before that, the function may not be."""
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    message = say.no_event_invoke_config(qualified_arn(description, request.Qualifier or LATEST))
    raise LambdaError(404, "ResourceNotFoundException", message)


OPERATION = Operation(
    "GetFunctionEventInvokeConfig",
    QualifiedRequest,
    get_function_event_invoke_config,
    RestWire("GET", "/2019-09-25/functions/{FunctionName}/event-invoke-config", query={"Qualifier": "Qualifier"}),
)
