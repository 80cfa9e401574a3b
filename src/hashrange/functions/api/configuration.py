"""How does a reply describe a function? FunctionConfiguration: the same members in the replies of seven operations.

Source: the API reference, *FunctionConfiguration*; reports of users for the reasons of states.
"""

import hashlib
from typing import Any, Literal

from hashrange.functions.description import (
    FunctionDescription,
    shown_time,
    state_of_function,
    update_status_of,
)
from hashrange.functions.functions import Functions
from hashrange.functions.names import LATEST

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
        **_settings(description, qualifier),
        **_states(functions, description, just),
        "RuntimeVersionConfig": {"RuntimeVersionArn": runtime_version_arn(description)},
    }


def listed_configuration(description: FunctionDescription, qualifier: str | None = None) -> dict[str, Any]:
    """A function's configuration as a list of functions shows it: without State, LastUpdateStatus and their reasons."""
    return _settings(description, qualifier)


def qualified_arn(description: FunctionDescription, qualifier: str | None) -> str:
    """FunctionArn, which has the qualifier if the request has one."""
    return description.arn if qualifier is None else f"{description.arn}:{qualifier}"


def runtime_version_arn(description: FunctionDescription) -> str:
    """An ARN of the service's form; there is one for each runtime."""
    digest = hashlib.sha256(description.runtime.encode()).hexdigest()
    return f"arn:aws:lambda:{description.region}::runtime:{digest}"


def _settings(description: FunctionDescription, qualifier: str | None) -> dict[str, Any]:
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
        "CodeSha256": description.code_sha256_base64,
        "Version": LATEST,
        "TracingConfig": {"Mode": description.tracing_mode},
        "RevisionId": description.revision_id,
        "PackageType": "Zip",
        "Architectures": description.architectures,
        "EphemeralStorage": {"Size": description.ephemeral_storage_mb},
        "SnapStart": {"ApplyOn": description.snap_start, "OptimizationStatus": "Off"},
        "LoggingConfig": {
            "LogFormat": "Text",
            "LogGroup": description.log_group or f"/aws/lambda/{description.name}",
        },
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
