"""DescribeScheduledActions: the scheduled actions of an account and Region."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.autoscaling.api.members import (
    check_scaling_names,
    check_space,
    described_part,
    filtered,
    place_members,
    time_of,
)
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.limits import SCALING_DESCRIBED_MAX
from hashrange.autoscaling.records import ScheduledAction
from hashrange.aws_services.operation import FORM, Caller, Operation


class DescribeScheduledActionsRequest(msgspec.Struct, frozen=True):
    """Request of DescribeScheduledActions."""

    ServiceNamespace: str
    ScheduledActionNames: list[str] | None = None
    ResourceId: str | None = None
    ScalableDimension: str | None = None
    MaxResults: int | None = None
    NextToken: str | None = None


async def describe_scheduled_actions(
    scaling: AutoScaling, caller: Caller, request: DescribeScheduledActionsRequest
) -> Mapping[str, Any]:
    """Returns a page of scheduled actions. Raises ServiceError."""
    check_space(request.ServiceNamespace, request.ScalableDimension)
    check_scaling_names("ScheduledActionNames", request.ScheduledActionNames or (), SCALING_DESCRIBED_MAX)
    every = scaling.scheduled_actions(caller.account, caller.region)
    resources = None if request.ResourceId is None else [request.ResourceId]
    found = filtered(every, lambda one: one.place, resources, request.ScalableDimension)
    if request.ScheduledActionNames:
        found = [one for one in found if one.name in request.ScheduledActionNames]
    page, token = described_part(found, request.NextToken, request.MaxResults)
    return {"ScheduledActions": [_described(action) for action in page], "NextToken": token}


def _described(action: ScheduledAction) -> dict[str, Any]:
    return {
        "ScheduledActionName": action.name,
        "ScheduledActionARN": action.arn,
        **place_members(action.place),
        "Schedule": action.schedule,
        "Timezone": action.timezone,
        "StartTime": time_of(action.begin_seconds),
        "EndTime": time_of(action.end_seconds),
        "ScalableTargetAction": {"MinCapacity": action.minimum, "MaxCapacity": action.maximum},
        "CreationTime": time_of(action.created_seconds),
    }


OPERATION = Operation("DescribeScheduledActions", DescribeScheduledActionsRequest, describe_scheduled_actions, FORM)
