"""What is known of one series? Its metric, its unit, its number in the store, and what has been observed."""

from hashrange.cloudwatch.columns import differences
from hashrange.cloudwatch.metric_documents import StoredSeries
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.series import Series


class KnownSeries:
    """One metric in one unit."""

    __slots__ = ("metric", "number", "series", "unit")

    def __init__(self, number: int, metric: MetricId, unit: str, series: Series) -> None:
        self.number, self.metric = number, metric
        self.unit, self.series = unit, series

    def stored(self) -> StoredSeries:
        """All of the series but its blocks, as it is kept."""
        metric, series = self.metric, self.series
        return StoredSeries(
            self.number,
            (metric.account, metric.region, metric.namespace, metric.name, metric.dimensions),
            self.unit,
            series.last_seconds,
            [differences(numbers) for numbers in series.kept],
            series.runs.stored(),
        )
