"""ListFunctionUrlConfigs: no function has a URL of its own."""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.list_members import ListOfFunctionRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions


async def list_function_url_configs(
    functions: Functions, caller: Caller, request: ListOfFunctionRequest
) -> Mapping[str, Any]:
    """An empty list, if the function exists."""
    functions.find(request.FunctionName, caller)
    return {"FunctionUrlConfigs": []}


OPERATION = Operation(
    "ListFunctionUrlConfigs",
    ListOfFunctionRequest,
    list_function_url_configs,
    RestWire("GET", "/2021-10-31/functions/{FunctionName}/urls", query={"Marker": "Marker", "MaxItems": "MaxItems"}),
)
