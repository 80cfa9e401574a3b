"""ListFunctionUrlConfigs: no function has a URL of its own."""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller
from hashrange.functions.api.list_members import ListOfFunctionRequest
from hashrange.functions.api.operation import LambdaOperation
from hashrange.functions.functions import Functions


async def list_function_url_configs(
    functions: Functions, caller: Caller, request: ListOfFunctionRequest
) -> Mapping[str, Any]:
    """An empty list, if the function exists."""
    functions.find(request.FunctionName, caller)
    return {"FunctionUrlConfigs": []}


OPERATION = LambdaOperation(
    name="ListFunctionUrlConfigs",
    method="GET",
    path="/2021-10-31/functions/{FunctionName}/urls",
    request=ListOfFunctionRequest,
    run=list_function_url_configs,
    query={"Marker": "Marker", "MaxItems": "MaxItems"},
)
