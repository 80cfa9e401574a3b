"""GetMetricStatistics: statistics of one metric for each period of a stretch of time."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation, ServiceError
from hashrange.cloudwatch.api.checks import (
    DimensionMember,
    IntegerFromOne,
    check_metric,
    check_one_of,
    dimensions_of,
    refuse_value,
)
from hashrange.cloudwatch.limits import METRIC_EXTENDED_STATISTICS_MAX, METRIC_POINTS_MAX, METRIC_STATISTICS_MAX
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.statistic import SIMPLE_STATISTICS, Datapoint, Statistic, statistic_of
from hashrange.cloudwatch.tiers import has_points, is_period
from hashrange.cloudwatch.units import STANDARD_UNITS
from hashrange.messages import cloudwatch as sentences


class GetMetricStatisticsRequest(msgspec.Struct, frozen=True):
    """Request of GetMetricStatistics. `Period` in seconds."""

    Namespace: str
    MetricName: str
    StartTime: datetime
    EndTime: datetime
    Period: IntegerFromOne
    Dimensions: list[DimensionMember] | None = None
    Statistics: list[str] | None = None
    ExtendedStatistics: list[str] | None = None
    Unit: str | None = None


async def get_metric_statistics(
    metrics: Metrics, caller: Caller, request: GetMetricStatisticsRequest
) -> Mapping[str, Any]:
    """Returns a datapoint for each period with observations; without any, none. Raises ServiceError."""
    check_metric(request.Namespace, request.MetricName)
    dimensions = dimensions_of(request.Dimensions)
    simple, extended = _statistics_of(request)
    check_one_of("Unit", request.Unit, STANDARD_UNITS)
    if not is_period(request.Period):
        refuse_value(sentences.PERIOD_NOT_MULTIPLE)
    begin_seconds, end_seconds = request.StartTime.timestamp(), request.EndTime.timestamp()
    if begin_seconds >= end_seconds:
        refuse_value(sentences.START_NOT_BEFORE_END)
    now_seconds = metrics.now_seconds()
    points_max = math.ceil((end_seconds - begin_seconds) / request.Period)
    if points_max > METRIC_POINTS_MAX:
        message = sentences.TOO_MANY_POINTS.format(points=points_max, most=METRIC_POINTS_MAX)
        raise ServiceError("InvalidParameterCombinationException", message)
    metric = MetricId(caller.account, caller.region, request.Namespace, request.MetricName, dimensions)
    points = []
    if has_points(begin_seconds, request.Period, now_seconds):
        points = list(metrics.points(metric, begin_seconds, end_seconds, request.Period, request.Unit))
    shown = (_described(point, simple, extended) for point in points)
    return {"Label": request.MetricName, "Datapoints": [one for one in shown if one is not None]}


def _described(
    point: Datapoint, simple: Mapping[str, Statistic], extended: Mapping[str, Statistic]
) -> Mapping[str, Any] | None:
    """The datapoint with the statistics that can be told; None if none of them can,
    as for percentiles of statistic sets.
    """
    found = {name: value for name, statistic in simple.items() if (value := statistic(point)) is not None}
    more = {name: value for name, statistic in extended.items() if (value := statistic(point)) is not None}
    if not found and not more:
        return None
    return {
        "Timestamp": datetime.fromtimestamp(point.at_seconds, UTC),
        **found,
        "ExtendedStatistics": more or None,
        "Unit": point.unit,
    }


def _statistics_of(request: GetMetricStatisticsRequest) -> tuple[dict[str, Statistic], dict[str, Statistic]]:
    """The statistics that the request names, simple and extended. Raises ServiceError."""
    if not request.Statistics and not request.ExtendedStatistics:
        raise ServiceError("InvalidParameterCombinationException", sentences.STATISTICS_MISSING)
    if request.Statistics and request.ExtendedStatistics:
        raise ServiceError("InvalidParameterCombinationException", sentences.STATISTICS_BOTH)
    for path, names, most in (
        ("Statistics", request.Statistics, METRIC_STATISTICS_MAX),
        ("ExtendedStatistics", request.ExtendedStatistics, METRIC_EXTENDED_STATISTICS_MAX),
    ):
        if len(names or ()) > most:
            refuse_value(sentences.TOO_MANY.format(path=path, most=most))
    simple, extended = {}, {}
    for place, name in enumerate(request.Statistics or (), 1):
        check_one_of(f"Statistics.member.{place}", name, SIMPLE_STATISTICS)
        statistic = statistic_of(name)
        assert statistic is not None
        simple[name] = statistic
    for place, name in enumerate(request.ExtendedStatistics or (), 1):
        statistic = None if name in SIMPLE_STATISTICS else statistic_of(name)
        if statistic is None:
            refuse_value(sentences.STATISTIC_UNKNOWN.format(value=name, path=f"ExtendedStatistics.member.{place}"))
        extended[name] = statistic
    return simple, extended


OPERATION = Operation("GetMetricStatistics", GetMetricStatisticsRequest, get_metric_statistics, FORM)
