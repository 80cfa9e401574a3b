"""ListProvisionedConcurrencyConfigs: environments are started when they are needed, and none is provisioned."""

from collections.abc import Mapping
from typing import Any

from hashrange.aws_services.operation import Caller
from hashrange.functions.api.list_members import ListOfFunctionRequest
from hashrange.functions.api.operation import LambdaOperation
from hashrange.functions.functions import Functions


async def list_provisioned_concurrency_configs(
    functions: Functions, caller: Caller, request: ListOfFunctionRequest
) -> Mapping[str, Any]:
    """An empty list, if the function exists."""
    functions.find(request.FunctionName, caller)
    return {"ProvisionedConcurrencyConfigs": []}


OPERATION = LambdaOperation(
    name="ListProvisionedConcurrencyConfigs",
    method="GET",
    path="/2019-09-30/functions/{FunctionName}/provisioned-concurrency?List=ALL",
    request=ListOfFunctionRequest,
    run=list_provisioned_concurrency_configs,
    query={"Marker": "Marker", "MaxItems": "MaxItems"},
)
