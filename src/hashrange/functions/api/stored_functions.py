"""The operations that store functions: CreateFunction, UpdateFunctionCode, UpdateFunctionConfiguration,
DeleteFunction.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller
from hashrange.functions.api import members
from hashrange.functions.api.configurations import QualifiedRequest, configuration
from hashrange.functions.api.members import AnyStructure, ConfigurationRequest
from hashrange.functions.api.operation import rest_operation
from hashrange.functions.api.tags import check_function_tags
from hashrange.functions.description import FunctionDescription
from hashrange.functions.functions import Functions
from hashrange.functions.names import LATEST, read_reference
from hashrange.functions.refusals import parameter_refusal
from hashrange.messages import functions_api as say


def require_zip(code: "FunctionCode | UpdateFunctionCodeRequest", package_type: str | None = None) -> bytes:
    """The uploaded zip. Raises LambdaError if there is none, or the code is to come from elsewhere."""
    if code.S3Bucket or code.S3Key:
        raise parameter_refusal(say.UNSUPPORTED.format(member="S3Bucket", reason=say.NO_S3))
    if code.ImageUri is not None or package_type == "Image":
        raise parameter_refusal(say.UNSUPPORTED.format(member="ImageUri", reason=say.NO_IMAGES))
    if code.ZipFile is None:
        raise parameter_refusal(say.NO_CODE_SOURCE)
    if not code.ZipFile:
        raise parameter_refusal(say.EMPTY_ZIP)
    return code.ZipFile


class FunctionCode(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where the code of a new function comes from."""

    ZipFile: bytes | None = None
    S3Bucket: Annotated[str, Meta(min_length=3, max_length=63)] | None = None
    S3Key: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None
    S3ObjectVersion: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None
    S3ObjectStorageMode: Literal["COPY", "REFERENCE"] | None = None
    ImageUri: str | None = None
    SourceKMSKeyArn: members.KeyArn | None = None


class CreateFunctionRequest(ConfigurationRequest, frozen=True, kw_only=True, gc=False):
    """A new function."""

    Role: members.Role
    Code: FunctionCode
    PackageType: Annotated[str, Meta(max_length=10)] | None = None
    Architectures: members.Architectures | None = None
    Tags: members.TagMap | None = None
    Publish: bool | None = None
    PublishTo: str | None = None
    CodeSigningConfigArn: Annotated[str, Meta(max_length=200)] | None = None
    TenancyConfig: AnyStructure | None = None


async def create_function(functions: Functions, caller: Caller, request: CreateFunctionRequest) -> Mapping[str, Any]:
    """CreateFunction: store a function whose code is a zip, after its handler has been loaded once.

    Order of checks: member constraints (the protocol) → the name → role → what cannot be honoured → source of the code
    → runtime, handler, variables, tags → the function exists → code runs here → the zip → the handler.

    Load the handler, store the function, and describe it as Pending.
    """
    reference = read_reference(request.FunctionName, caller)
    if reference.qualifier not in {None, LATEST}:
        raise parameter_refusal(say.UNSUPPORTED.format(member=say.VERSION_OF_NAME, reason=say.NO_VERSIONS))
    members.check_role(request.Role)
    members.refuse_given(request, ("Publish", "PublishTo"), say.NO_VERSIONS)
    members.refuse_unsupported(request)
    members.refuse_given(request, ("CodeSigningConfigArn", "TenancyConfig"), say.NOT_HERE)
    zipped = require_zip(request.Code, request.PackageType)
    if not request.Runtime or not request.Handler:
        raise parameter_refusal(say.NO_RUNTIME_OR_HANDLER)
    given = members.configuration_members(request)
    check_function_tags(request.Tags or {})
    if request.Architectures:
        given["architectures"] = tuple(request.Architectures)
    description = FunctionDescription(
        account=caller.account,
        region=caller.region,
        name=reference.key.name,
        role=request.Role,
        tags=request.Tags or {},
        **given,
        **_SET_LATER,
    )
    created = await functions.create(description, zipped)
    return configuration(functions, created, just="created")


_SET_LATER: dict[str, Any] = {
    "code_sha256": "",
    "code_size_bytes": 0,
    "modified_seconds": 0.0,
    "revision_id": "",
    "run_id": "",
    "active_at_seconds": 0.0,
}
"""Members that `Functions.create` sets."""


class UpdateFunctionCodeRequest(members.FunctionRequest, frozen=True, kw_only=True, gc=False):
    """A function and its new code."""

    ZipFile: bytes | None = None
    S3Bucket: Annotated[str, Meta(min_length=3, max_length=63)] | None = None
    S3Key: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None
    S3ObjectVersion: Annotated[str, Meta(min_length=1, max_length=1024)] | None = None
    S3ObjectStorageMode: Literal["COPY", "REFERENCE"] | None = None
    ImageUri: str | None = None
    Architectures: members.Architectures | None = None
    Publish: bool | None = None
    PublishTo: str | None = None
    DryRun: bool | None = None
    RevisionId: str | None = None
    SourceKMSKeyArn: members.KeyArn | None = None


async def update_function_code(
    functions: Functions, caller: Caller, request: UpdateFunctionCodeRequest
) -> Mapping[str, Any]:
    """UpdateFunctionCode: replace a function's zip, after the handler in the new one has been loaded once.

    Order of checks: member constraints (the protocol) → the function exists → what cannot be honoured → source of the
    code → RevisionId → the function is declared, or being changed → code runs here → the zip → the handler.

    Load the new handler, store the zip, and describe the function as InProgress. DryRun: only load the handler.
    """
    description = functions.find(request.FunctionName, caller)
    members.refuse_given(request, ("Publish", "PublishTo"), say.NO_VERSIONS)
    zipped = require_zip(request)
    members.require_revision(description.revision_id, request.RevisionId)
    given = {"architectures": tuple(request.Architectures)} if request.Architectures else {}
    updated = await functions.update(description, given, zipped, is_dry_run=bool(request.DryRun))
    return configuration(functions, updated, just="updated")


class UpdateFunctionConfigurationRequest(ConfigurationRequest, frozen=True, kw_only=True, gc=False):
    """A function and what changes; what the request leaves out stays as it is."""

    Role: members.Role | None = None
    RevisionId: str | None = None


async def update_function_configuration(
    functions: Functions, caller: Caller, request: UpdateFunctionConfigurationRequest
) -> Mapping[str, Any]:
    """UpdateFunctionConfiguration: change what a function is besides its code;
    if the change may break its handler, this is loaded once.

    Order of checks: member constraints (the protocol) → the function exists → role → what cannot be honoured → runtime,
    handler, variables → RevisionId → the function is declared, or being changed → code runs here → the handler.

    Store the changes, and describe the function as InProgress.
    """
    description = functions.find(request.FunctionName, caller)
    members.refuse_unsupported(request)
    given = members.configuration_members(request)
    if request.Role is not None:
        members.check_role(request.Role)
        given["role"] = request.Role
    members.require_revision(description.revision_id, request.RevisionId)
    updated = await functions.update(description, given)
    return configuration(functions, updated, just="updated")


async def delete_function(functions: Functions, caller: Caller, request: QualifiedRequest) -> None:
    """DeleteFunction: a function is gone at once; invocations that run go on to their end, and queued ones are given
    up.

    Delete the function and its code.
    """
    description = functions.find(request.FunctionName, caller, request.Qualifier)
    if read_reference(request.FunctionName, caller, request.Qualifier).qualifier is not None:
        raise parameter_refusal(say.LATEST_NOT_DELETABLE)
    await functions.delete(description)


OPERATIONS = (
    rest_operation("CreateFunction", CreateFunctionRequest, create_function, status=201),
    rest_operation("UpdateFunctionCode", UpdateFunctionCodeRequest, update_function_code),
    rest_operation("UpdateFunctionConfiguration", UpdateFunctionConfigurationRequest, update_function_configuration),
    rest_operation("DeleteFunction", QualifiedRequest, delete_function, status=204),
)
