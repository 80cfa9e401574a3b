"""The operations on executions that are reserved for a function, which shares those of the account if none are:
GetFunctionConcurrency, PutFunctionConcurrency, DeleteFunctionConcurrency; and GetAccountSettings.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller
from hashrange.functions.api import members
from hashrange.functions.api.operation import rest_operation
from hashrange.functions.description import FunctionDescription
from hashrange.functions.functions import Functions
from hashrange.functions.refusals import parameter_refusal
from hashrange.limits import (
    CODE_STORAGE_BYTES_MAX,
    CODE_UNZIPPED_BYTES_MAX,
    CODE_ZIPPED_BYTES_MAX,
    CONCURRENT_EXECUTIONS_MAX,
    UNRESERVED_EXECUTIONS_MIN,
)
from hashrange.messages import functions_api as say


async def get_function_concurrency(
    functions: Functions, caller: Caller, request: members.FunctionRequest
) -> Mapping[str, Any]:
    """The number, if there is one."""
    reserved = functions.find(request.FunctionName, caller).reserved_executions
    return {} if reserved is None else {"ReservedConcurrentExecutions": reserved}


class PutFunctionConcurrencyRequest(members.FunctionRequest, frozen=True, kw_only=True, gc=False):
    """A function, and how many of its invocations may run at once."""

    ReservedConcurrentExecutions: Annotated[int, Meta(ge=0, le=2**31 - 1, extra={"shape": "Integer"})]


async def put_function_concurrency(
    functions: Functions, caller: Caller, request: PutFunctionConcurrencyRequest
) -> Mapping[str, Any]:
    """Store the number, unless too few executions would be left for other functions. Invocations that run go on."""
    description = functions.find(request.FunctionName, caller)
    reserved = request.ReservedConcurrentExecutions

    def reserve(current: FunctionDescription) -> FunctionDescription:
        others = reserved_by(functions, caller) - (current.reserved_executions or 0)
        if others + reserved > CONCURRENT_EXECUTIONS_MAX - UNRESERVED_EXECUTIONS_MIN:
            raise parameter_refusal(say.TOO_MUCH_RESERVED.format(least=UNRESERVED_EXECUTIONS_MIN))
        return msgspec.structs.replace(current, reserved_executions=reserved)

    await functions.reserve(description, reserve)
    return {"ReservedConcurrentExecutions": reserved}


def reserved_by(functions: Functions, caller: Caller) -> int:
    """Executions that an account has reserved for functions in a Region."""
    return sum(one.reserved_executions or 0 for one in functions.stored.all_of(caller))


async def delete_function_concurrency(functions: Functions, caller: Caller, request: members.FunctionRequest) -> None:
    """Forget the number; it is no error if there is none."""
    description = functions.find(request.FunctionName, caller)
    await functions.reserve(description, lambda current: msgspec.structs.replace(current, reserved_executions=None))


class GetAccountSettingsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request has no members."""


async def get_account_settings(
    functions: Functions, caller: Caller, request: GetAccountSettingsRequest
) -> Mapping[str, Any]:
    """GetAccountSettings: the quotas of an account in a Region, as the service gives them to everyone,
    and what is used of them.

    Quotas and use. Declared functions are not counted.
    """
    stored = functions.stored.all_of(caller)
    return {
        "AccountLimit": {
            "TotalCodeSize": CODE_STORAGE_BYTES_MAX,
            "CodeSizeUnzipped": CODE_UNZIPPED_BYTES_MAX,
            "CodeSizeZipped": CODE_ZIPPED_BYTES_MAX,
            "ConcurrentExecutions": CONCURRENT_EXECUTIONS_MAX,
            "UnreservedConcurrentExecutions": CONCURRENT_EXECUTIONS_MAX - reserved_by(functions, caller),
        },
        "AccountUsage": {
            "TotalCodeSize": sum(one.code_size_bytes for one in stored),
            "FunctionCount": len(stored),
        },
    }


OPERATIONS = (
    rest_operation("GetFunctionConcurrency", members.FunctionRequest, get_function_concurrency),
    rest_operation("PutFunctionConcurrency", PutFunctionConcurrencyRequest, put_function_concurrency),
    rest_operation("DeleteFunctionConcurrency", members.FunctionRequest, delete_function_concurrency, status=204),
    rest_operation("GetAccountSettings", GetAccountSettingsRequest, get_account_settings),
)
