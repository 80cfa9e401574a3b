"""ListTags: a function's tags."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.functions.api.operation import LambdaOperation
from hashrange.functions.api.tags import TaggedArn, find_tagged_function
from hashrange.functions.functions import Functions


class ListTagsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function's ARN."""

    Resource: TaggedArn


async def list_tags(functions: Functions, caller: Caller, request: ListTagsRequest) -> Mapping[str, Any]:
    """All tags."""
    return {"Tags": find_tagged_function(functions, caller, request.Resource).tags}


OPERATION = LambdaOperation(
    name="ListTags",
    method="GET",
    path="/2017-03-31/tags/{Resource}",
    request=ListTagsRequest,
    run=list_tags,
)
