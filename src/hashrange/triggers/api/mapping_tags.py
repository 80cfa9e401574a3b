"""The operations on tags of event source mappings, and of functions too: TagResource, UntagResource, ListTags."""

import re

from hashrange.aws_services.operation import Caller
from hashrange.aws_services.tagging import Tagging, TagsChange, TagSet
from hashrange.functions.api import tags as function_tags
from hashrange.functions.api.operation import LambdaError, rest_operation
from hashrange.functions.description import FunctionDescription
from hashrange.messages import event_source_mappings as messages
from hashrange.triggers.api.lookup import find_mapping, require_resting
from hashrange.triggers.mapping import EventSourceMapping
from hashrange.triggers.triggers import Triggers

_match_arn = re.compile(
    r"arn:aws[a-zA-Z-]*:lambda:(?P<region>[^:]+):(?P<account>\d{12}):event-source-mapping:(?P<uuid>[0-9a-fA-F-]{36})",
    re.ASCII,
).fullmatch


def _find(
    triggers: Triggers, caller: Caller, request: function_tags.ListTagsRequest
) -> EventSourceMapping | FunctionDescription:
    """The caller's mapping or function with the ARN. Raises LambdaError if there is none, and StorageError."""
    found = _match_arn(request.Resource)
    if found is None:
        return function_tags.find_tagged_function(triggers.functions, caller, request)
    if (found["account"], found["region"]) != caller:
        raise LambdaError(404, "ResourceNotFoundException", messages.NO_MAPPING)
    return find_mapping(triggers, caller, found["uuid"])


async def _store(
    triggers: Triggers, caller: Caller, tagged: EventSourceMapping | FunctionDescription, change: TagsChange
) -> TagSet:
    """Store the tags that `change` returns for the present ones. Raises LambdaError and StorageError.

    The state of a mapping does not change, because Terraform removes tags, adds tags and updates the mapping
    without waiting in between. Source: its AWS provider, version 6.
    That a mapping whose state is changing is refused is unconfirmed.
    """
    if isinstance(tagged, FunctionDescription):
        return await function_tags.store_function_tags(triggers.functions, caller, tagged, change)
    require_resting(triggers, tagged, LambdaError(409, "ResourceConflictException", messages.UPDATE_IN_USE))
    tags = change(tagged.tags)
    await triggers.mappings.replace_tags(tagged, tags)
    return tags


TAGGING = Tagging(_find, function_tags.added_tags, _store)
OPERATIONS = (
    rest_operation("TagResource", function_tags.TagFunctionRequest, TAGGING.tag, status=204),
    rest_operation(
        "UntagResource", function_tags.UntagFunctionRequest, TAGGING.untag, status=204, query={"tagKeys": "TagKeys"}
    ),
    rest_operation("ListTags", function_tags.ListTagsRequest, TAGGING.list_tags),
)
