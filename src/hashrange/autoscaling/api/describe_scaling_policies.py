"""DescribeScalingPolicies: the policies of an account and Region."""

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
from hashrange.autoscaling.api.put_scaling_policy import alarm_members
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.limits import SCALING_DESCRIBED_MAX
from hashrange.autoscaling.records import ScalingPolicy
from hashrange.aws_services.operation import FORM, Caller, Operation


class DescribeScalingPoliciesRequest(msgspec.Struct, frozen=True):
    """Request of DescribeScalingPolicies."""

    ServiceNamespace: str
    PolicyNames: list[str] | None = None
    ResourceId: str | None = None
    ScalableDimension: str | None = None
    MaxResults: int | None = None
    NextToken: str | None = None


async def describe_scaling_policies(
    scaling: AutoScaling, caller: Caller, request: DescribeScalingPoliciesRequest
) -> Mapping[str, Any]:
    """Returns a page of policies. Raises ServiceError."""
    check_space(request.ServiceNamespace, request.ScalableDimension)
    check_scaling_names("PolicyNames", request.PolicyNames or (), SCALING_DESCRIBED_MAX)
    every = scaling.policies(caller.account, caller.region)
    resources = None if request.ResourceId is None else [request.ResourceId]
    found = filtered(every, lambda one: one.place, resources, request.ScalableDimension)
    if request.PolicyNames:
        found = [one for one in found if one.name in request.PolicyNames]
    page, token = described_part(found, request.NextToken, request.MaxResults)
    return {"ScalingPolicies": [_described(policy) for policy in page], "NextToken": token}


def _described(policy: ScalingPolicy) -> dict[str, Any]:
    tracking = policy.tracking
    predefined = None
    if tracking.predefined is not None:
        predefined = {"PredefinedMetricType": tracking.predefined, "ResourceLabel": tracking.resource_label}
    return {
        "PolicyARN": policy.arn,
        "PolicyName": policy.name,
        **place_members(policy.place),
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": {
            "TargetValue": tracking.target_value,
            "PredefinedMetricSpecification": predefined,
            "CustomizedMetricSpecification": tracking.customized,
            "ScaleOutCooldown": tracking.out_cooldown_seconds,
            "ScaleInCooldown": tracking.in_cooldown_seconds,
            "DisableScaleIn": tracking.never_scales_in,
        },
        "Alarms": alarm_members(policy),
        "CreationTime": time_of(policy.created_seconds),
    }


OPERATION = Operation("DescribeScalingPolicies", DescribeScalingPoliciesRequest, describe_scaling_policies, FORM)
