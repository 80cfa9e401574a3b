"""ListFunctionEventInvokeConfigs: no function has settings of its own for asynchronous invocations."""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.list_members import ListOfFunctionRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions


async def list_function_event_invoke_configs(
    functions: Functions, caller: Caller, request: ListOfFunctionRequest
) -> Mapping[str, Any]:
    """An empty list, if the function exists."""
    functions.find(request.FunctionName, caller)
    return {"FunctionEventInvokeConfigs": []}


OPERATION = Operation(
    "ListFunctionEventInvokeConfigs",
    ListOfFunctionRequest,
    list_function_event_invoke_configs,
    RestWire(
        "GET",
        "/2019-09-25/functions/{FunctionName}/event-invoke-config/list",
        query={"Marker": "Marker", "MaxItems": "MaxItems"},
    ),
)
