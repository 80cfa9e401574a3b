"""ListTags: the tags of an event source mapping or a function."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.functions.api import list_tags
from hashrange.triggers.api.mapping_tags import find_tagged_mapping
from hashrange.triggers.triggers import Triggers


async def list_all_tags(triggers: Triggers, caller: Caller, request: list_tags.ListTagsRequest) -> Mapping[str, Any]:
    """All tags."""
    mapping = find_tagged_mapping(triggers, caller, request.Resource)
    if mapping is None:
        return await list_tags.list_tags(triggers.functions, caller, request)
    return {"Tags": mapping.tags}


OPERATION = msgspec.structs.replace(list_tags.OPERATION, run=list_all_tags)
