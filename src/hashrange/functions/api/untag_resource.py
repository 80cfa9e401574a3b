"""UntagResource: remove tags from a function; keys that it does not have are ignored."""

from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.operation import RestWire
from hashrange.functions.api.tags import TaggedArn, find_tagged_function
from hashrange.functions.description import FunctionDescription
from hashrange.functions.functions import Functions


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


OPERATION = Operation(
    "UntagResource",
    UntagFunctionRequest,
    untag_function,
    RestWire("DELETE", "/2017-03-31/tags/{Resource}", status=204, query={"tagKeys": "TagKeys"}),
)
