"""ListTagsForResource: the tags of a scalable target."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.autoscaling.api.members import tagged
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.aws_services.operation import FORM, Caller, Operation


class ListTagsForResourceRequest(msgspec.Struct, frozen=True):
    """Request of ListTagsForResource."""

    ResourceARN: str


async def list_tags_for_resource(
    scaling: AutoScaling, caller: Caller, request: ListTagsForResourceRequest
) -> Mapping[str, Any]:
    """Returns the tags. Raises ServiceError."""
    return {"Tags": tagged(scaling, caller, request.ResourceARN).tags}


OPERATION = Operation("ListTagsForResource", ListTagsForResourceRequest, list_tags_for_resource, FORM)
