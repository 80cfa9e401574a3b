"""ListProvisionedConcurrencyConfigs: environments are started when they are needed, and none is provisioned."""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.list_members import ListOfFunctionRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions


async def list_provisioned_concurrency_configs(
    functions: Functions, caller: Caller, request: ListOfFunctionRequest
) -> Mapping[str, Any]:
    """An empty list, if the function exists."""
    functions.find(request.FunctionName, caller)
    return {"ProvisionedConcurrencyConfigs": []}


OPERATION = Operation(
    "ListProvisionedConcurrencyConfigs",
    ListOfFunctionRequest,
    list_provisioned_concurrency_configs,
    RestWire(
        "GET",
        "/2019-09-30/functions/{FunctionName}/provisioned-concurrency?List=ALL",
        query={"Marker": "Marker", "MaxItems": "MaxItems"},
    ),
)
