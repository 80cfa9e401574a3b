"""DescribeScalingActivities: what has been scaled in the last six weeks and why, newest first;
also why something was not, if asked.
"""

from collections.abc import Mapping
from typing import Any

from hashrange.autoscaling.api.members import (
    DescribingResourceRequest,
    check_space,
    described_part,
    filtered,
    place_members,
    time_of,
)
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.records import Activity, TargetPlace
from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.items.steps import walk


class DescribeScalingActivitiesRequest(DescribingResourceRequest, frozen=True, kw_only=True):
    """Request of DescribeScalingActivities."""

    IncludeNotScaledActivities: bool | None = None


async def describe_scaling_activities(
    scaling: AutoScaling, caller: Caller, request: DescribeScalingActivitiesRequest
) -> Mapping[str, Any]:
    """Returns a page of activities. Raises ServiceError and StorageError."""
    check_space(request.ServiceNamespace, request.ScalableDimension)
    every = scaling.activities(caller.account, caller.region)
    found = filtered(request, request.resource_ids, every, lambda one: one[0])
    if not request.IncludeNotScaledActivities:
        found = [one for one in walk(found) if one[1].not_scaled is None]
    page, token = described_part(request, found)
    return {"ScalingActivities": [_described(scaling, *one) for one in page], "NextToken": token}


def _described(scaling: AutoScaling, place: TargetPlace, activity: Activity) -> dict[str, Any]:
    reasons = None
    if activity.not_scaled is not None:
        target = scaling.target(place)
        bounds = {} if target is None else {"MaxCapacity": target.maximum, "MinCapacity": target.minimum}
        reasons = [{"Code": activity.not_scaled, **bounds, "CurrentCapacity": activity.current}]
    return {
        "ActivityId": activity.id,
        **place_members(place),
        "Description": activity.description,
        "Cause": activity.cause,
        "StartTime": time_of(activity.begin_seconds),
        "EndTime": time_of(activity.end_seconds),
        "StatusCode": activity.status,
        "StatusMessage": activity.message,
        "NotScaledReasons": reasons,
    }


OPERATION = Operation("DescribeScalingActivities", DescribeScalingActivitiesRequest, describe_scaling_activities, FORM)
