"""PutMetricAlarm: creates an alarm on a metric or on metric math, or replaces its definition and keeps its state."""

from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, ServiceError, ServiceOperation
from hashrange.cloudwatch.alarms.alarm import (
    COMPARISONS,
    MISSING_DATA,
    AlarmDefinition,
    Threshold,
    WatchedMetric,
)
from hashrange.cloudwatch.alarms.alarm_queries import check_queries, kept_queries
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.members import TagMember, actions_of, check_alarm_name, check_alarm_place, tags_of
from hashrange.cloudwatch.api.checks import (
    DimensionMember,
    IntegerFromOne,
    check_finite,
    check_length,
    check_metric,
    check_one_of,
    dimensions_of,
    missing,
    refuse_value,
)
from hashrange.cloudwatch.limits import ALARM_DESCRIPTION_LENGTH_MAX, ALARM_SECONDS_MAX, ALARM_SHORT_SECONDS_MAX
from hashrange.cloudwatch.periods import is_period
from hashrange.cloudwatch.queries import MetricDataQuery
from hashrange.cloudwatch.statistic import SIMPLE_STATISTICS, statistic_of
from hashrange.cloudwatch.units import STANDARD_UNITS
from hashrange.messages import alarms as sentences
from hashrange.messages import cloudwatch as metric_sentences

HOUR_SECONDS = 3600
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
    ActionConfiguration: dict[str, Any] | None = None


async def put_metric_alarm(alarms: Alarms, caller: Caller, request: PutMetricAlarmRequest) -> None:
    """Creates or replaces the alarm. Raises ServiceError and StorageError."""
    check_alarm_name(request.AlarmName)
    if request.AlarmDescription is not None:
        check_length("AlarmDescription", request.AlarmDescription, ALARM_DESCRIPTION_LENGTH_MAX, 0)
    for member in (
        "EvaluationCriteria",
        "EvaluationInterval",
        "EvaluationWindow",
        "WarmUpConfiguration",
        "ActionConfiguration",
    ):
        if getattr(request, member) is not None:
            refuse_value(sentences.NOT_SUPPORTED.format(member=member))
    threshold = _threshold(request)
    check_alarm_place(alarms, caller, request.AlarmName, is_composite=False)
    metric = queries = None
    if request.Metrics is None:
        metric = _metric(request)
        _check_window(metric.period_seconds, threshold)
    else:
        if any(getattr(request, name) is not None for name in ("MetricName", "Namespace", "Statistic", "Period")):
            raise ServiceError("InvalidParameterCombinationException", sentences.METRIC_AND_METRICS)
        check_queries(request.Metrics, threshold)
        queries = kept_queries(request.Metrics)
    definition = AlarmDefinition(
        request.AlarmName,
        request.AlarmDescription,
        actions_of(request.OKActions, request.AlarmActions, request.InsufficientDataActions, request.ActionsEnabled),
        threshold,
        metric,
        queries,
    )
    await alarms.put(caller.account, caller.region, definition, tags_of(request.Tags))


def _threshold(request: PutMetricAlarmRequest) -> Threshold:
    if request.EvaluationPeriods is None:
        raise missing("EvaluationPeriods")
    if request.ComparisonOperator is None:
        raise missing("ComparisonOperator")
    if request.ComparisonOperator in _ANOMALY or request.ThresholdMetricId is not None:
        refuse_value(sentences.NO_ANOMALY_DETECTION)
    check_one_of("ComparisonOperator", request.ComparisonOperator, tuple(COMPARISONS))
    if request.Threshold is None:
        raise missing("Threshold")
    check_finite("Threshold", request.Threshold)
    if request.TreatMissingData is not None:
        check_one_of("TreatMissingData", request.TreatMissingData, MISSING_DATA)
    if request.EvaluateLowSampleCountPercentile is not None:
        check_one_of(
            "EvaluateLowSampleCountPercentile", request.EvaluateLowSampleCountPercentile, ("evaluate", "ignore")
        )
    if request.DatapointsToAlarm is not None and request.DatapointsToAlarm > request.EvaluationPeriods:
        refuse_value(sentences.TOO_MANY_DATAPOINTS)
    return Threshold(
        request.ComparisonOperator,
        request.Threshold,
        request.EvaluationPeriods,
        request.DatapointsToAlarm,
        request.TreatMissingData or "missing",
        request.EvaluateLowSampleCountPercentile,
    )


def _metric(request: PutMetricAlarmRequest) -> WatchedMetric:
    for path in ("MetricName", "Namespace", "Period"):
        if getattr(request, path) is None:
            raise missing(path)
    assert request.MetricName is not None
    assert request.Namespace is not None
    assert request.Period is not None
    if not request.MetricName.isascii():
        raise ServiceError("ValidationError", sentences.METRIC_NAME_NOT_ASCII)
    check_metric(request.Namespace, request.MetricName)
    if request.Statistic is not None and request.ExtendedStatistic is not None:
        raise ServiceError("InvalidParameterCombinationException", sentences.STATISTIC_TWICE)
    statistic = request.Statistic or request.ExtendedStatistic
    if statistic is None:
        raise missing("Statistic")
    if request.Statistic is not None:
        check_one_of("Statistic", statistic, SIMPLE_STATISTICS)
    elif statistic in SIMPLE_STATISTICS or statistic_of(statistic) is None:
        refuse_value(metric_sentences.STATISTIC_UNKNOWN.format(value=statistic, path="ExtendedStatistic"))
    if request.EvaluateLowSampleCountPercentile is not None and request.Statistic is not None:
        raise ServiceError("InvalidParameterCombinationException", sentences.LOW_SAMPLES_OF_SIMPLE)
    if not is_period(request.Period):
        refuse_value(metric_sentences.PERIOD_NOT_MULTIPLE)
    if request.Unit is not None:
        check_one_of("Unit", request.Unit, STANDARD_UNITS)
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
        refuse_value(sentences.WINDOW_TOO_LONG.format(most=most))


OPERATION = ServiceOperation("PutMetricAlarm", PutMetricAlarmRequest, put_metric_alarm)
