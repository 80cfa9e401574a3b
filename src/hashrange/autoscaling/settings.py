"""What does DynamoDB's own API tell of auto scaling? The bounds and policies of a target, in the members of
AutoScalingSettingsDescription.

Source: service behaviour, captures of October 2026: members that were not given are not there; a target without a
policy counts as not scaled; on demand, the settings are shown as disabled.
"""

from typing import Any, cast

from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.capacity import current_capacity
from hashrange.autoscaling.records import SERVICE_NAMESPACE, ScalableDimension, ScalingPolicy, TargetPlace
from hashrange.operations.operation import Scope


def described_settings(scaling: AutoScaling, scope: Scope, resource_id: str, unit: str) -> dict[str, Any] | None:
    """The settings for units of a table or an index; None if they are not scaled. `unit`: `ReadCapacityUnits` or
    `WriteCapacityUnits`.
    """
    level = "index" if "/index/" in resource_id else "table"
    dimension = cast("ScalableDimension", f"{SERVICE_NAMESPACE}:{level}:{unit}")
    place = TargetPlace(scope.account, scope.region, resource_id, dimension)
    target, policies = scaling.target(place), scaling.policies.among(place).values()
    if target is None or not policies:
        return None
    return {
        "MinimumUnits": target.minimum,
        "MaximumUnits": target.maximum,
        **({"AutoScalingDisabled": True} if current_capacity(scope, place) is None else {}),
        "AutoScalingRoleArn": target.role_arn,
        "ScalingPolicies": [_described(policy) for policy in sorted(policies, key=lambda one: one.name)],
    }


def _described(policy: ScalingPolicy) -> dict[str, Any]:
    tracking = policy.tracking
    members = {
        "DisableScaleIn": tracking.never_scales_in or None,
        "ScaleInCooldown": tracking.in_cooldown_seconds,
        "ScaleOutCooldown": tracking.out_cooldown_seconds,
        "TargetValue": tracking.target_value,
    }
    given = {name: value for name, value in members.items() if value is not None}
    return {"PolicyName": policy.name, "TargetTrackingScalingPolicyConfiguration": given}
