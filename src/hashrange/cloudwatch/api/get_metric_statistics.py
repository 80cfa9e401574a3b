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
    statistics = _statistics_of(request)
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
    shown = (_described(point, statistics, are_extended=not request.Statistics) for point in points)
    return {"Label": request.MetricName, "Datapoints": [one for one in shown if one is not None]}


def _described(point: Datapoint, statistics: Mapping[str, Statistic], *, are_extended: bool) -> dict[str, Any] | None:
    """The datapoint with the statistics that can be told; None if none of them can,
    as for percentiles of statistic sets.
    """
    found = {name: value for name, statistic in statistics.items() if (value := statistic(point)) is not None}
    if not found:
        return None
    return {
        "Timestamp": datetime.fromtimestamp(point.at_seconds, UTC),
        **({} if are_extended else found),
        "ExtendedStatistics": found if are_extended else None,
        "Unit": point.unit,
    }


def _statistics_of(request: GetMetricStatisticsRequest) -> dict[str, Statistic]:
    """The statistics that the request names, all simple or all extended. Raises ServiceError."""
    if not request.Statistics and not request.ExtendedStatistics:
        raise ServiceError("InvalidParameterCombinationException", sentences.STATISTICS_MISSING)
    if request.Statistics and request.ExtendedStatistics:
        raise ServiceError("InvalidParameterCombinationException", sentences.STATISTICS_BOTH)
    path, names, most = "Statistics", request.Statistics, METRIC_STATISTICS_MAX
    if not names:
        path, names, most = "ExtendedStatistics", request.ExtendedStatistics or [], METRIC_EXTENDED_STATISTICS_MAX
    if len(names) > most:
        refuse_value(sentences.TOO_MANY.format(path=path, most=most))
    found = {}
    for place, name in enumerate(names, 1):
        if request.Statistics:
            check_one_of(f"{path}.member.{place}", name, SIMPLE_STATISTICS)
        statistic = None if request.ExtendedStatistics and name in SIMPLE_STATISTICS else statistic_of(name)
        if statistic is None:
            refuse_value(sentences.STATISTIC_UNKNOWN.format(value=name, path=f"{path}.member.{place}"))
        found[name] = statistic
    return found


OPERATION = Operation("GetMetricStatistics", GetMetricStatisticsRequest, get_metric_statistics, FORM)
