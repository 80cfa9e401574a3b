"""The operations on scaling policies: PutScalingPolicy, DeleteScalingPolicy, DescribeScalingPolicies,
GetPredictiveScalingForecast.
"""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.autoscaling import limits
from hashrange.autoscaling.api import members
from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.enumerations import METRIC_TYPES
from hashrange.autoscaling.records import ScalingPolicy, TargetPlace, Tracking
from hashrange.autoscaling.tracking import LOW_MINUTES, PREDEFINED, alarm_names, metric_queries, unit_name
from hashrange.aws_services.operation import FORM, Caller, Operation, ServiceError
from hashrange.cloudwatch.alarms.alarm import Threshold, arn_of
from hashrange.cloudwatch.alarms.alarm_queries import check_queries, read_queries
from hashrange.cloudwatch.api.checks import DimensionMember, check_metric, check_one_of, dimensions_of
from hashrange.cloudwatch.limits import METRIC_VALUE_MAX
from hashrange.cloudwatch.units import STANDARD_UNITS
from hashrange.messages import autoscaling as sentences

STATISTICS = ("Average", "Minimum", "Maximum", "SampleCount", "Sum")
BESIDE_METRICS = ("MetricName", "Namespace", "Dimensions", "Statistic", "Unit")
"""Members that a customized metric with Metrics does not have."""
CONFIGURATION = "TargetTrackingScalingPolicyConfiguration"
KINDS = ("StepScaling", "TargetTrackingScaling", "PredictiveScaling")
POLICY_NAME = r"[^\u0000-\u001f\u007f-\u009f]+"
"""Names of policies: printable characters, `\\p{Print}+` in the service model."""
CooldownSeconds = Annotated[int, Meta(ge=0, le=limits.SCALING_INTEGER_MAX)]


class PredefinedMetricMember(msgspec.Struct, frozen=True):
    """A metric that the service knows."""

    PredefinedMetricType: str
    ResourceLabel: str | None = None


class CustomizedMetricMember(msgspec.Struct, frozen=True, omit_defaults=True):
    """A metric of one's own, or metric math over some."""

    MetricName: str | None = None
    Namespace: str | None = None
    Dimensions: list[DimensionMember] | None = None
    Statistic: str | None = None
    Unit: str | None = None
    Metrics: list[dict[str, Any]] | None = None


class TrackingMember(msgspec.Struct, frozen=True):
    """Target tracking. Cooldowns in seconds."""

    TargetValue: float
    PredefinedMetricSpecification: PredefinedMetricMember | None = None
    CustomizedMetricSpecification: CustomizedMetricMember | None = None
    ScaleOutCooldown: CooldownSeconds | None = None
    ScaleInCooldown: CooldownSeconds | None = None
    DisableScaleIn: bool | None = None


class DeleteScalingPolicyRequest(members.TargetMembers, frozen=True):
    """Request of DeleteScalingPolicy."""

    PolicyName: str


class PutScalingPolicyRequest(DeleteScalingPolicyRequest, frozen=True, kw_only=True):
    """Request of PutScalingPolicy."""

    PolicyType: str | None = None
    StepScalingPolicyConfiguration: dict[str, Any] | None = None
    TargetTrackingScalingPolicyConfiguration: TrackingMember | None = None
    PredictiveScalingPolicyConfiguration: dict[str, Any] | None = None


async def put_scaling_policy(
    scaling: AutoScaling, caller: Caller, request: PutScalingPolicyRequest
) -> Mapping[str, Any]:
    """PutScalingPolicy: creates a target tracking policy with its alarms, or replaces it.

    Returns the ARN of the policy, and its alarms. Raises ServiceError and StorageError.
    """
    members.check_scaling_name("PolicyName", request.PolicyName, POLICY_NAME)
    place = request.place(caller)
    members.SCALING_MEMBERS.check_choice("PolicyType", request.PolicyType, KINDS)
    if request.PolicyType not in (None, "TargetTrackingScaling") or request.StepScalingPolicyConfiguration:
        members.refuse_scaling(sentences.ONLY_TRACKING)
    given = request.TargetTrackingScalingPolicyConfiguration
    if given is None:
        members.refuse_scaling(sentences.CONFIGURATION_MISSING)
    tracking = _tracking(place, given)
    members.registered(scaling, place)
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
        members.refuse_scaling(sentences.ONE_METRIC)
    if predefined is not None:
        path, kind = f"{CONFIGURATION}.PredefinedMetricSpecification", predefined.PredefinedMetricType
        members.SCALING_MEMBERS.check_length(
            f"{path}.ResourceLabel", predefined.ResourceLabel, limits.SCALING_LABEL_LENGTH_MAX
        )
        members.SCALING_MEMBERS.check_choice(f"{path}.PredefinedMetricType", kind, METRIC_TYPES)
        if PREDEFINED.get(kind) != unit_name(place):
            members.refuse_scaling(sentences.METRIC_OF_DIMENSION.format(metric=kind, dimension=place.dimension))
        least, most = limits.SCALING_TARGET_PERCENT_MIN, limits.SCALING_TARGET_PERCENT_MAX
        if not least <= given.TargetValue <= most:
            members.refuse_scaling(sentences.TARGET_VALUE.format(least=least, most=most, metric=kind))
    else:
        assert customized is not None
        _check_customized(place, customized)
        if not given.TargetValue > 0:
            members.refuse_scaling(sentences.TARGET_POSITIVE)
        if not 1 / METRIC_VALUE_MAX <= given.TargetValue <= METRIC_VALUE_MAX:
            members.refuse_scaling(sentences.TARGET_OUT_OF_RANGE)
    return Tracking(
        given.TargetValue,
        None if predefined is None else predefined.PredefinedMetricType,
        None if customized is None else _kept(customized),
        given.ScaleOutCooldown,
        given.ScaleInCooldown,
        bool(given.DisableScaleIn),
        None if predefined is None else predefined.ResourceLabel,
    )


def _kept(given: CustomizedMetricMember) -> dict[str, Any]:
    """The metric as it is kept and shown: as it was given, but for members that the API does not have."""
    kept: dict[str, Any] = msgspec.to_builtins(given)
    if given.Metrics:
        kept["Metrics"] = _known(given.Metrics, metric_queries(given.Metrics))
    return kept


def _known(given: Any, read: Any) -> Any:
    """What is given, but only those members that are in what was read of it."""
    if isinstance(read, dict):
        return {name: _known(value, read[name]) for name, value in given.items() if name in read}
    if isinstance(read, list):
        return [_known(*pair) for pair in zip(given, read, strict=True)]
    return given


def _check_customized(place: TargetPlace, given: CustomizedMetricMember) -> None:
    try:
        if given.Metrics:
            beside = [name for name in BESIDE_METRICS if getattr(given, name) is not None]
            if beside:
                members.refuse_scaling(sentences.METRICS_BESIDE.format(names=", ".join(beside)))
            queries = read_queries(metric_queries(given.Metrics))
            check_queries(
                Caller(place.account, place.region), queries, Threshold("GreaterThanThreshold", 0.0, LOW_MINUTES)
            )
        else:
            _check_metric(given)
    except ServiceError as error:
        raise members.scaling_invalid(error.message) from None


def _check_metric(given: CustomizedMetricMember) -> None:
    """Raise ServiceError unless an alarm can watch the metric."""
    if not given.Namespace or not given.MetricName or not given.Statistic:
        members.refuse_scaling(sentences.METRIC_INCOMPLETE)
    check_metric(given.Namespace, given.MetricName)
    members.SCALING_MEMBERS.check_choice(
        f"{CONFIGURATION}.CustomizedMetricSpecification.Statistic", given.Statistic, STATISTICS
    )
    check_one_of("Unit", given.Unit, STANDARD_UNITS)
    dimensions_of(given.Dimensions)


def _check_others(scaling: AutoScaling, place: TargetPlace, name: str, tracking: Tracking) -> None:
    """Raise ServiceError if another policy of the target follows the same metric, or there are too many."""
    others = [one for one in scaling.policies.among(place).values() if one.name != name]
    metric = tracking.predefined, tracking.customized
    if any((one.tracking.predefined, one.tracking.customized) == metric for one in others):
        members.refuse_scaling(sentences.SECOND_POLICY)
    if len(others) >= limits.SCALING_POLICIES_MAX:
        message = sentences.TOO_MANY.format(most=limits.SCALING_POLICIES_MAX, what="policies of a scalable target")
        raise ServiceError("LimitExceededException", message)


async def delete_scaling_policy(scaling: AutoScaling, caller: Caller, request: DeleteScalingPolicyRequest) -> None:
    """DeleteScalingPolicy: deletes a policy and its alarms.

    The capacity stays as it is. Raises ServiceError and StorageError.
    """
    place = request.place(caller)
    policy = scaling.policy(place, request.PolicyName)
    if policy is None:
        raise members.not_found(sentences.NO_POLICY, place, request.PolicyName[:256])
    await scaling.remove_policy(policy)


class DescribeScalingPoliciesRequest(members.DescribingResourceRequest, frozen=True, kw_only=True):
    """Request of DescribeScalingPolicies."""

    PolicyNames: list[str] | None = None


async def describe_scaling_policies(
    scaling: AutoScaling, caller: Caller, request: DescribeScalingPoliciesRequest
) -> Mapping[str, Any]:
    """DescribeScalingPolicies: the policies of an account and Region.

    Returns a page of policies. Raises ServiceError.
    """
    members.check_space(request.ServiceNamespace, request.ScalableDimension)
    every = scaling.policies.among(caller)
    return members.described_named(request, "PolicyNames", every, "ScalingPolicies", _described_policy)


def _described_policy(policy: ScalingPolicy) -> dict[str, Any]:
    tracking = policy.tracking
    predefined = None
    if tracking.predefined is not None:
        predefined = {"PredefinedMetricType": tracking.predefined, "ResourceLabel": tracking.resource_label}
    return {
        "PolicyARN": policy.arn,
        "PolicyName": policy.name,
        **members.place_members(policy.place),
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
        "CreationTime": members.time_of(policy.created_seconds),
    }


class GetPredictiveScalingForecastRequest(members.TargetMembers, frozen=True, kw_only=True):
    """Request of GetPredictiveScalingForecast."""

    PolicyName: str
    StartTime: datetime
    EndTime: datetime


async def get_predictive_scaling_forecast(
    scaling: AutoScaling, caller: Caller, request: GetPredictiveScalingForecastRequest
) -> None:
    """GetPredictiveScalingForecast: refused, because predictive scaling does not exist for DynamoDB.

    Raises ServiceError.
    """
    request.place(caller)
    members.refuse_scaling(sentences.NO_FORECAST)


OPERATIONS = (
    Operation("PutScalingPolicy", PutScalingPolicyRequest, put_scaling_policy, FORM),
    Operation("DeleteScalingPolicy", DeleteScalingPolicyRequest, delete_scaling_policy, FORM),
    Operation("DescribeScalingPolicies", DescribeScalingPoliciesRequest, describe_scaling_policies, FORM),
    Operation(
        "GetPredictiveScalingForecast", GetPredictiveScalingForecastRequest, get_predictive_scaling_forecast, FORM
    ),
)
