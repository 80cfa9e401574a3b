"""How does a reply describe an alarm? As MetricAlarm or CompositeAlarm. Source: operations.md 6."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from hashrange.cloudwatch.alarms.alarm import Alarm
from hashrange.cloudwatch.statistic import SIMPLE_STATISTICS


def describe_alarm(alarm: Alarm) -> Mapping[str, Any]:
    """The members of the alarm; None for those that it has not."""
    definition = alarm.definition
    shared: dict[str, Any] = {
        "AlarmName": alarm.name,
        "AlarmArn": alarm.arn,
        "AlarmDescription": definition.description,
        "AlarmConfigurationUpdatedTimestamp": _time(alarm.configured_seconds),
        "ActionsEnabled": definition.actions.are_enabled,
        "OKActions": list(definition.actions.ok),
        "AlarmActions": list(definition.actions.alarm),
        "InsufficientDataActions": list(definition.actions.insufficient_data),
        "ActionConfiguration": msgspec.to_builtins(definition.action_configuration),
        "StateValue": alarm.state,
        "StateReason": alarm.reason,
        "StateReasonData": alarm.reason_data,
        "StateUpdatedTimestamp": _time(alarm.updated_seconds),
        "StateTransitionedTimestamp": _time(alarm.transitioned_seconds),
    }
    return shared | dict(_composite(alarm) if definition.is_composite else _metric(alarm))


def _composite(alarm: Alarm) -> Mapping[str, Any]:
    suppressor = alarm.definition.suppressor
    return {
        "AlarmRule": alarm.definition.rule,
        "ActionsSuppressedBy": alarm.suppressed_by,
        "ActionsSuppressedReason": alarm.suppressed_reason,
        "ActionsSuppressor": None if suppressor is None else suppressor.alarm,
        "ActionsSuppressorWaitPeriod": None if suppressor is None else suppressor.wait_seconds,
        "ActionsSuppressorExtensionPeriod": None if suppressor is None else suppressor.extension_seconds,
    }


def _metric(alarm: Alarm) -> Mapping[str, Any]:
    threshold, metric = alarm.definition.threshold, alarm.definition.metric
    assert threshold is not None
    members: dict[str, Any] = {
        "EvaluationPeriods": threshold.evaluation_periods,
        "DatapointsToAlarm": threshold.datapoints_to_alarm,
        "Threshold": threshold.value,
        "ComparisonOperator": threshold.comparison,
        "TreatMissingData": threshold.missing_data,
        "EvaluateLowSampleCountPercentile": threshold.low_samples,
        "EvaluationState": "PARTIAL_DATA" if alarm.is_partial else None,
    }
    if metric is None:
        return members | {"Metrics": alarm.definition.queries}
    is_simple = metric.statistic in SIMPLE_STATISTICS
    return members | {
        "MetricName": metric.name,
        "Namespace": metric.namespace,
        "Statistic": metric.statistic if is_simple else None,
        "ExtendedStatistic": None if is_simple else metric.statistic,
        "Dimensions": [{"Name": name, "Value": value} for name, value in metric.dimensions],
        "Period": metric.period_seconds,
        "Unit": metric.unit,
    }


def _time(at_seconds: float) -> datetime:
    return datetime.fromtimestamp(at_seconds, UTC)
