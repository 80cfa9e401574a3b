"""Which members do requests on functions share? Their types and constraints; which ask for what cannot be honoured.

Members have the service's own names. Constraints are those of the service model, except for two numbers of Lambda's
quotas page: it gives functions that are no managed instances at most 1,800 seconds and 10,240 MB.
Patterns are checked where a member is read.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.functions.api.operation import LambdaError
from hashrange.functions.programs import is_supported
from hashrange.functions.refusals import constraint_refusal, parameter_refusal
from hashrange.functions.variables import find_variables_fault
from hashrange.limits import FUNCTION_MEMORY_MB_MAX, FUNCTION_MEMORY_MB_MIN, FUNCTION_TIMEOUT_SECONDS_MAX
from hashrange.messages import functions_api as say
from hashrange.messages import requests

ROLE_PATTERN = r"arn:(aws[a-zA-Z-]*)?:iam::\d{12}:role/?[a-zA-Z_0-9+=,.@\-_/]+"
HANDLER_PATTERN = r"[^\s]+"
LOG_GROUP_PATTERN = r"[\.\-_/#A-Za-z0-9]+"
KNOWN_RUNTIMES = (
    "nodejs18.x", "nodejs20.x", "nodejs22.x", "nodejs24.x", "java8.al2", "java11", "java17", "java21", "java25",
    "python3.8", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14", "dotnet6",
    "dotnet8",
    "dotnet10", "ruby3.2", "ruby3.3", "ruby3.4", "provided", "provided.al2", "provided.al2023",
)  # fmt: skip
"""Runtimes that the message on an unknown one lists. Source: the service model's enumeration,
without those that have ended."""
_is_role = re.compile(ROLE_PATTERN, re.ASCII).fullmatch
_is_handler = re.compile(r"[^\s\x00-\x1f\x7f]+").fullmatch
_is_log_group = re.compile(LOG_GROUP_PATTERN).fullmatch

_INTEGER = {"shape": "Integer"}
FunctionNameText = Annotated[str, Meta(min_length=1, max_length=256)]
"""Name, partial ARN or ARN of a function."""
Qualifier = Annotated[str, Meta(min_length=1, max_length=128)]
Role = Annotated[str, Meta(max_length=10_000)]
Handler = Annotated[str, Meta(max_length=128)]
DescriptionText = Annotated[str, Meta(max_length=256)]
TimeoutSeconds = Annotated[int, Meta(ge=1, le=FUNCTION_TIMEOUT_SECONDS_MAX, extra=_INTEGER)]
MemoryMb = Annotated[int, Meta(ge=FUNCTION_MEMORY_MB_MIN, le=FUNCTION_MEMORY_MB_MAX, extra=_INTEGER)]
Architecture = Literal["x86_64", "arm64"]
Architectures = Annotated[list[Architecture], Meta(min_length=1, max_length=1)]
KeyArn = Annotated[str, Meta(max_length=10_000)]
TagMap = dict[Annotated[str, Meta(min_length=1, max_length=128)], Annotated[str, Meta(max_length=256)]]
MaxItems = Annotated[int, Meta(ge=1, le=10_000, extra=_INTEGER)]


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Environment variables of a function."""

    Variables: dict[str, str] | None = None


class VpcConfig(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A network: stored and returned, without any effect here."""

    SubnetIds: Annotated[list[Annotated[str, Meta(max_length=1024)]], Meta(max_length=16)] | None = None
    SecurityGroupIds: Annotated[list[Annotated[str, Meta(max_length=1024)]], Meta(max_length=5)] | None = None
    Ipv6AllowedForDualStack: bool | None = None


class TracingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Tracing: stored and returned, without any effect here."""

    Mode: Literal["Active", "PassThrough"] | None = None


class EphemeralStorage(msgspec.Struct, frozen=True, kw_only=True):
    """Size of /tmp in MB: stored and returned, and not enforced."""

    Size: Annotated[int, Meta(ge=512, le=10_240, extra=_INTEGER)]


class SnapStart(msgspec.Struct, frozen=True, kw_only=True):
    """SnapStart, which concerns published versions only: stored and returned."""

    ApplyOn: Literal["PublishedVersions", "None"] | None = None


class LoggingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Log group, which handlers see; the format can only be Text."""

    LogFormat: Literal["JSON", "Text"] | None = None
    ApplicationLogLevel: Literal["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"] | None = None
    SystemLogLevel: Literal["DEBUG", "INFO", "WARN"] | None = None
    LogGroup: Annotated[str, Meta(min_length=1, max_length=512)] | None = None


class DeadLetterConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A dead-letter queue, which is refused unless empty."""

    TargetArn: Annotated[str, Meta(max_length=10_000)] | None = None


class AnyStructure(msgspec.Struct, frozen=True):
    """A structure that is refused whatever it holds."""


class FunctionRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function, which requests name first."""

    FunctionName: FunctionNameText


class ConfigurationRequest(FunctionRequest, frozen=True, kw_only=True, gc=False):
    """The members that CreateFunction and UpdateFunctionConfiguration have in common."""

    Runtime: Annotated[str, Meta(max_length=256)] | None = None
    Handler: "Handler | None" = None
    Description: DescriptionText | None = None
    Timeout: TimeoutSeconds | None = None
    MemorySize: MemoryMb | None = None
    Environment: "Environment | None" = None
    VpcConfig: "VpcConfig | None" = None
    TracingConfig: "TracingConfig | None" = None
    EphemeralStorage: "EphemeralStorage | None" = None
    SnapStart: "SnapStart | None" = None
    LoggingConfig: "LoggingConfig | None" = None
    KMSKeyArn: KeyArn | None = None
    DeadLetterConfig: "DeadLetterConfig | None" = None
    Layers: list[Annotated[str, Meta(min_length=1, max_length=2048)]] | None = None
    FileSystemConfigs: list[AnyStructure] | None = None
    ImageConfig: AnyStructure | None = None
    CapacityProviderConfig: AnyStructure | None = None
    DurableConfig: AnyStructure | None = None
    RuntimeConfig: AnyStructure | None = None
    AcceleratorConfig: AnyStructure | None = None


def refuse_unsupported(request: ConfigurationRequest) -> None:
    """Raise LambdaError for the first member that asks for what cannot be honoured. Empty lists ask for nothing."""
    logging, dead_letters = request.LoggingConfig, request.DeadLetterConfig
    log_level = logging and (logging.ApplicationLogLevel or logging.SystemLogLevel)
    for is_given, what, reason in (
        (request.Layers, "Layers", say.NO_LAYERS),
        (dead_letters and dead_letters.TargetArn, "DeadLetterConfig", say.NO_DEAD_LETTERS),
        (logging and logging.LogFormat == "JSON", say.JSON_LOGS, say.NO_JSON_LOGS),
        (log_level, say.LOG_LEVEL, say.NO_JSON_LOGS),
        (request.ImageConfig, "ImageConfig", say.NO_IMAGES),
    ):
        if is_given:
            raise parameter_refusal(say.UNSUPPORTED.format(member=what, reason=reason))
    others = ("FileSystemConfigs", "CapacityProviderConfig", "DurableConfig", "RuntimeConfig", "AcceleratorConfig")
    refuse_given(request, others, say.NOT_HERE)


def configuration_members(request: ConfigurationRequest) -> dict[str, Any]:
    """The members of a description that the request sets. Raises LambdaError for a wrong value."""
    found: dict[str, Any] = {
        "runtime": request.Runtime,
        "handler": request.Handler,
        "description": request.Description,
        "timeout_seconds": request.Timeout,
        "memory_mb": request.MemorySize,
        "kms_key_arn": request.KMSKeyArn,
        "tracing_mode": request.TracingConfig and request.TracingConfig.Mode,
        "ephemeral_storage_mb": request.EphemeralStorage and request.EphemeralStorage.Size,
        "snap_start": request.SnapStart and request.SnapStart.ApplyOn,
        "log_group": request.LoggingConfig and request.LoggingConfig.LogGroup,
        "variables": request.Environment and request.Environment.Variables,
        "vpc_config": request.VpcConfig and msgspec.to_builtins(request.VpcConfig),
    }
    given = {name: value for name, value in found.items() if value is not None}
    if "runtime" in given:
        check_runtime(given["runtime"])
    if "handler" in given and not _is_handler(given["handler"]):
        raise constraint_refusal("handler", given["handler"], requests.PATTERN.format(bound=HANDLER_PATTERN))
    if "log_group" in given and not _is_log_group(given["log_group"]):
        constraint = requests.PATTERN.format(bound=LOG_GROUP_PATTERN)
        raise constraint_refusal("loggingConfig.logGroup", given["log_group"], constraint)
    fault = find_variables_fault(given.get("variables", {}))
    if fault is not None:
        raise parameter_refusal(fault)
    return given


def check_runtime(runtime: str) -> None:
    """Raise LambdaError for a runtime that Lambda does not know, or that does not run here."""
    if not is_supported(runtime):
        if runtime in KNOWN_RUNTIMES:
            raise parameter_refusal(say.RUNTIME_NOT_RUN.format(runtime=runtime))
        raise parameter_refusal(say.UNKNOWN_RUNTIME.format(runtime=say.cut(runtime), known=", ".join(KNOWN_RUNTIMES)))


def check_role(role: str) -> None:
    """Raise LambdaError for a text that is no role's ARN; whether the role exists is not known."""
    if not _is_role(role):
        raise constraint_refusal("role", role, requests.PATTERN.format(bound=ROLE_PATTERN))


def require_revision(present: str, expected: str | None, message: str = say.REVISION) -> None:
    """Raise LambdaError unless the function, or its policy, still has the revision that the request expects,
    if it expects one.
    """
    if expected not in {None, present}:
        raise LambdaError(412, "PreconditionFailedException", message)


def refuse_given(request: object, names: Sequence[str], reason: str) -> None:
    """Raise LambdaError if the request has one of these members, and asks for something by it."""
    for name in names:
        if getattr(request, name):
            raise parameter_refusal(say.UNSUPPORTED.format(member=name, reason=reason))
