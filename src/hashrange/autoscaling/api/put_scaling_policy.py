"""PutScalingPolicy: creates a target tracking policy with its alarms, or replaces it."""

import uuid
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.autoscaling.api.members import (
    check_scaling_name,
    check_scaling_value,
    refuse_scaling,
    registered,
    scaling_invalid,
    target_place,
)
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.limits import (
    SCALING_POLICIES_MAX,
    SCALING_TARGET_PERCENT_MAX,
    SCALING_TARGET_PERCENT_MIN,
)
from hashrange.autoscaling.records import ScalingPolicy, TargetPlace, Tracking
from hashrange.autoscaling.tracking import LOW_MINUTES, PREDEFINED, alarm_names, metric_queries, unit_name
from hashrange.aws_services.operation import Caller, ServiceError, ServiceOperation
from hashrange.cloudwatch.alarms.alarm import Threshold, arn_of
from hashrange.cloudwatch.alarms.alarm_queries import check_queries, read_queries
from hashrange.messages import autoscaling as sentences

STATISTICS = ("Average", "Minimum", "Maximum", "SampleCount", "Sum")
KINDS = ("StepScaling", "TargetTrackingScaling", "PredictiveScaling")
POLICY_NAME = r"[^\u0000-\u001f\u007f-\u009f]+"
"""Names of policies: printable characters, `\\p{Print}+` in the service model."""
CooldownSeconds = Annotated[int, Meta(ge=0)]


class PredefinedMetricMember(msgspec.Struct, frozen=True):
    """A metric that the service knows."""

    PredefinedMetricType: str
    ResourceLabel: str | None = None


class TrackingMember(msgspec.Struct, frozen=True):
    """Target tracking. Cooldowns in seconds."""

    TargetValue: float
    PredefinedMetricSpecification: PredefinedMetricMember | None = None
    CustomizedMetricSpecification: dict[str, Any] | None = None
    ScaleOutCooldown: CooldownSeconds | None = None
    ScaleInCooldown: CooldownSeconds | None = None
    DisableScaleIn: bool | None = None


class PutScalingPolicyRequest(msgspec.Struct, frozen=True):
    """Request of PutScalingPolicy."""

    PolicyName: str
    ServiceNamespace: str
    ResourceId: str
    ScalableDimension: str
    PolicyType: str | None = None
    StepScalingPolicyConfiguration: dict[str, Any] | None = None
    TargetTrackingScalingPolicyConfiguration: TrackingMember | None = None
    PredictiveScalingPolicyConfiguration: dict[str, Any] | None = None


async def put_scaling_policy(
    scaling: AutoScaling, caller: Caller, request: PutScalingPolicyRequest
) -> Mapping[str, Any]:
    """Returns the ARN of the policy, and its alarms. Raises ServiceError and StorageError."""
    check_scaling_name("PolicyName", request.PolicyName, POLICY_NAME)
    place = target_place(caller, request.ServiceNamespace, request.ResourceId, request.ScalableDimension)
    if request.PolicyType is not None:
        check_scaling_value("PolicyType", request.PolicyType, KINDS)
    if request.PolicyType not in (None, "TargetTrackingScaling") or request.StepScalingPolicyConfiguration:
        refuse_scaling(sentences.ONLY_TRACKING)
    given = request.TargetTrackingScalingPolicyConfiguration
    if given is None:
        refuse_scaling(sentences.CONFIGURATION_MISSING)
    tracking = _tracking(place, given)
    registered(scaling, place)
    before = scaling.policy(place, request.PolicyName)
    _check_others(scaling, place, request.PolicyName, tracking)
    policy = ScalingPolicy(
        place,
        request.PolicyName,
        str(uuid.uuid4()) if before is None else before.id,
        scaling.now_seconds() if before is None else before.created_seconds,
        tracking,
        alarm_names(place, tracking, {} if before is None else before.alarms),
    )
    await scaling.keep_policy(policy)
    return {"PolicyARN": policy.arn, "Alarms": alarm_members(policy)}


def alarm_members(policy: ScalingPolicy) -> list[dict[str, str]]:
    """The alarms of a policy as replies have them."""
    place = policy.place
    return [
        {"AlarmName": name, "AlarmARN": arn_of(place.account, place.region, name)} for name in policy.alarms.values()
    ]


def _tracking(place: TargetPlace, given: TrackingMember) -> Tracking:
    predefined, customized = given.PredefinedMetricSpecification, given.CustomizedMetricSpecification
    if (predefined is None) == (customized is None):
        refuse_scaling(sentences.ONE_METRIC)
    if predefined is not None:
        kind = predefined.PredefinedMetricType
        check_scaling_value("PredefinedMetricType", kind, tuple(PREDEFINED))
        if PREDEFINED[kind] != unit_name(place):
            refuse_scaling(sentences.METRIC_OF_DIMENSION.format(metric=kind, dimension=place.dimension))
        least, most = SCALING_TARGET_PERCENT_MIN, SCALING_TARGET_PERCENT_MAX
        if not least <= given.TargetValue <= most:
            refuse_scaling(sentences.TARGET_VALUE.format(least=least, most=most, metric=kind))
    else:
        assert customized is not None
        _check_customized(customized)
        if not given.TargetValue > 0:
            refuse_scaling(sentences.TARGET_POSITIVE)
    return Tracking(
        given.TargetValue,
        None if predefined is None else predefined.PredefinedMetricType,
        customized,
        given.ScaleOutCooldown,
        given.ScaleInCooldown,
        bool(given.DisableScaleIn),
        None if predefined is None else predefined.ResourceLabel,
    )


def _check_customized(given: Mapping[str, Any]) -> None:
    if given.get("Metrics"):
        if not isinstance(given["Metrics"], list) or not all(isinstance(one, dict) for one in given["Metrics"]):
            refuse_scaling(sentences.METRIC_INCOMPLETE)
        try:
            queries = read_queries(metric_queries(given["Metrics"]))
            check_queries(queries, Threshold("GreaterThanThreshold", 0.0, LOW_MINUTES))
        except ServiceError as error:
            raise scaling_invalid(error.message) from None
        return
    texts = [given.get(name) for name in ("Namespace", "MetricName", "Statistic")]
    dimensions = given.get("Dimensions") or []
    has_dimensions = isinstance(dimensions, list) and all(
        isinstance(one, dict) and isinstance(one.get("Name"), str) and isinstance(one.get("Value"), str)
        for one in dimensions
    )
    if not all(isinstance(text, str) and text for text in texts) or not has_dimensions:
        refuse_scaling(sentences.METRIC_INCOMPLETE)
    check_scaling_value("Statistic", str(given["Statistic"]), STATISTICS)


def _check_others(scaling: AutoScaling, place: TargetPlace, name: str, tracking: Tracking) -> None:
    """Raise ServiceError if another policy of the target follows the same predefined metric, or there are too many."""
    others = [one for one in scaling.policies(place.account, place.region) if one.place == place and one.name != name]
    if tracking.predefined is not None and any(one.tracking.predefined == tracking.predefined for one in others):
        refuse_scaling(sentences.SECOND_POLICY)
    if len(others) >= SCALING_POLICIES_MAX:
        message = sentences.TOO_MANY.format(most=SCALING_POLICIES_MAX, what="policies of a scalable target")
        raise ServiceError("LimitExceededException", message)


OPERATION = ServiceOperation("PutScalingPolicy", PutScalingPolicyRequest, put_scaling_policy)
