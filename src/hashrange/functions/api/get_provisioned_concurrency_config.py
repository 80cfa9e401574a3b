"""GetProvisionedConcurrencyConfig: environments are started when they are needed, and none is provisioned."""

from typing import NoReturn

import msgspec

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.operation import LambdaError, RestWire
from hashrange.functions.functions import Functions
from hashrange.messages import functions_api as say


class GetProvisionedConcurrencyConfigRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A version or alias of a function."""

    FunctionName: members.FunctionNameText
    Qualifier: members.Qualifier


async def get_provisioned_concurrency_config(
    functions: Functions, caller: Caller, request: GetProvisionedConcurrencyConfigRequest
) -> NoReturn:
    """Provisioned concurrency is not found; before that, the version may not be."""
    functions.find(request.FunctionName, caller, request.Qualifier)
    raise LambdaError(404, "ProvisionedConcurrencyConfigNotFoundException", say.NO_PROVISIONED_CONCURRENCY)


OPERATION = Operation(
    "GetProvisionedConcurrencyConfig",
    GetProvisionedConcurrencyConfigRequest,
    get_provisioned_concurrency_config,
    RestWire("GET", "/2019-09-30/functions/{FunctionName}/provisioned-concurrency", query={"Qualifier": "Qualifier"}),
)
