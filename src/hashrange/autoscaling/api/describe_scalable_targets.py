"""DescribeScalableTargets: the targets of an account and Region."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.autoscaling.api.members import check_space, described_part, filtered, place_members, time_of
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.records import ScalableTarget
from hashrange.aws_services.operation import FORM, Caller, Operation


class DescribeScalableTargetsRequest(msgspec.Struct, frozen=True):
    """Request of DescribeScalableTargets."""

    ServiceNamespace: str
    ResourceIds: list[str] | None = None
    ScalableDimension: str | None = None
    MaxResults: int | None = None
    NextToken: str | None = None


async def describe_scalable_targets(
    scaling: AutoScaling, caller: Caller, request: DescribeScalableTargetsRequest
) -> Mapping[str, Any]:
    """Returns a page of targets. Raises ServiceError."""
    check_space(request.ServiceNamespace, request.ScalableDimension)
    every = scaling.targets(caller.account, caller.region)
    found = filtered(every, lambda one: one.place, request.ResourceIds, request.ScalableDimension)
    page, token = described_part(found, request.NextToken, request.MaxResults)
    return {"ScalableTargets": [_described(target) for target in page], "NextToken": token}


def _described(target: ScalableTarget) -> dict[str, Any]:
    return {
        **place_members(target.place),
        "MinCapacity": target.minimum,
        "MaxCapacity": target.maximum,
        "RoleARN": target.role_arn,
        "CreationTime": time_of(target.created_seconds),
        "SuspendedState": {
            "DynamicScalingInSuspended": target.suspended.scaling_in,
            "DynamicScalingOutSuspended": target.suspended.scaling_out,
            "ScheduledScalingSuspended": target.suspended.scheduled,
        },
        "ScalableTargetARN": target.arn,
    }


OPERATION = Operation("DescribeScalableTargets", DescribeScalableTargetsRequest, describe_scalable_targets, FORM)
