"""UpdateFunctionCode: replace a function's zip, after the handler in the new one has been loaded once.

Order of checks: member constraints (the protocol) → the function exists → what cannot be honoured → source of the
code → RevisionId → the function is declared, or being changed → code runs here → the zip → the handler.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.configuration import configuration
from hashrange.functions.api.operation import RestWire
from hashrange.functions.api.uploads import require_zip
from hashrange.functions.functions import Functions


class UpdateFunctionCodeRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function and its new code."""

    FunctionName: members.FunctionNameText
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
    """Load the new handler, store the zip, and describe the function as InProgress. DryRun: only load the handler."""
    description = functions.find(request.FunctionName, caller)
    members.refuse_publishing({"Publish": request.Publish, "PublishTo": request.PublishTo})
    zipped = require_zip(request.ZipFile, request.S3Bucket or request.S3Key, request.ImageUri)
    members.require_revision(description, request.RevisionId)
    given = {"architectures": tuple(request.Architectures)} if request.Architectures else {}
    updated = await functions.update(description, given, zipped, is_dry_run=bool(request.DryRun))
    return configuration(functions, updated, just="updated")


OPERATION = Operation(
    "UpdateFunctionCode",
    UpdateFunctionCodeRequest,
    update_function_code,
    RestWire("PUT", "/2015-03-31/functions/{FunctionName}/code"),
)
