"""ListTags: a function's tags."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, Operation
from hashrange.functions.api.operation import RestWire
from hashrange.functions.api.tags import TaggedArn, find_tagged_function
from hashrange.functions.functions import Functions


class ListTagsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A function's ARN."""

    Resource: TaggedArn


async def list_tags(functions: Functions, caller: Caller, request: ListTagsRequest) -> Mapping[str, Any]:
    """All tags."""
    return {"Tags": find_tagged_function(functions, caller, request.Resource).tags}


OPERATION = Operation("ListTags", ListTagsRequest, list_tags, RestWire("GET", "/2017-03-31/tags/{Resource}"))
