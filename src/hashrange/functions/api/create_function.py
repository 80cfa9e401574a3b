"""CreateFunction: store a function whose code is a zip, after its handler has been loaded once.

Order of checks: member constraints (the protocol) → the name → role → what cannot be honoured → source of the code →
runtime, handler, variables, tags → the function exists → code runs here → the zip → the handler.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.configuration import configuration
from hashrange.functions.api.members import AnyStructure, ConfigurationRequest
from hashrange.functions.api.operation import RestWire
from hashrange.functions.api.tags import check_function_tags
from hashrange.functions.api.uploads import require_zip
from hashrange.functions.description import FunctionDescription
from hashrange.functions.functions import Functions
from hashrange.functions.names import LATEST, read_reference
from hashrange.functions.refusals import parameter_refusal
from hashrange.messages import functions_api as say


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
    """Load the handler, store the function, and describe it as Pending."""
    reference = read_reference(request.FunctionName, caller)
    if reference.qualifier not in {None, LATEST}:
        raise parameter_refusal(say.unsupported("A version in FunctionName", say.NO_VERSIONS))
    members.check_role(request.Role)
    members.refuse_publishing({"Publish": request.Publish, "PublishTo": request.PublishTo})
    members.refuse_unsupported(request)
    for name in ("CodeSigningConfigArn", "TenancyConfig"):
        if getattr(request, name):
            raise parameter_refusal(say.unsupported(name, say.NOT_HERE))
    code = request.Code
    zipped = require_zip(code.ZipFile, code.S3Bucket or code.S3Key, code.ImageUri, request.PackageType)
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


OPERATION = Operation(
    "CreateFunction", CreateFunctionRequest, create_function, RestWire("POST", "/2015-03-31/functions", status=201)
)
