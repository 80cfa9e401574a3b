"""UntagResource: removes tags from a scalable target; keys without a tag are passed over."""

import msgspec

from hashrange.autoscaling.api.members import check_scaling_names, tagged
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.limits import SCALING_TAG_KEY_LENGTH_MAX, SCALING_TAG_KEYS_MAX
from hashrange.aws_services.operation import FORM, Caller, Operation


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


OPERATION = Operation("UntagResource", UntagTargetRequest, untag_target, FORM)
