"""TagResource: add tags to an event source mapping or a function, or replace their values."""

from collections.abc import Mapping

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.functions.api import tag_resource
from hashrange.functions.api.tags import check_function_tags
from hashrange.triggers.api.mapping_tags import change_mapping_tags, find_tagged_mapping
from hashrange.triggers.triggers import Triggers


async def tag_mapping_or_function(triggers: Triggers, caller: Caller, request: tag_resource.TagFunctionRequest) -> None:
    """Store the tags."""
    mapping = find_tagged_mapping(triggers, caller, request.Resource)
    if mapping is None:
        await tag_resource.tag_function(triggers.functions, caller, request)
        return

    def add(present: Mapping[str, str]) -> Mapping[str, str]:
        tags = {**present, **request.Tags}
        check_function_tags(tags)
        return tags

    await change_mapping_tags(triggers, caller, mapping, add)


OPERATION = msgspec.structs.replace(tag_resource.OPERATION, run=tag_mapping_or_function)
