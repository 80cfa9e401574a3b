"""GetFunctionConfiguration: a function's configuration."""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller
from hashrange.functions.api.configuration import configuration
from hashrange.functions.api.get_function import QualifiedRequest
from hashrange.functions.api.operation import LambdaOperation
from hashrange.functions.functions import Functions
from hashrange.functions.names import read_reference


async def get_function_configuration(
    functions: Functions, caller: Caller, request: QualifiedRequest
) -> Mapping[str, Any]:
    """Describe the function; its ARN has the qualifier if the request has one."""
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    qualifier = read_reference(request.FunctionName, caller, request.Qualifier).qualifier
    return configuration(functions, description, qualifier)


OPERATION = LambdaOperation(
    name="GetFunctionConfiguration",
    method="GET",
    path="/2015-03-31/functions/{FunctionName}/configuration",
    request=QualifiedRequest,
    run=get_function_configuration,
    query={"Qualifier": "Qualifier"},
)
