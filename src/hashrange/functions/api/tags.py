"""Which tags may a function have, and how are they found and stored?

The operations TagResource, UntagResource and ListTags are those of event source mappings too
(`triggers/api/mapping_tags.py`).
"""

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller
from hashrange.aws_services.tagging import TagsChange, TagSet, is_reserved_tag
from hashrange.functions.api import members
from hashrange.functions.description import FunctionDescription
from hashrange.functions.functions import Functions
from hashrange.functions.names import parse_arn
from hashrange.functions.refusals import parameter_refusal
from hashrange.items.steps import walk
from hashrange.limits import FUNCTION_TAGS_MAX
from hashrange.messages import functions_api as say


class ListTagsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function's ARN."""

    Resource: Annotated[str, Meta(min_length=1, max_length=10_000)]


class TagFunctionRequest(ListTagsRequest, frozen=True, kw_only=True, gc=False):
    """A function's ARN and the tags to add."""

    Tags: members.TagMap


class UntagFunctionRequest(ListTagsRequest, frozen=True, kw_only=True, gc=False):
    """A function's ARN and the keys of the tags to remove."""

    TagKeys: list[Annotated[str, Meta(min_length=1, max_length=128)]]


def check_function_tags(tags: Mapping[str, str]) -> None:
    """Raise LambdaError for reserved keys, or more tags than a function may have."""
    for key in walk(tags):
        if is_reserved_tag(key):
            raise parameter_refusal(say.RESERVED_FUNCTION_TAG.format(key=say.cut(key)))
    if len(tags) > FUNCTION_TAGS_MAX:
        raise parameter_refusal(say.TOO_MANY_FUNCTION_TAGS.format(most=FUNCTION_TAGS_MAX))


def find_tagged_function(functions: Functions, caller: Caller, request: ListTagsRequest) -> FunctionDescription:
    """The function of an ARN without a qualifier. Raises LambdaError and StorageError."""
    reference = parse_arn(request.Resource)
    if reference is None:
        raise parameter_refusal(say.TAGS_OF_FUNCTIONS)
    if reference.qualifier is not None:
        raise parameter_refusal(say.TAGS_OF_VERSIONS)
    return functions.find(request.Resource, caller)


def added_tags(_: object, present: TagSet, given: TagSet) -> dict[str, str]:
    """The tags of a function or mapping with these added. Raises LambdaError."""
    tags = {**present, **given}
    check_function_tags(tags)
    return tags


async def store_function_tags(
    functions: Functions, _: Caller, description: FunctionDescription, change: TagsChange
) -> TagSet:
    """Store what `change` makes of a function's tags. Raises LambdaError and StorageError."""
    changed = await functions.change(
        description, lambda current: msgspec.structs.replace(current, tags=change(current.tags))
    )
    return changed.tags
