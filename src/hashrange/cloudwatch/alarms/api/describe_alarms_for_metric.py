"""DescribeAlarmsForMetric: the alarms that watch one metric."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller, FormWire, Operation
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.checks import check_alarm_choice, word_alarm_fault
from hashrange.cloudwatch.alarms.description import describe_alarm
from hashrange.cloudwatch.api.checks import DimensionMember, IntegerFromOne, check_metric, dimensions_of
from hashrange.cloudwatch.statistic import SIMPLE_STATISTICS
from hashrange.cloudwatch.units import STANDARD_UNITS
from hashrange.items.steps import walk


class DescribeAlarmsForMetricRequest(msgspec.Struct, frozen=True):
    """Request of DescribeAlarmsForMetric; what is not given may be anything, except dimensions:
    without any, the metric has none.
    """

    MetricName: str
    Namespace: str
    Dimensions: list[DimensionMember] | None = None
    Statistic: str | None = None
    ExtendedStatistic: str | None = None
    Period: IntegerFromOne | None = None
    Unit: str | None = None


async def describe_alarms_for_metric(
    alarms: Alarms, caller: Caller, request: DescribeAlarmsForMetricRequest
) -> Mapping[str, Any]:
    """Returns the alarms in order of their names. Raises ServiceError."""
    check_metric(request.Namespace, request.MetricName)
    dimensions = dimensions_of(request.Dimensions)
    if request.Statistic is not None:
        check_alarm_choice("Statistic", request.Statistic, SIMPLE_STATISTICS)
    if request.Unit is not None:
        check_alarm_choice("Unit", request.Unit, STANDARD_UNITS)
    return {
        "MetricAlarms": [
            describe_alarm(alarm)
            for alarm in walk(alarms.of(caller.account, caller.region))
            if (metric := alarm.definition.metric) is not None
            and (metric.namespace, metric.name) == (request.Namespace, request.MetricName)
            and tuple(tuple(one) for one in metric.dimensions) == dimensions
            and request.Statistic in (None, metric.statistic)
            and request.ExtendedStatistic in (None, metric.statistic)
            and request.Period in (None, metric.period_seconds)
            and request.Unit in (None, metric.unit)
        ]
    }


OPERATION = Operation(
    "DescribeAlarmsForMetric",
    DescribeAlarmsForMetricRequest,
    describe_alarms_for_metric,
    FormWire(word=word_alarm_fault),
)
