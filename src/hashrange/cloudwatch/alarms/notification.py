"""What is said to those whom an alarm tells of its state? The text that CloudWatch publishes to SNS,
or the event that it sends to a Lambda function.

Source: CloudWatch user guide, *Notifying users on alarm changes*, *Invoke a Lambda function from an alarm*;
notifications that users quote.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.cloudwatch.alarms.alarm import Alarm, stamp_of
from hashrange.cloudwatch.alarms.alarm_queries import read_queries
from hashrange.cloudwatch.alarms.alarms import AlarmAction
from hashrange.cloudwatch.alarms.region_names import REGION_NAMES
from hashrange.cloudwatch.queries import Queries
from hashrange.cloudwatch.query_evaluation import MetricDataQuery
from hashrange.cloudwatch.statistic import SIMPLE_STATISTICS

TAGS_FOUND = "SUCCESS"
"""Status of tags that could be read, which they always can here. Source: CloudWatch user guide, *Alarm tags in action
payloads*; it names the members of the status, those of the tags are (unconfirmed)."""


def notification_of(told: AlarmAction) -> Mapping[str, Any]:
    """The message of a notification."""
    alarm = told.alarm
    definition = alarm.definition
    return {
        "AlarmName": alarm.name,
        "AlarmDescription": definition.description,
        "AWSAccountId": alarm.account,
        "AlarmConfigurationUpdatedTimestamp": stamp_of(alarm.configured_seconds),
        "NewStateValue": alarm.state,
        "NewStateReason": alarm.reason,
        "StateChangeTime": stamp_of(told.at_seconds),
        "Region": _region_name(alarm),
        "AlarmArn": alarm.arn,
        "OldStateValue": told.previous.state,
        "OKActions": list(definition.actions.ok),
        "AlarmActions": list(definition.actions.alarm),
        "InsufficientDataActions": list(definition.actions.insufficient_data),
        **({"AlarmRule": definition.rule} if definition.is_composite else {"Trigger": _trigger(alarm)}),
        **_tags(alarm, "AlarmTags", "Key", "Value"),
    }


def subject_of(told: AlarmAction) -> str:
    """The subject of a notification, of at most 100 characters."""
    return f'{told.alarm.state}: "{told.alarm.name}" in {_region_name(told.alarm)}'[:100]


def _region_name(alarm: Alarm) -> str:
    return REGION_NAMES.get(alarm.region, alarm.region)


def _trigger(alarm: Alarm) -> dict[str, Any]:
    threshold, metric = alarm.definition.threshold, alarm.definition.metric
    assert threshold is not None
    trigger: dict[str, Any] = {
        "EvaluationPeriods": threshold.evaluation_periods,
        "ComparisonOperator": threshold.comparison,
        "Threshold": threshold.value,
        "TreatMissingData": threshold.missing_data or "",
        "EvaluateLowSampleCountPercentile": threshold.low_samples or "",
    }
    if threshold.datapoints_to_alarm is not None:
        trigger["DatapointsToAlarm"] = threshold.datapoints_to_alarm
    if metric is None:
        queries = read_queries(alarm.definition.queries or ())
        return trigger | {"Period": Queries(queries).period_seconds, "Metrics": [_told_query(one) for one in queries]}
    is_simple = metric.statistic in SIMPLE_STATISTICS
    return trigger | {
        "MetricName": metric.name,
        "Namespace": metric.namespace,
        "StatisticType": "Statistic" if is_simple else "ExtendedStatistic",
        "Statistic" if is_simple else "ExtendedStatistic": metric.statistic.upper() if is_simple else metric.statistic,
        "Unit": metric.unit,
        "Dimensions": [{"name": name, "value": value} for name, value in metric.dimensions],
        "Period": metric.period_seconds,
    }


def _told_query(query: MetricDataQuery) -> dict[str, Any]:
    """A query as a notification has it: all members have a value, and names of dimensions' members
    begin with small letters.
    """
    told: dict[str, Any] = msgspec.to_builtins(query)
    told["ReturnData"] = query.ReturnData is not False
    stat = query.MetricStat
    if stat is not None:
        dimensions = [{"value": one.Value, "name": one.Name} for one in stat.Metric.Dimensions or ()]
        told["MetricStat"] = {
            **told["MetricStat"],
            "Metric": {**told["MetricStat"]["Metric"], "Dimensions": dimensions},
        }
    return told


def lambda_event(told: AlarmAction) -> Mapping[str, Any]:
    """The event that a function receives."""
    alarm = told.alarm
    description = {} if alarm.definition.description is None else {"description": alarm.definition.description}
    return {
        "source": "aws.cloudwatch",
        "alarmArn": alarm.arn,
        "accountId": alarm.account,
        "time": stamp_of(told.at_seconds),
        "region": alarm.region,
        "alarmData": {
            "alarmName": alarm.name,
            "state": _state(alarm, told.at_seconds),
            "previousState": _state(told.previous, told.previous.updated_seconds),
            "configuration": description | _configuration(alarm),
            **_tags(alarm, "alarmTags", "key", "value"),
        },
    }


def _tags(alarm: Alarm, member: str, key_member: str, value_member: str) -> dict[str, Any]:
    """The tags that actions are told, and their status, by these names; empty if actions are told none."""
    if alarm.told_tags is None:
        return {}
    told = [{key_member: key, value_member: value} for key, value in alarm.told_tags.items()]
    return {member: told, f"{member}Status": TAGS_FOUND}


def _state(alarm: Alarm, at_seconds: float) -> dict[str, str]:
    data = {} if alarm.reason_data is None else {"reasonData": alarm.reason_data}
    return {"value": alarm.state, "reason": alarm.reason, **data, "timestamp": stamp_of(at_seconds)}


def _configuration(alarm: Alarm) -> dict[str, Any]:
    definition, metric = alarm.definition, alarm.definition.metric
    if definition.is_composite:
        suppressor = definition.suppressor
        told = suppressor and {
            "actionsSuppressor": suppressor.alarm,
            "actionsSuppressorWaitPeriod": suppressor.wait_seconds,
            "actionsSuppressorExtensionPeriod": suppressor.extension_seconds,
        }
        return {"alarmRule": definition.rule, **(told or {})}
    if metric is None:
        return {"metrics": [_configured_query(one) for one in read_queries(definition.queries or ())]}
    stat = {
        "metric": {"namespace": metric.namespace, "name": metric.name, "dimensions": dict(metric.dimensions)},
        "period": metric.period_seconds,
        "stat": metric.statistic,
        "unit": metric.unit,
    }
    return {"metrics": [{"id": "m1", "metricStat": _present(stat), "returnData": True}]}


def _configured_query(query: MetricDataQuery) -> dict[str, Any]:
    stat, told_stat = query.MetricStat, None
    if stat is not None:
        metric = {
            "namespace": stat.Metric.Namespace,
            "name": stat.Metric.MetricName,
            "dimensions": {one.Name: one.Value for one in stat.Metric.Dimensions or ()},
        }
        told_stat = _present({"metric": metric, "period": stat.Period, "stat": stat.Stat, "unit": stat.Unit})
    members = {"metricStat": told_stat, "expression": query.Expression, "label": query.Label, "period": query.Period}
    return {"id": query.Id, **_present(members), "returnData": query.ReturnData is not False}


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
