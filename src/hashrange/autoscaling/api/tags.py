"""The operations on tags of scalable targets: TagResource, UntagResource, ListTagsForResource."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.autoscaling.api.members import check_scaling_names, check_target_tags, tagged
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.limits import SCALING_TAG_KEY_LENGTH_MAX, SCALING_TAG_KEYS_MAX, SCALING_TAGS_MAX
from hashrange.aws_services.operation import FORM, Caller, Operation, ServiceError
from hashrange.messages import autoscaling as sentences


class TagTargetRequest(msgspec.Struct, frozen=True):
    """Request of TagResource."""

    ResourceARN: str
    Tags: dict[str, str]


async def tag_target(scaling: AutoScaling, caller: Caller, request: TagTargetRequest) -> None:
    """Adds the tags. Raises ServiceError and StorageError."""
    target = tagged(scaling, caller, request.ResourceARN)
    check_target_tags(request.Tags)
    tags = target.tags | request.Tags
    if len(tags) > SCALING_TAGS_MAX:
        message = sentences.TOO_MANY_TAGS.format(most=SCALING_TAGS_MAX)
        raise ServiceError("TooManyTagsException", message, ResourceName=target.arn)
    await scaling.keep_target(msgspec.structs.replace(target, tags=tags))


class UntagTargetRequest(msgspec.Struct, frozen=True):
    """Request of UntagResource."""

    ResourceARN: str
    TagKeys: list[str]


async def untag_target(scaling: AutoScaling, caller: Caller, request: UntagTargetRequest) -> None:
    """Removes the tags. Raises ServiceError and StorageError."""
    check_scaling_names("TagKeys", request.TagKeys, SCALING_TAG_KEYS_MAX, SCALING_TAG_KEY_LENGTH_MAX)
    target = tagged(scaling, caller, request.ResourceARN)
    tags = {key: value for key, value in target.tags.items() if key not in request.TagKeys}
    await scaling.keep_target(msgspec.structs.replace(target, tags=tags))


class ListTagsForResourceRequest(msgspec.Struct, frozen=True):
    """Request of ListTagsForResource."""

    ResourceARN: str


async def list_tags_for_resource(
    scaling: AutoScaling, caller: Caller, request: ListTagsForResourceRequest
) -> Mapping[str, Any]:
    """Returns the tags. Raises ServiceError."""
    return {"Tags": tagged(scaling, caller, request.ResourceARN).tags}


OPERATIONS = (
    Operation("TagResource", TagTargetRequest, tag_target, FORM),
    Operation("UntagResource", UntagTargetRequest, untag_target, FORM),
    Operation("ListTagsForResource", ListTagsForResourceRequest, list_tags_for_resource, FORM),
)
