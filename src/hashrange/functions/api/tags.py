"""The operations on tags of functions: TagResource, UntagResource, ListTags. CreateFunction checks tags too.

Tags of event source mappings have the same operations; `find_tagged_function` refuses their ARNs.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.operation import RestWire
from hashrange.functions.description import FunctionDescription
from hashrange.functions.functions import Functions
from hashrange.functions.names import parse_arn
from hashrange.functions.refusals import parameter_refusal
from hashrange.limits import FUNCTION_TAGS_MAX
from hashrange.messages import functions_api as say

TaggedArn = Annotated[str, Meta(min_length=1, max_length=10_000)]
_RESERVED_PREFIX = "aws:"


def check_function_tags(tags: Mapping[str, str]) -> None:
    """Raise LambdaError for reserved keys, or more tags than a function may have."""
    for key in tags:
        if key.lower().startswith(_RESERVED_PREFIX):
            raise parameter_refusal(say.reserved_function_tag(key))
    if len(tags) > FUNCTION_TAGS_MAX:
        raise parameter_refusal(say.too_many_function_tags(FUNCTION_TAGS_MAX))


def find_tagged_function(functions: Functions, caller: Caller, arn: str) -> FunctionDescription:
    """The function of an ARN without a qualifier. Raises LambdaError and StorageError."""
    reference = parse_arn(arn)
    if reference is None:
        raise parameter_refusal(say.TAGS_OF_FUNCTIONS)
    if reference.qualifier is not None:
        raise parameter_refusal(say.TAGS_OF_VERSIONS)
    return functions.find(arn, caller)


class TagFunctionRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function's ARN and the tags to add."""

    Resource: TaggedArn
    Tags: members.TagMap


async def tag_function(functions: Functions, caller: Caller, request: TagFunctionRequest) -> None:
    """Store the tags."""
    description = find_tagged_function(functions, caller, request.Resource)

    def add(current: FunctionDescription) -> FunctionDescription:
        tags = {**current.tags, **request.Tags}
        check_function_tags(tags)
        return msgspec.structs.replace(current, tags=tags)

    await functions.change(description, add)


class UntagFunctionRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function's ARN and the keys of the tags to remove."""

    Resource: TaggedArn
    TagKeys: list[Annotated[str, Meta(min_length=1, max_length=128)]]


async def untag_function(functions: Functions, caller: Caller, request: UntagFunctionRequest) -> None:
    """Store the other tags."""
    description = find_tagged_function(functions, caller, request.Resource)
    gone = set(request.TagKeys)

    def remove(current: FunctionDescription) -> FunctionDescription:
        tags = {key: value for key, value in current.tags.items() if key not in gone}
        return msgspec.structs.replace(current, tags=tags)

    await functions.change(description, remove)


class ListTagsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function's ARN."""

    Resource: TaggedArn


async def list_tags(functions: Functions, caller: Caller, request: ListTagsRequest) -> Mapping[str, Any]:
    """All tags."""
    return {"Tags": find_tagged_function(functions, caller, request.Resource).tags}


TAG_FUNCTION = Operation(
    "TagResource", TagFunctionRequest, tag_function, RestWire("POST", "/2017-03-31/tags/{Resource}", status=204)
)
UNTAG_FUNCTION = Operation(
    "UntagResource",
    UntagFunctionRequest,
    untag_function,
    RestWire("DELETE", "/2017-03-31/tags/{Resource}", status=204, query={"tagKeys": "TagKeys"}),
)
LIST_FUNCTION_TAGS = Operation("ListTags", ListTagsRequest, list_tags, RestWire("GET", "/2017-03-31/tags/{Resource}"))
OPERATIONS = (TAG_FUNCTION, UNTAG_FUNCTION, LIST_FUNCTION_TAGS)
