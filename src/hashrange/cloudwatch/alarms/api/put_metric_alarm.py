"""PutMetricAlarm: creates an alarm on a metric or on metric math, or replaces its definition and keeps its state."""

import math
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, Operation
from hashrange.cloudwatch import limits
from hashrange.cloudwatch.alarms.alarm import COMPARISONS, MISSING_DATA, Threshold, WatchedMetric
from hashrange.cloudwatch.alarms.alarm_queries import check_queries, kept_queries
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.members import (
    ALARM_FORM,
    ALARM_MEMBERS,
    AlarmMembers,
    check_action_configuration,
    check_alarm_name,
    check_alarm_place,
    refuse_alarm,
    required_alarm_member,
    shared_definition,
    tags_of,
)
from hashrange.cloudwatch.api.checks import DimensionMember, IntegerFromOne, dimensions_of
from hashrange.cloudwatch.query_evaluation import MetricDataQuery
from hashrange.cloudwatch.statistic import SIMPLE_STATISTICS, statistic_of
from hashrange.cloudwatch.units import STANDARD_UNITS
from hashrange.messages import alarms as sentences
from hashrange.messages import cloudwatch as metric_sentences

HOUR_SECONDS = 3600
SHORT_ALARM_PERIODS_SECONDS = (10, 20, 30)
"""Periods below a minute that an alarm may have. Source: API reference, *PutMetricAlarm*."""
BESIDE_METRICS = ("MetricName", "Namespace", "Period", "Statistic", "ExtendedStatistic", "Dimensions", "Unit")
"""Members that an alarm on metric math does not have."""
_ANOMALY = ("LessThanLowerOrGreaterThanUpperThreshold", "LessThanLowerThreshold", "GreaterThanUpperThreshold")


class PutMetricAlarmRequest(AlarmMembers, frozen=True, kw_only=True):
    """Request of PutMetricAlarm. `Period` in seconds."""

    MetricName: str | None = None
    Namespace: str | None = None
    Statistic: str | None = None
    ExtendedStatistic: str | None = None
    Dimensions: list[DimensionMember] | None = None
    Period: IntegerFromOne | None = None
    Unit: str | None = None
    EvaluationPeriods: IntegerFromOne | None = None
    DatapointsToAlarm: IntegerFromOne | None = None
    Threshold: float | None = None
    ComparisonOperator: str | None = None
    TreatMissingData: str | None = None
    EvaluateLowSampleCountPercentile: str | None = None
    Metrics: list[MetricDataQuery] | None = None
    ThresholdMetricId: str | None = None
    EvaluationCriteria: dict[str, Any] | None = None
    EvaluationInterval: int | None = None
    EvaluationWindow: dict[str, Any] | None = None
    WarmUpConfiguration: dict[str, Any] | None = None


async def put_metric_alarm(alarms: Alarms, caller: Caller, request: PutMetricAlarmRequest) -> None:
    """Creates or replaces the alarm. Raises ServiceError and StorageError."""
    check_alarm_name(request.AlarmName)
    ALARM_MEMBERS.check_length("AlarmDescription", request.AlarmDescription, limits.ALARM_DESCRIPTION_LENGTH_MAX, 0)
    for member in ("EvaluationCriteria", "EvaluationInterval", "EvaluationWindow", "WarmUpConfiguration"):
        if getattr(request, member) is not None:
            refuse_alarm(sentences.NOT_SUPPORTED.format(member=member))
    check_action_configuration(request.ActionConfiguration)
    threshold = _threshold(request)
    check_alarm_place(alarms, caller, request.AlarmName, is_composite=False)
    metric = queries = None
    if request.Metrics is None:
        metric = _metric(request)
        most = limits.ALARM_SHORT_SECONDS_MAX if metric.period_seconds < HOUR_SECONDS else limits.ALARM_SECONDS_MAX
        if metric.period_seconds * threshold.evaluation_periods > most:
            refuse_alarm(sentences.WINDOW_TOO_LONG.format(most=most))
    else:
        for name in BESIDE_METRICS:
            if getattr(request, name) is not None:
                refuse_alarm(sentences.SET_BESIDE_METRICS.format(path=name))
        check_queries(caller, request.Metrics, threshold)
        queries = kept_queries(request.Metrics)
    shared = shared_definition(alarms, caller, request)
    definition = msgspec.structs.replace(shared, threshold=threshold, metric=metric, queries=queries)
    await alarms.put(caller.account, caller.region, definition, tags_of(request.Tags))


def _threshold(request: PutMetricAlarmRequest) -> Threshold:
    evaluation_periods = required_alarm_member("EvaluationPeriods", request.EvaluationPeriods)
    comparison = required_alarm_member("ComparisonOperator", request.ComparisonOperator)
    if comparison in _ANOMALY or request.ThresholdMetricId is not None:
        refuse_alarm(sentences.NO_ANOMALY_DETECTION)
    ALARM_MEMBERS.check_choice("ComparisonOperator", comparison, tuple(COMPARISONS))
    threshold = required_alarm_member("Threshold", request.Threshold)
    if not math.isfinite(threshold):
        refuse_alarm(sentences.NO_NUMBER.format(path="Threshold"))
    low_samples = request.EvaluateLowSampleCountPercentile
    ALARM_MEMBERS.check_choice("TreatMissingData", request.TreatMissingData, MISSING_DATA)
    ALARM_MEMBERS.check_choice("EvaluateLowSampleCountPercentile", low_samples, ("evaluate", "ignore"))
    if request.DatapointsToAlarm is not None and request.DatapointsToAlarm > evaluation_periods:
        refuse_alarm(sentences.TOO_MANY_DATAPOINTS)
    return Threshold(
        comparison, threshold, evaluation_periods, request.DatapointsToAlarm, request.TreatMissingData, low_samples
    )


def _metric(request: PutMetricAlarmRequest) -> WatchedMetric:
    name = required_alarm_member("MetricName", request.MetricName)
    namespace = required_alarm_member("Namespace", request.Namespace)
    period_seconds = required_alarm_member("Period", request.Period)
    if not name.isascii():
        refuse_alarm(sentences.METRIC_NAME_NOT_ASCII)
    ALARM_MEMBERS.check_length("Namespace", namespace, limits.METRIC_NAME_LENGTH_MAX)
    ALARM_MEMBERS.check_length("MetricName", name, limits.METRIC_NAME_LENGTH_MAX)
    if request.Statistic is not None and request.ExtendedStatistic is not None:
        refuse_alarm(sentences.STATISTIC_TWICE)
    statistic = required_alarm_member("Statistic", request.Statistic or request.ExtendedStatistic)
    if request.Statistic is not None:
        ALARM_MEMBERS.check_choice("Statistic", statistic, SIMPLE_STATISTICS)
    elif statistic in SIMPLE_STATISTICS or statistic_of(statistic) is None:
        refuse_alarm(metric_sentences.STATISTIC_UNKNOWN.format(value=statistic, path="ExtendedStatistic"))
    if request.EvaluateLowSampleCountPercentile is not None and request.Statistic is not None:
        refuse_alarm(sentences.LOW_SAMPLES_OF_SIMPLE)
    if period_seconds not in SHORT_ALARM_PERIODS_SECONDS and period_seconds % 60:
        refuse_alarm(sentences.PERIOD_NOT_MULTIPLE)
    ALARM_MEMBERS.check_choice("Unit", request.Unit, STANDARD_UNITS)
    return WatchedMetric(namespace, name, statistic, period_seconds, dimensions_of(request.Dimensions), request.Unit)


OPERATION = Operation("PutMetricAlarm", PutMetricAlarmRequest, put_metric_alarm, ALARM_FORM)
