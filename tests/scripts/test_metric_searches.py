"""Search expressions of metric math by cases: metrics and expressions → the metrics that are found."""

from hashrange.cloudwatch.math.search import read_search
from hashrange.cloudwatch.math.searched_metrics import SearchedMetrics
from hashrange.cloudwatch.math.values import MathError
from hashrange.cloudwatch.metric_id import MetricId
from tests.scripts.cases import case_test


def evaluate(text: str) -> str:
    """Search for each line that is no metric, among the metrics above it; each is shown by its number."""
    metrics: list[MetricId] = []
    shown = []
    for line in text.splitlines():
        if line.startswith("metric "):
            namespace, name, *dimensions = line.split()[1:]
            pairs = sorted((one, value) for one, _, value in (given.partition("=") for given in dimensions))
            metrics.append(MetricId("000000000000", "us-east-1", namespace, name, tuple(pairs)))
        else:
            shown.append(f"{line} → {_found(metrics, line)}")
    return "\n".join(shown)


def _found(metrics: list[MetricId], expression: str) -> str:
    try:
        search = read_search(expression)
    except MathError as error:
        return str(error)
    own = [metric for metric in metrics if search.namespace in {None, metric.namespace}]
    found = search.found_in(SearchedMetrics(own, lambda _: None))
    return " ".join(str(number) for number, metric in enumerate(metrics, 1) if metric in found) or "none"


test_metric_searches = case_test("metric_searches.case", evaluate)
