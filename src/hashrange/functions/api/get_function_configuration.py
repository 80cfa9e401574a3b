"""GetFunctionConfiguration: a function's configuration."""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.configuration import configuration
from hashrange.functions.api.get_function import QualifiedRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions
from hashrange.functions.names import read_reference


async def get_function_configuration(
    functions: Functions, caller: Caller, request: QualifiedRequest
) -> Mapping[str, Any]:
    """Describe the function; its ARN has the qualifier if the request has one."""
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    qualifier = read_reference(request.FunctionName, caller, request.Qualifier).qualifier
    return configuration(functions, description, qualifier)


OPERATION = Operation(
    "GetFunctionConfiguration",
    QualifiedRequest,
    get_function_configuration,
    RestWire("GET", "/2015-03-31/functions/{FunctionName}/configuration", query={"Qualifier": "Qualifier"}),
)
