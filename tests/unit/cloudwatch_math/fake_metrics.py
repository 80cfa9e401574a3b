"""Metrics whose datapoints are given as lists, one for each minute."""

from collections.abc import Mapping, Sequence
from typing import cast

from hashrange.aws_services.operation import Caller
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.queries import Queries
from hashrange.cloudwatch.query_evaluation import MetricDataQuery, MetricMember, MetricStatMember, QueryResult
from hashrange.cloudwatch.statistic import Datapoint, of_value

BEGIN_SECONDS = 1_800_000_000
CALLER = Caller("000000000000", "us-east-1")
NAMESPACE = "Tests"


class FakeMetrics:
    """Has what queries need of Metrics. Names of metrics are the ids of queries."""

    def __init__(self, values: Mapping[str, Sequence[float | None]]) -> None:
        self.values = values
        self.reads = 0
        self.insight_rules = lambda: None

    @property
    def end_seconds(self) -> int:
        """End of the last minute."""
        return BEGIN_SECONDS + 60 * max(map(len, self.values.values()), default=0)

    def now_seconds(self) -> float:
        """A little later than the last minute."""
        return self.end_seconds + 5.0

    def points(
        self, metric: MetricId, begin_seconds: float, end_seconds: float, period_seconds: int, unit: str | None = None
    ) -> Sequence[Datapoint]:
        """Datapoints of the minutes of [begin, end)."""
        assert period_seconds == 60
        assert unit is None
        self.reads += 1
        found = enumerate(self.values.get(metric.name, ()))
        times = ((BEGIN_SECONDS + 60 * place, value) for place, value in found if value is not None)
        return [
            Datapoint(at, "None", of_value(value), None) for at, value in times if begin_seconds <= at < end_seconds
        ]

    def find(self, account: str, region: str, namespace: str | None = None) -> Sequence[MetricId]:
        """All metrics."""
        assert (account, region) == CALLER
        return [MetricId(*CALLER, NAMESPACE, name) for name in self.values] if namespace in {None, NAMESPACE} else []

    def as_metrics(self) -> Metrics:
        """Itself, as a type checker sees it."""
        return cast(Metrics, self)


def metric_query(query_id: str, label: str | None = None) -> MetricDataQuery:
    """A query of the metric with the same name, by minutes."""
    metric = MetricMember(NAMESPACE, query_id)
    return MetricDataQuery(query_id, MetricStatMember(metric, 60, "Sum"), Label=label, ReturnData=False)


def evaluated(metrics: FakeMetrics, *expressions: str) -> Sequence[QueryResult]:
    """The series of expressions, whose ids are `e1`, `e2`, …"""
    queries = [metric_query(name) for name in metrics.values]
    queries += [MetricDataQuery(f"e{number}", Expression=text) for number, text in enumerate(expressions, 1)]
    return Queries(queries).evaluate(metrics.as_metrics(), CALLER, BEGIN_SECONDS, metrics.end_seconds)
