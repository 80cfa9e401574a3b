"""TagResource: adds tags to a scalable target, or changes their values."""

import msgspec

from hashrange.autoscaling.api.members import check_target_tags, tagged
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.limits import SCALING_TAGS_MAX
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


OPERATION = Operation("TagResource", TagTargetRequest, tag_target, FORM)
