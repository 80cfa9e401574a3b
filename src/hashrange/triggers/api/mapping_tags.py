"""The operations on tags of event source mappings and of functions: TagResource, UntagResource, ListTags.

They take the place of those in `functions/api`, and pass requests on to them unless the ARN is a mapping's.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.functions.api import tags as function_tags
from hashrange.functions.api.operation import LambdaError
from hashrange.messages import event_source_mappings as messages
from hashrange.triggers.api.lookup import find_mapping
from hashrange.triggers.api.settings import mapping_refusal
from hashrange.triggers.mapping import EventSourceMapping
from hashrange.triggers.triggers import Triggers

_match_arn = re.compile(
    r"arn:aws[a-zA-Z-]*:lambda:(?P<region>[^:]+):(?P<account>\d{12}):event-source-mapping:(?P<uuid>[0-9a-fA-F-]{36})",
    re.ASCII,
).fullmatch
_ATTEMPTS_MAX = 3


def find_tagged_mapping(triggers: Triggers, caller: Caller, arn: str) -> EventSourceMapping | None:
    """The caller's mapping with this ARN; None if the ARN is no mapping's.
    Raises LambdaError if there is no such mapping.
    """
    found = _match_arn(arn)
    if found is None:
        return None
    if (found["account"], found["region"]) != caller:
        raise LambdaError(404, "ResourceNotFoundException", messages.NO_MAPPING)
    return find_mapping(triggers, caller, found["uuid"])


async def change_mapping_tags(
    triggers: Triggers,
    caller: Caller,
    mapping: EventSourceMapping,
    change: Callable[[Mapping[str, str]], Mapping[str, str]],
) -> None:
    """Store the tags that `change` returns for the present ones. Raises LambdaError and StorageError.

    The state of the mapping does not change, because Terraform removes tags, adds tags and updates the mapping
    without waiting in between. Source: its AWS provider, version 6.
    That a mapping whose state is changing is refused is unconfirmed.
    """
    if mapping.is_declared:
        raise mapping_refusal(messages.DECLARED)
    for _ in range(_ATTEMPTS_MAX):
        if triggers.mappings.shown_state(mapping) not in ("Enabled", "Disabled"):
            break
        if await triggers.mappings.replace_tags(mapping, change(mapping.tags)) is not None:
            return
        mapping = find_mapping(triggers, caller, mapping.uuid)
    raise LambdaError(409, "ResourceConflictException", messages.UPDATE_IN_USE)


async def tag_mapping_or_function(
    triggers: Triggers, caller: Caller, request: function_tags.TagFunctionRequest
) -> None:
    """Store the tags."""
    mapping = find_tagged_mapping(triggers, caller, request.Resource)
    if mapping is None:
        await function_tags.tag_function(triggers.functions, caller, request)
        return

    def add(present: Mapping[str, str]) -> Mapping[str, str]:
        tags = {**present, **request.Tags}
        function_tags.check_function_tags(tags)
        return tags

    await change_mapping_tags(triggers, caller, mapping, add)


async def untag_mapping_or_function(
    triggers: Triggers, caller: Caller, request: function_tags.UntagFunctionRequest
) -> None:
    """Store the other tags."""
    mapping = find_tagged_mapping(triggers, caller, request.Resource)
    if mapping is None:
        await function_tags.untag_function(triggers.functions, caller, request)
        return
    gone = set(request.TagKeys)
    await change_mapping_tags(
        triggers, caller, mapping, lambda present: {key: value for key, value in present.items() if key not in gone}
    )


async def list_all_tags(
    triggers: Triggers, caller: Caller, request: function_tags.ListTagsRequest
) -> Mapping[str, Any]:
    """All tags."""
    mapping = find_tagged_mapping(triggers, caller, request.Resource)
    if mapping is None:
        return await function_tags.list_tags(triggers.functions, caller, request)
    return {"Tags": mapping.tags}


OPERATIONS = (
    msgspec.structs.replace(function_tags.TAG_FUNCTION, run=tag_mapping_or_function),
    msgspec.structs.replace(function_tags.UNTAG_FUNCTION, run=untag_mapping_or_function),
    msgspec.structs.replace(function_tags.LIST_FUNCTION_TAGS, run=list_all_tags),
)
