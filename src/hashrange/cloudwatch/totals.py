"""How much has been observed of each metric since the start?
Totals that only grow, as Prometheus and OpenTelemetry count.
"""

from typing import NamedTuple

from hashrange.cloudwatch.limits import METRIC_TOTALS_MAX
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.percentiles import Distribution
from hashrange.cloudwatch.statistic import StatisticSet, merged


class Total(NamedTuple):
    """All observations of one metric since the start."""

    unit: str
    statistics: StatisticSet
    distribution: dict[int, float]
    """Number of a bucket → values in it; empty if the metric has no percentiles."""


class MetricTotals:
    """The totals of one server: of services' metrics, because nobody is told of programs' own.
    Of further ones than METRIC_TOTALS_MAX there are none.
    """

    def __init__(self) -> None:
        self._totals: dict[MetricId, Total] = {}

    def add(
        self, metric: MetricId, unit: str, observed: StatisticSet, distribution: Distribution | None = None
    ) -> None:
        """Add observations."""
        before = self._totals.get(metric)
        if before is None:
            if len(self._totals) < METRIC_TOTALS_MAX and not metric.is_custom:
                self._totals[metric] = Total(unit, observed, dict(distribution or {}))
            return
        for bucket, count in (distribution or {}).items():
            before.distribution[bucket] = before.distribution.get(bucket, 0.0) + count
        self._totals[metric] = before._replace(statistics=merged(before.statistics, observed))

    def forget(self, metric: MetricId) -> None:
        """Forget what has been observed of a metric, which is not kept any more."""
        self._totals.pop(metric, None)

    def all(self) -> list[tuple[MetricId, Total]]:
        """The totals, in order of the metrics' first observations."""
        return list(self._totals.items())
