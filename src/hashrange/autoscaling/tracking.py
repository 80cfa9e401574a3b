"""What does target tracking do? It has an alarm for too much use and one for too little; when one of them is in ALARM,
it computes the capacity at which use would be the target.

Numbers of minutes and the margin of the lower alarm are the service's, as far as they are published
(docs/autoscaling.md says which are not).
"""

import math
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from hashrange.autoscaling.capacity import is_read, names_of
from hashrange.autoscaling.limits import SCALING_INTEGER_MAX
from hashrange.autoscaling.records import ScalingPolicy, TargetPlace, Tracking
from hashrange.cloudwatch.alarms.alarm import AlarmActions, AlarmDefinition, Threshold, WatchedMetric
from hashrange.cloudwatch.alarms.alarm_queries import check_query_count, kept_queries, read_queries
from hashrange.cloudwatch.dynamodb.metric_ids import subject_dimensions
from hashrange.cloudwatch.limits import ALARM_NAME_LENGTH_MAX

MINUTE_SECONDS = 60
GAUGE_SECONDS = 300
HIGH_MINUTES = 2
"""Minutes above the target after which capacity is raised."""
LOW_MINUTES = 15
"""Minutes below the target, less the margin, after which capacity is lowered."""
LOW_MARGIN_PERCENT = 20.0
"""How far below the target use has to be before capacity is lowered."""
GAUGE_PERIODS = 3
CUSTOM_HIGH_MINUTES = 3
CUSTOM_LOW_FACTOR = 0.9
PREDEFINED = {
    "DynamoDBReadCapacityUtilization": "ReadCapacityUnits",
    "DynamoDBWriteCapacityUtilization": "WriteCapacityUnits",
}


def unit_name(place: TargetPlace) -> str:
    """`ReadCapacityUnits` or `WriteCapacityUnits`."""
    return "ReadCapacityUnits" if is_read(place) else "WriteCapacityUnits"


def alarm_names(place: TargetPlace, tracking: Tracking, before: Mapping[str, str]) -> dict[str, str]:
    """Purpose → name of each alarm of a policy. `before`: those that the policy has had; they keep their names."""
    purposes = ["AlarmHigh"] if tracking.never_scales_in else ["AlarmHigh", "AlarmLow"]
    if tracking.predefined is not None:
        purposes += ["ProvisionedCapacityHigh", "ProvisionedCapacityLow"]
    return {
        purpose: before.get(purpose) or _alarm_name(place.resource_id, f"-{purpose}-{uuid.uuid4()}")
        for purpose in purposes
    }


def _alarm_name(resource_id: str, end: str) -> str:
    """A name of an alarm; a long name of a table or index is cut, so that CloudWatch's
    operations take the alarm's name.
    """
    return f"TargetTracking-{resource_id}"[: ALARM_NAME_LENGTH_MAX - len(end)] + end


_Watched = tuple[Threshold, WatchedMetric | None, Sequence[dict[str, object]] | None]
"""What an alarm watches: a metric, or queries."""


def alarm_definitions(policy: ScalingPolicy, capacity: int) -> list[AlarmDefinition]:
    """The alarms of a policy, for the present capacity."""
    tracking = policy.tracking
    watched = (
        _of_dynamodb(policy.place, tracking.target_value, capacity)
        if tracking.customized is None
        else _customized(tracking.customized, tracking.target_value)
    )
    text = f"DO NOT EDIT OR DELETE. For TargetTrackingScaling policy {policy.arn}."
    actions = AlarmActions(alarm=(policy.arn,))
    return [AlarmDefinition(name, text, actions, *watched[purpose]) for purpose, name in policy.alarms.items()]


def _of_dynamodb(place: TargetPlace, target: float, capacity: int) -> dict[str, _Watched]:
    """Purpose of an alarm → what it watches."""
    dimensions = subject_dimensions(*names_of(place))
    consumed = WatchedMetric("AWS/DynamoDB", f"Consumed{unit_name(place)}", "Sum", MINUTE_SECONDS, dimensions)
    provisioned = WatchedMetric("AWS/DynamoDB", f"Provisioned{unit_name(place)}", "Average", GAUGE_SECONDS, dimensions)
    high, present = capacity * MINUTE_SECONDS * target / 100, float(capacity)
    low = capacity * MINUTE_SECONDS * max(target - LOW_MARGIN_PERCENT, 0.0) / 100
    return {
        "AlarmHigh": (Threshold("GreaterThanThreshold", high, HIGH_MINUTES), consumed, None),
        "AlarmLow": (Threshold("LessThanThreshold", low, LOW_MINUTES), consumed, None),
        "ProvisionedCapacityHigh": (Threshold("GreaterThanThreshold", present, GAUGE_PERIODS), provisioned, None),
        "ProvisionedCapacityLow": (Threshold("LessThanThreshold", present, GAUGE_PERIODS), provisioned, None),
    }


def _customized(given: Mapping[str, Any], target: float) -> dict[str, _Watched]:
    """As `_of_dynamodb`, for a metric of the policy's own."""
    metric = queries = None
    if given.get("Metrics"):
        queries = metric_queries(given["Metrics"])
    else:
        dimensions = tuple(sorted((one["Name"], one["Value"]) for one in given.get("Dimensions") or ()))
        metric = WatchedMetric(
            given["Namespace"], given["MetricName"], given["Statistic"], MINUTE_SECONDS, dimensions, given.get("Unit")
        )
    low = target * CUSTOM_LOW_FACTOR
    return {
        "AlarmHigh": (Threshold("GreaterThanThreshold", target, CUSTOM_HIGH_MINUTES), metric, queries),
        "AlarmLow": (Threshold("LessThanThreshold", low, LOW_MINUTES), metric, queries),
    }


def metric_queries(members: Sequence[Mapping[str, Any]]) -> list[dict[str, object]]:
    """The Metrics of a policy as queries of an alarm, whose periods are minutes. Raises ServiceError;
    too many are refused before they are read.
    """
    check_query_count(len(members))
    queries = []
    for member in members:
        query = {name: value for name, value in member.items() if value is not None}
        if isinstance(query.get("MetricStat"), dict):
            query["MetricStat"] = {"Period": MINUTE_SECONDS, **query["MetricStat"]}
        queries.append(query)
    return kept_queries(read_queries(queries))


def wanted_capacity(tracking: Tracking, capacity: int, observed: float) -> int:
    """Units at which use would be the target, at most SCALING_INTEGER_MAX.

    `observed`: units that were consumed in a minute; of a customized metric, its value.
    """
    if tracking.customized is not None:
        units = capacity * observed / tracking.target_value  # may be infinite
        return math.ceil(min(units, SCALING_INTEGER_MAX)) if units > 1 else 1
    return max(1, math.ceil(observed / MINUTE_SECONDS / (tracking.target_value / 100) - 1e-9))
