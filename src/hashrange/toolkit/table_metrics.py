"""What do CloudWatch's metrics say of a table in a time? CloudWatch is asked at the same endpoint, or at AWS.

Consumed units are one observation for each request, so units of a second are Sum divided by the seconds of a period.
Source: DynamoDB Developer Guide, *DynamoDB metrics and dimensions*.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from hashrange.toolkit.target import Target

NAMESPACE = "AWS/DynamoDB"
MINUTE_SECONDS, HOUR_SECONDS, DAY_SECONDS = 60, 3600, 86_400
QUERIES_MAX = 100
"""Metrics of one request, so that a week of minutes of theirs is a few pages."""


class TimeWindow(NamedTuple):
    """From one moment to another, in seconds since the epoch."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Its length, at least a minute."""
        return max(self.end - self.start, MINUTE_SECONDS)

    def whole(self, period_seconds: int) -> tuple[datetime, datetime]:
        """The periods that it touches."""
        start = self.start // period_seconds * period_seconds
        end = -(-self.end // period_seconds) * period_seconds
        return datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(max(end, start + period_seconds), UTC)


class Metric(NamedTuple):
    """A metric and one of its statistics. `dimensions`: name and value of each."""

    name: str
    dimensions: tuple[tuple[str, str], ...]
    statistic: str = "Sum"


MetricValues = dict[float, float]
"""Begin of a period, in seconds since the epoch → value; periods without data are missing."""


def of_table(name: str, table: str, index: str | None = None) -> Metric:
    """The Sum of a metric that a table has, and each index for itself."""
    of_index = () if index is None else (("GlobalSecondaryIndexName", index),)
    return Metric(name, (("TableName", table), *of_index))


def of_operation(name: str, table: str, operation: str, statistic: str = "Sum") -> Metric:
    """A metric that a table has for each operation."""
    return Metric(name, (("TableName", table), ("Operation", operation)), statistic)


def read_metrics(
    target: Target, metrics: Sequence[Metric], window: TimeWindow, period_seconds: int
) -> dict[Metric, MetricValues]:
    """The values of metrics. Raises ToolkitFailure, also if there is no CloudWatch."""
    found: dict[Metric, MetricValues] = {metric: {} for metric in metrics}
    start, end = window.whole(period_seconds)
    for some in _batches(list(found)):
        queries = [_query(f"m{place}", metric, period_seconds) for place, metric in enumerate(some)]
        reply = target.ask_all(
            "cloudwatch", "get_metric_data", MetricDataQueries=queries, StartTime=start, EndTime=end
        )  # fmt: skip
        for result in reply["MetricDataResults"]:
            times = [time.timestamp() for time in result["Timestamps"]]
            found[some[int(result["Id"].removeprefix("m"))]].update(zip(times, result["Values"], strict=True))
    return found


def _batches(metrics: list[Metric]) -> Iterator[list[Metric]]:
    return (metrics[place : place + QUERIES_MAX] for place in range(0, len(metrics), QUERIES_MAX))


def _query(name: str, metric: Metric, period_seconds: int) -> Mapping[str, object]:
    dimensions = [{"Name": key, "Value": value} for key, value in metric.dimensions]
    asked = {"Namespace": NAMESPACE, "MetricName": metric.name, "Dimensions": dimensions}
    return {"Id": name, "MetricStat": {"Metric": asked, "Period": period_seconds, "Stat": metric.statistic}}
