"""GetFunctionUrlConfig: no function has a URL of its own."""

from typing import NoReturn

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.get_function import QualifiedRequest
from hashrange.functions.api.operation import LambdaError, RestWire
from hashrange.functions.functions import Functions
from hashrange.messages import functions_api as say


async def get_function_url_config(functions: Functions, caller: Caller, request: QualifiedRequest) -> NoReturn:
    """The URL is not found; before that, the function may not be."""
    functions.find(request.FunctionName, caller, request.Qualifier)
    raise LambdaError(404, "ResourceNotFoundException", say.NO_RESOURCE)


OPERATION = Operation(
    "GetFunctionUrlConfig",
    QualifiedRequest,
    get_function_url_config,
    RestWire("GET", "/2021-10-31/functions/{FunctionName}/url", query={"Qualifier": "Qualifier"}),
)
