"""UntagResource: remove tags from an event source mapping or a function; keys that it does not have are ignored."""

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.functions.api import untag_resource
from hashrange.triggers.api.mapping_tags import change_mapping_tags, find_tagged_mapping
from hashrange.triggers.triggers import Triggers


async def untag_mapping_or_function(
    triggers: Triggers, caller: Caller, request: untag_resource.UntagFunctionRequest
) -> None:
    """Store the other tags."""
    mapping = find_tagged_mapping(triggers, caller, request.Resource)
    if mapping is None:
        await untag_resource.untag_function(triggers.functions, caller, request)
        return
    gone = set(request.TagKeys)
    await change_mapping_tags(
        triggers, caller, mapping, lambda present: {key: value for key, value in present.items() if key not in gone}
    )


OPERATION = msgspec.structs.replace(untag_resource.OPERATION, run=untag_mapping_or_function)
