"""DescribeScalingActivities: what has been scaled in the last six weeks and why, newest first;
also why something was not, if asked.
"""

from collections.abc import Mapping
from typing import Any

from hashrange.autoscaling.api.members import (
    DescribingResourceRequest,
    check_space,
    described_records,
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
    if not request.IncludeNotScaledActivities:
        every = [one for one in walk(every) if one[1].not_scaled is None]

    def show(one: tuple[TargetPlace, Activity]) -> dict[str, Any]:
        return _described(scaling, *one)

    return described_records(request, request.resource_ids, every, lambda one: one[0], "ScalingActivities", show)


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
