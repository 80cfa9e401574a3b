"""Which operations of Lambda's API ask for what no function has here? Aliases and versions, which cannot be published,
layers, signed code, URLs of functions, settings of asynchronous invocations, provisioned concurrency.

Tools ask for them nevertheless, and get an empty list, a default, or the error that there is none.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NoReturn

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.configurations import QualifiedRequest, qualified_arn
from hashrange.functions.api.operation import LambdaError, RestWire, rest_operation
from hashrange.functions.functions import Functions
from hashrange.functions.names import LATEST
from hashrange.messages import functions_api as say

ALIAS_PATTERN = "(?!^[0-9]+$)([a-zA-Z0-9-_]+)"
VERSION_PATTERN = r"(\$LATEST(\.PUBLISHED)?|[0-9]+)"
ListLength = Annotated[int, Meta(ge=1, le=50, extra={"shape": "Integer"})]


# --- empty lists --------------------------------------------------------------------------------------


class ListAliasesRequest(members.FunctionRequest, frozen=True, kw_only=True, gc=False):
    """A function, perhaps one of its versions, where the page begins, and its length."""

    FunctionVersion: Annotated[str, Meta(min_length=1, max_length=1024, extra={"pattern": VERSION_PATTERN})] | None = (
        None
    )
    Marker: str | None = None
    MaxItems: members.MaxItems | None = None


class ListCodeSigningConfigsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where the page begins, and its length."""

    Marker: str | None = None
    MaxItems: members.MaxItems | None = None


class ListOfFunctionRequest(members.FunctionRequest, frozen=True, kw_only=True, gc=False):
    """A page of what a function has."""

    Marker: str | None = None
    MaxItems: ListLength | None = None


class ListOfLayersRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A page of layers."""

    CompatibleArchitecture: members.Architecture | None = None
    CompatibleRuntime: Annotated[str, Meta(max_length=256)] | None = None
    Marker: str | None = None
    MaxItems: ListLength | None = None


class ListLayerVersionsRequest(ListOfLayersRequest, frozen=True, kw_only=True, gc=False):
    """A layer, and a page of its versions. The service too answers with an empty list for one that is missing."""

    LayerName: Annotated[str, Meta(min_length=1, max_length=2048)]


def _empty_list(name: str, request: type[msgspec.Struct]) -> Operation[RestWire]:
    """The operation `List…` whose reply is an empty list; a function that a request names must exist."""

    async def list_nothing(functions: Functions, caller: Caller, request: Any) -> Mapping[str, Any]:
        if "FunctionName" in request.__struct_fields__:
            functions.find(request.FunctionName, caller)
        return {name.removeprefix("List"): []}

    return rest_operation(name, request, list_nothing)


_LISTS = (
    _empty_list("ListAliases", ListAliasesRequest),
    _empty_list("ListCodeSigningConfigs", ListCodeSigningConfigsRequest),
    _empty_list("ListFunctionEventInvokeConfigs", ListOfFunctionRequest),
    _empty_list("ListFunctionUrlConfigs", ListOfFunctionRequest),
    _empty_list("ListLayers", ListOfLayersRequest),
    _empty_list("ListLayerVersions", ListLayerVersionsRequest),
    _empty_list("ListProvisionedConcurrencyConfigs", ListOfFunctionRequest),
)


# --- defaults -----------------------------------------------------------------------------------------


async def get_function_code_signing_config(
    functions: Functions, caller: Caller, request: members.FunctionRequest
) -> Mapping[str, Any]:
    """The function's name alone."""
    return {"FunctionName": functions.find(request.FunctionName, caller).name}


async def get_function_recursion_config(
    functions: Functions, caller: Caller, request: members.FunctionRequest
) -> Mapping[str, Any]:
    """What happens to recursive loops of functions: Allow, if the function exists. The service ends them by default,
    but nothing here looks for loops.
    """
    functions.find(request.FunctionName, caller)
    return {"RecursiveLoop": "Allow"}


async def get_runtime_management_config(
    functions: Functions, caller: Caller, request: QualifiedRequest
) -> Mapping[str, Any]:
    """When the runtime of the function's only version changes: Auto, the service's default, with the machine's own."""
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    return {"UpdateRuntimeOn": "Auto", "FunctionArn": qualified_arn(description, request.Qualifier or LATEST)}


# --- what is not found, unless the function is not ----------------------------------------------------


class GetAliasRequest(members.FunctionRequest, frozen=True, kw_only=True, gc=False):
    """A function and the name of an alias."""

    Name: Annotated[str, Meta(min_length=1, max_length=128, extra={"pattern": ALIAS_PATTERN})]


async def get_alias(functions: Functions, caller: Caller, request: GetAliasRequest) -> NoReturn:
    """No function has an alias."""
    arn = functions.find(request.FunctionName, caller).arn
    raise LambdaError(404, "ResourceNotFoundException", say.ALIAS_MISSING.format(arn=say.cut(f"{arn}:{request.Name}")))


async def get_function_event_invoke_config(functions: Functions, caller: Caller, request: QualifiedRequest) -> NoReturn:
    """No function has settings of its own for asynchronous invocations."""
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    message = say.NO_EVENT_INVOKE_CONFIG.format(arn=qualified_arn(description, request.Qualifier or LATEST))
    raise LambdaError(404, "ResourceNotFoundException", message)


async def get_function_url_config(functions: Functions, caller: Caller, request: QualifiedRequest) -> NoReturn:
    """No function has a URL of its own."""
    functions.find(request.FunctionName, caller, request.Qualifier)
    raise LambdaError(404, "ResourceNotFoundException", say.NO_RESOURCE)


class GetProvisionedConcurrencyConfigRequest(members.FunctionRequest, frozen=True, kw_only=True, gc=False):
    """A version or alias of a function."""

    Qualifier: members.Qualifier


async def get_provisioned_concurrency_config(
    functions: Functions, caller: Caller, request: GetProvisionedConcurrencyConfigRequest
) -> NoReturn:
    """Environments are started when they are needed, and none is provisioned."""
    functions.find(request.FunctionName, caller, request.Qualifier)
    raise LambdaError(404, "ProvisionedConcurrencyConfigNotFoundException", say.NO_PROVISIONED_CONCURRENCY)


OPERATIONS = (
    *_LISTS,
    rest_operation("GetFunctionCodeSigningConfig", members.FunctionRequest, get_function_code_signing_config),
    rest_operation("GetFunctionRecursionConfig", members.FunctionRequest, get_function_recursion_config),
    rest_operation("GetRuntimeManagementConfig", QualifiedRequest, get_runtime_management_config),
    rest_operation("GetAlias", GetAliasRequest, get_alias),
    rest_operation("GetFunctionEventInvokeConfig", QualifiedRequest, get_function_event_invoke_config),
    rest_operation("GetFunctionUrlConfig", QualifiedRequest, get_function_url_config),
    rest_operation(
        "GetProvisionedConcurrencyConfig", GetProvisionedConcurrencyConfigRequest, get_provisioned_concurrency_config
    ),
)
