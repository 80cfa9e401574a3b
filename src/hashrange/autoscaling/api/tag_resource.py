"""TagResource: adds tags to a scalable target, or changes their values."""

import msgspec

from hashrange.autoscaling.api.members import check_target_tags, tagged
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.aws_services.operation import Caller, ServiceOperation


class TagTargetRequest(msgspec.Struct, frozen=True):
    """Request of TagResource."""

    ResourceARN: str
    Tags: dict[str, str]


async def tag_target(scaling: AutoScaling, caller: Caller, request: TagTargetRequest) -> None:
    """Adds the tags. Raises ServiceError and StorageError."""
    target = tagged(scaling, caller, request.ResourceARN)
    tags = target.tags | request.Tags
    check_target_tags(tags, target.arn)
    await scaling.keep_target(msgspec.structs.replace(target, tags=tags))


OPERATION = ServiceOperation("TagResource", TagTargetRequest, tag_target)
