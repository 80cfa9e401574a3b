"""GetFunctionConcurrency: the executions reserved for a function; nothing if it shares those of the account."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.operation import RestWire
from hashrange.functions.functions import Functions


class FunctionRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function."""

    FunctionName: members.FunctionNameText


async def get_function_concurrency(functions: Functions, caller: Caller, request: FunctionRequest) -> Mapping[str, Any]:
    """The number, if there is one."""
    reserved = functions.find(request.FunctionName, caller).reserved_executions
    return {} if reserved is None else {"ReservedConcurrentExecutions": reserved}


OPERATION = Operation(
    "GetFunctionConcurrency",
    FunctionRequest,
    get_function_concurrency,
    RestWire("GET", "/2019-09-30/functions/{FunctionName}/concurrency"),
)
