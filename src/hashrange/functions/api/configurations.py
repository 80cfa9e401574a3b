"""How does a reply describe a function? GetFunction, GetFunctionConfiguration, ListFunctions, ListVersionsByFunction,
and FunctionConfiguration: the same members in the replies of seven operations.

Source: the API reference, *FunctionConfiguration*; reports of users for the reasons of states.
"""

import base64
import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller
from hashrange.functions.api import members
from hashrange.functions.api.operation import rest_operation
from hashrange.functions.description import FunctionDescription, shown_time, state_of_function, update_status_of
from hashrange.functions.functions import Functions
from hashrange.functions.names import LATEST, read_reference
from hashrange.limits import FUNCTIONS_LIST_MAX

BEING_CREATED = "The function is being created."


def configuration(
    functions: Functions,
    description: FunctionDescription,
    qualifier: str | None = None,
    *,
    just: Literal["created", "updated"] | None = None,
) -> dict[str, Any]:
    """The members of GetFunctionConfiguration. `just`: what the request did,
    whose reply always shows the passing state.
    """
    return {
        **listed_configuration(description, qualifier),
        **_states(functions, description, just),
        "RuntimeVersionConfig": {"RuntimeVersionArn": runtime_version_arn(description)},
    }


def qualified_arn(description: FunctionDescription, qualifier: str | None) -> str:
    """FunctionArn, which has the qualifier if the request has one."""
    return description.arn if qualifier is None else f"{description.arn}:{qualifier}"


def runtime_version_arn(description: FunctionDescription) -> str:
    """An ARN of the service's form; there is one for each runtime."""
    digest = hashlib.sha256(description.runtime.encode()).hexdigest()
    return f"arn:aws:lambda:{description.region}::runtime:{digest}"


def listed_configuration(description: FunctionDescription, qualifier: str | None = None) -> dict[str, Any]:
    """A function's configuration as a list of functions shows it: without State, LastUpdateStatus and their reasons."""
    members: dict[str, Any] = {
        "FunctionName": description.name,
        "FunctionArn": qualified_arn(description, qualifier),
        "Runtime": description.runtime,
        "Role": description.role,
        "Handler": description.handler,
        "CodeSize": description.code_size_bytes,
        "Description": description.description,
        "Timeout": max(1, round(description.timeout_seconds)),
        "MemorySize": description.memory_mb,
        "LastModified": shown_time(description.modified_seconds),
        "CodeSha256": base64.b64encode(bytes.fromhex(description.code_sha256)).decode(),
        "Version": LATEST,
        "TracingConfig": {"Mode": description.tracing_mode},
        "RevisionId": description.revision_id,
        "PackageType": "Zip",
        "Architectures": description.architectures,
        "EphemeralStorage": {"Size": description.ephemeral_storage_mb},
        "SnapStart": {"ApplyOn": description.snap_start, "OptimizationStatus": "Off"},
        "LoggingConfig": {"LogFormat": "Text", "LogGroup": description.shown_log_group},
    }
    if description.variables is not None:
        members["Environment"] = {"Variables": description.variables}
    if description.vpc_config is not None:
        empty = {"SubnetIds": [], "SecurityGroupIds": [], "Ipv6AllowedForDualStack": False}
        members["VpcConfig"] = {**empty, **description.vpc_config, "VpcId": ""}
    if description.kms_key_arn:
        members["KMSKeyArn"] = description.kms_key_arn
    return members


def _states(
    functions: Functions, description: FunctionDescription, just: Literal["created", "updated"] | None
) -> dict[str, Any]:
    now_seconds = functions.clock.service_time()
    if just == "created" or state_of_function(description, now_seconds) == "Pending":
        return {"State": "Pending", "StateReason": BEING_CREATED, "StateReasonCode": "Creating"}
    if just == "updated" or update_status_of(description, now_seconds) == "InProgress":
        return {
            "State": "Active",
            "LastUpdateStatus": "InProgress",
            "LastUpdateStatusReason": BEING_CREATED,
            "LastUpdateStatusReasonCode": "Creating",
        }
    return {"State": "Active", "LastUpdateStatus": "Successful"}


# --- operations -----------------------------------------------------------------------------------


class QualifiedRequest(members.FunctionRequest, frozen=True, kw_only=True, gc=False):
    """A function, or a version of it."""

    Qualifier: members.Qualifier | None = None


async def get_function(functions: Functions, caller: Caller, request: QualifiedRequest) -> Mapping[str, Any]:
    """GetFunction: a function's configuration, tags, reserved executions, and a URL from which its zip
    can be fetched for ten minutes.

    Describe the function; one that is declared has no zip, so Code has no Location.
    """
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    qualifier = read_reference(request.FunctionName, caller, request.Qualifier).qualifier
    code = {"RepositoryType": "S3"}
    url = functions.code_url_of(description)
    if url is not None:
        code["Location"] = url
    reply: dict[str, Any] = {"Configuration": configuration(functions, description, qualifier), "Code": code}
    if description.tags:
        reply["Tags"] = description.tags
    if description.reserved_executions is not None:
        reply["Concurrency"] = {"ReservedConcurrentExecutions": description.reserved_executions}
    return reply


async def get_function_configuration(
    functions: Functions, caller: Caller, request: QualifiedRequest
) -> Mapping[str, Any]:
    """GetFunctionConfiguration: a function's configuration.

    Describe the function; its ARN has the qualifier if the request has one.
    """
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    qualifier = read_reference(request.FunctionName, caller, request.Qualifier).qualifier
    return configuration(functions, description, qualifier)


class ListFunctionsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where the page begins, and its length."""

    MasterRegion: Annotated[str, Meta(min_length=1, max_length=50)] | None = None
    FunctionVersion: Literal["ALL"] | None = None
    Marker: str | None = None
    MaxItems: members.MaxItems | None = None


async def list_functions(functions: Functions, caller: Caller, request: ListFunctionsRequest) -> Mapping[str, Any]:
    """ListFunctions: the functions of an account and Region, by name, 50 at a time at most.
    A marker is the name listed last.

    One page. MasterRegion asks for replicas of Lambda@Edge, of which there are none.
    """
    if request.MasterRegion is not None:
        return {"Functions": []}
    count = min(request.MaxItems or FUNCTIONS_LIST_MAX, FUNCTIONS_LIST_MAX)
    descriptions, has_more = functions.list_after(caller, request.Marker or "", count)
    qualifier = LATEST if request.FunctionVersion == "ALL" else None
    reply: dict[str, Any] = {"Functions": [listed_configuration(one, qualifier) for one in descriptions]}
    if has_more:
        reply["NextMarker"] = descriptions[-1].name
    return reply


class ListVersionsByFunctionRequest(members.FunctionRequest, frozen=True, kw_only=True, gc=False):
    """A function, where the page begins, and its length."""

    Marker: str | None = None
    MaxItems: members.MaxItems | None = None


async def list_versions_by_function(
    functions: Functions, caller: Caller, request: ListVersionsByFunctionRequest
) -> Mapping[str, Any]:
    """ListVersionsByFunction: the versions of a function; there is only $LATEST, as versions cannot be published.

    The only version. No reply has a NextMarker, so nothing follows any Marker.
    """
    description = functions.find(request.FunctionName, caller)
    return {"Versions": [] if request.Marker else [listed_configuration(description, LATEST)]}


OPERATIONS = (
    rest_operation("GetFunction", QualifiedRequest, get_function),
    rest_operation("GetFunctionConfiguration", QualifiedRequest, get_function_configuration),
    rest_operation("ListFunctions", ListFunctionsRequest, list_functions),
    rest_operation("ListVersionsByFunction", ListVersionsByFunctionRequest, list_versions_by_function),
)
