"""What has one table, or one account in its Region, shown, and until when has it been recorded?
Observations are recorded later, for whole spans of time.
"""

from hashrange.cloudwatch.dynamodb.gauges import unit_of
from hashrange.cloudwatch.limits import METRIC_GAUGE_SECONDS
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.statistic import of_value


class ShownGauges:
    """The gauges of one table, or of one account in its Region. A change of them looks at no others."""

    __slots__ = ("gauges", "next_seconds")

    def __init__(self, since_seconds: float) -> None:
        self.gauges: dict[MetricId, float] = {}
        """What is shown now."""
        self.next_seconds = next_observation(since_seconds)
        """Service time of the next observation of all gauges."""

    def record(self, metrics: Metrics, now_seconds: float) -> None:
        """Record the observations that have become due by now."""
        begin_seconds = self.next_seconds
        if now_seconds < begin_seconds:
            return
        self.next_seconds = next_observation(now_seconds)
        for metric, value in self.gauges.items():
            metrics.record_steadily(
                metric, unit_of(metric), begin_seconds, self.next_seconds, METRIC_GAUGE_SECONDS, of_value(value)
            )

    def change(self, metrics: Metrics, gauges: dict[MetricId, float], at_seconds: float) -> None:
        """Record what was shown up to this moment, and show these gauges from it on;
        values that are new are recorded at once.
        """
        self.record(metrics, at_seconds)
        before, self.gauges = self.gauges, gauges
        for metric, value in gauges.items():
            if before.get(metric) != value:
                metrics.record(metric, unit_of(metric), at_seconds, of_value(value))


def next_observation(seconds: float) -> float:
    """When all gauges are observed next after this moment."""
    return float((seconds // METRIC_GAUGE_SECONDS + 1) * METRIC_GAUGE_SECONDS)
