"""PutMetricAlarm: creates an alarm on a metric or on metric math, or replaces its definition and keeps its state."""

from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, Operation
from hashrange.cloudwatch.alarms.alarm import (
    COMPARISONS,
    MISSING_DATA,
    ActionConfiguration,
    AlarmDefinition,
    Threshold,
    WatchedMetric,
)
from hashrange.cloudwatch.alarms.alarm_queries import check_queries, kept_queries
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.members import (
    ALARM_FORM,
    TagMember,
    actions_of,
    check_action_configuration,
    check_alarm_choice,
    check_alarm_length,
    check_alarm_name,
    check_alarm_number,
    check_alarm_place,
    refuse_alarm,
    require_alarm_member,
    tags_of,
)
from hashrange.cloudwatch.api.checks import (
    DimensionMember,
    IntegerFromOne,
    dimensions_of,
)
from hashrange.cloudwatch.limits import (
    ALARM_DESCRIPTION_LENGTH_MAX,
    ALARM_SECONDS_MAX,
    ALARM_SHORT_SECONDS_MAX,
    METRIC_NAME_LENGTH_MAX,
)
from hashrange.cloudwatch.queries import MetricDataQuery
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


class PutMetricAlarmRequest(msgspec.Struct, frozen=True):
    """Request of PutMetricAlarm. `Period` in seconds."""

    AlarmName: str
    AlarmDescription: str | None = None
    ActionsEnabled: bool | None = None
    OKActions: list[str] | None = None
    AlarmActions: list[str] | None = None
    InsufficientDataActions: list[str] | None = None
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
    Tags: list[TagMember] | None = None
    ThresholdMetricId: str | None = None
    EvaluationCriteria: dict[str, Any] | None = None
    EvaluationInterval: int | None = None
    EvaluationWindow: dict[str, Any] | None = None
    WarmUpConfiguration: dict[str, Any] | None = None
    ActionConfiguration: "ActionConfiguration | None" = None


async def put_metric_alarm(alarms: Alarms, caller: Caller, request: PutMetricAlarmRequest) -> None:
    """Creates or replaces the alarm. Raises ServiceError and StorageError."""
    check_alarm_name(request.AlarmName)
    if request.AlarmDescription is not None:
        check_alarm_length("AlarmDescription", request.AlarmDescription, ALARM_DESCRIPTION_LENGTH_MAX, 0)
    for member in (
        "EvaluationCriteria",
        "EvaluationInterval",
        "EvaluationWindow",
        "WarmUpConfiguration",
    ):
        if getattr(request, member) is not None:
            refuse_alarm(sentences.NOT_SUPPORTED.format(member=member))
    check_action_configuration(request.ActionConfiguration)
    threshold = _threshold(request)
    check_alarm_place(alarms, caller, request.AlarmName, is_composite=False)
    metric = queries = None
    if request.Metrics is None:
        metric = _metric(request)
        _check_window(metric.period_seconds, threshold)
    else:
        for name in BESIDE_METRICS:
            if getattr(request, name) is not None:
                refuse_alarm(sentences.SET_BESIDE_METRICS.format(path=name))
        check_queries(caller, request.Metrics, threshold)
        queries = kept_queries(request.Metrics)
    definition = AlarmDefinition(
        request.AlarmName,
        request.AlarmDescription,
        actions_of(
            alarms,
            caller,
            request.OKActions,
            request.AlarmActions,
            request.InsufficientDataActions,
            request.ActionsEnabled,
        ),
        threshold,
        metric,
        queries,
        action_configuration=request.ActionConfiguration,
    )
    await alarms.put(caller.account, caller.region, definition, tags_of(request.Tags))


def _threshold(request: PutMetricAlarmRequest) -> Threshold:
    require_alarm_member("EvaluationPeriods", request.EvaluationPeriods)
    require_alarm_member("ComparisonOperator", request.ComparisonOperator)
    assert request.EvaluationPeriods is not None
    assert request.ComparisonOperator is not None
    if request.ComparisonOperator in _ANOMALY or request.ThresholdMetricId is not None:
        refuse_alarm(sentences.NO_ANOMALY_DETECTION)
    check_alarm_choice("ComparisonOperator", request.ComparisonOperator, tuple(COMPARISONS))
    require_alarm_member("Threshold", request.Threshold)
    assert request.Threshold is not None
    check_alarm_number("Threshold", request.Threshold)
    if request.TreatMissingData is not None:
        check_alarm_choice("TreatMissingData", request.TreatMissingData, MISSING_DATA)
    if request.EvaluateLowSampleCountPercentile is not None:
        check_alarm_choice(
            "EvaluateLowSampleCountPercentile", request.EvaluateLowSampleCountPercentile, ("evaluate", "ignore")
        )
    if request.DatapointsToAlarm is not None and request.DatapointsToAlarm > request.EvaluationPeriods:
        refuse_alarm(sentences.TOO_MANY_DATAPOINTS)
    return Threshold(
        request.ComparisonOperator,
        request.Threshold,
        request.EvaluationPeriods,
        request.DatapointsToAlarm,
        request.TreatMissingData,
        request.EvaluateLowSampleCountPercentile,
    )


def _metric(request: PutMetricAlarmRequest) -> WatchedMetric:
    for path in ("MetricName", "Namespace", "Period"):
        require_alarm_member(path, getattr(request, path))
    assert request.MetricName is not None
    assert request.Namespace is not None
    assert request.Period is not None
    if not request.MetricName.isascii():
        refuse_alarm(sentences.METRIC_NAME_NOT_ASCII)
    check_alarm_length("Namespace", request.Namespace, METRIC_NAME_LENGTH_MAX)
    check_alarm_length("MetricName", request.MetricName, METRIC_NAME_LENGTH_MAX)
    if request.Statistic is not None and request.ExtendedStatistic is not None:
        refuse_alarm(sentences.STATISTIC_TWICE)
    statistic = request.Statistic or request.ExtendedStatistic
    require_alarm_member("Statistic", statistic)
    assert statistic is not None
    if request.Statistic is not None:
        check_alarm_choice("Statistic", statistic, SIMPLE_STATISTICS)
    elif statistic in SIMPLE_STATISTICS or statistic_of(statistic) is None:
        refuse_alarm(metric_sentences.STATISTIC_UNKNOWN.format(value=statistic, path="ExtendedStatistic"))
    if request.EvaluateLowSampleCountPercentile is not None and request.Statistic is not None:
        refuse_alarm(sentences.LOW_SAMPLES_OF_SIMPLE)
    if request.Period not in SHORT_ALARM_PERIODS_SECONDS and request.Period % 60:
        refuse_alarm(sentences.PERIOD_NOT_MULTIPLE)
    if request.Unit is not None:
        check_alarm_choice("Unit", request.Unit, STANDARD_UNITS)
    return WatchedMetric(
        request.Namespace,
        request.MetricName,
        statistic,
        request.Period,
        dimensions_of(request.Dimensions),
        request.Unit,
    )


def _check_window(period_seconds: int, threshold: Threshold) -> None:
    """Raise ServiceError if an evaluation would look too far back."""
    most = ALARM_SHORT_SECONDS_MAX if period_seconds < HOUR_SECONDS else ALARM_SECONDS_MAX
    if period_seconds * threshold.evaluation_periods > most:
        refuse_alarm(sentences.WINDOW_TOO_LONG.format(most=most))


OPERATION = Operation("PutMetricAlarm", PutMetricAlarmRequest, put_metric_alarm, ALARM_FORM)
