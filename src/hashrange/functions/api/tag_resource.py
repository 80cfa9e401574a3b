"""TagResource: add tags to a function, or replace their values."""

import msgspec

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api import members
from hashrange.functions.api.operation import RestWire
from hashrange.functions.api.tags import TaggedArn, check_function_tags, find_tagged_function
from hashrange.functions.description import FunctionDescription
from hashrange.functions.functions import Functions


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


OPERATION = Operation(
    "TagResource", TagFunctionRequest, tag_function, RestWire("POST", "/2017-03-31/tags/{Resource}", status=204)
)
