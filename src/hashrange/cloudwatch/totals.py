"""How much has been observed of each metric since the start? Totals that only grow, as Prometheus and OpenTelemetry count."""

from typing import NamedTuple

from hashrange.cloudwatch.limits import METRIC_CUSTOM_NAMES_BYTES_MAX, METRIC_TOTALS_MAX
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.statistics import Distribution, StatisticSet, merged


class Total(NamedTuple):
    """All observations of one metric since the start."""

    unit: str
    statistics: StatisticSet
    distribution: dict[int, float]
    """Number of a bucket → values in it; empty if the metric has no percentiles."""


class MetricTotals:
    """The totals of one server. Of further metrics than METRIC_TOTALS_MAX, or METRIC_CUSTOM_NAMES_BYTES_MAX of custom ones, there are none."""

    def __init__(self) -> None:
        self._totals: dict[MetricId, Total] = {}
        self._custom_bytes = 0
        """What the names of programs' own metrics take."""

    def add(
        self, metric: MetricId, unit: str, observed: StatisticSet, distribution: Distribution | None = None
    ) -> None:
        """Add observations."""
        before = self._totals.get(metric)
        if before is None:
            self._put(metric, Total(unit, observed, dict(distribution or {})))
            return
        for bucket, count in (distribution or {}).items():
            before.distribution[bucket] = before.distribution.get(bucket, 0.0) + count
        self._totals[metric] = before._replace(statistics=merged(before.statistics, observed))

    def _put(self, metric: MetricId, total: Total) -> None:
        if len(self._totals) >= METRIC_TOTALS_MAX:
            return
        if metric.is_custom:
            names_bytes = self._custom_bytes + metric.names_bytes
            if names_bytes > METRIC_CUSTOM_NAMES_BYTES_MAX:
                return
            self._custom_bytes = names_bytes
        self._totals[metric] = total

    def forget(self, metric: MetricId) -> None:
        """Forget what has been observed of a metric of a service, which is not kept any more."""
        self._totals.pop(metric, None)

    def all(self) -> list[tuple[MetricId, Total]]:
        """The totals, in order of the metrics' first observations."""
        return list(self._totals.items())
