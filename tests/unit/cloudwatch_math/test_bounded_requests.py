"""A request of many searches and expressions looks once for metrics, holds what it still needs,
and computes no more than its reply has room for.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from hashrange.cloudwatch import queries as queries_module
from hashrange.cloudwatch import query_evaluation
from hashrange.cloudwatch.api import get_metric_data as operation
from hashrange.cloudwatch.api.get_metric_data import GetMetricDataRequest, get_metric_data
from hashrange.cloudwatch.math.program import PROGRAMS_KEPT
from hashrange.cloudwatch.math.search import read_search
from hashrange.cloudwatch.math.searched_metrics import SearchedMetrics
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.query_evaluation import MetricDataQuery
from hashrange.messages.metric_queries import MAX_METRICS
from tests.support.working import blocks_between_looks, lines_between_looks
from tests.unit.cloudwatch_math.fake_metrics import BEGIN_SECONDS, CALLER, NAMESPACE, FakeMetrics, evaluated

TOO_MANY = [{"Code": "MaxMetricsExceeded", "Value": MAX_METRICS}]


class CountedMetrics(FakeMetrics):
    """Counts how often metrics are looked for."""

    finds = 0

    def find(self, account: str, region: str, namespace: str | None = None) -> Sequence[MetricId]:
        self.finds += 1
        return super().find(account, region, namespace)


def asked(metrics: FakeMetrics, *expressions: str, **members: Any) -> Any:
    """The reply for all minutes."""
    begin, end = (datetime.fromtimestamp(at, UTC) for at in (BEGIN_SECONDS, metrics.end_seconds))
    queries = [MetricDataQuery(f"e{number}", Expression=text) for number, text in enumerate(expressions, 1)]
    running = get_metric_data(metrics.as_metrics(), CALLER, GetMetricDataRequest(queries, begin, end, **members))
    with pytest.raises(StopIteration) as ended:
        running.send(None)
    return ended.value.value


def search(terms: str) -> str:
    return f"SEARCH('{{{NAMESPACE}}} {terms}', 'Sum', 60)"


def test_metrics_are_looked_for_once_by_all_searches() -> None:
    """100 searches over 20,000 metrics took 30 to 40 s."""
    metrics = CountedMetrics({f"m{number}": [1.0] for number in range(50)})
    reply = asked(metrics, *[search(f'MetricName="m{number}" OR none') for number in range(50)])
    assert metrics.finds == 1
    assert [one["Id"] for one in reply["MetricDataResults"]] == [f"e{number}" for number in range(1, 51)]
    assert metrics.reads == 50


def test_a_search_compares_a_term_with_no_other_metrics() -> None:
    """A search in which many terms fit nothing compared each of them with every metric."""
    metrics = [MetricId(*CALLER, NAMESPACE, f"Load{number}") for number in range(1_000)]
    counted: list[int] = []
    searched = SearchedMetrics(metrics, counted.append)
    counted.clear()
    found = read_search(f"{{{NAMESPACE}}} " + " OR ".join(["Other", "'Load7'"] * 40)).found_in(searched)
    assert [one.name for one in found] == ["Load7"]
    assert sum(counted) < 1_000


def test_taking_in_many_metrics_gives_way() -> None:
    metrics = [MetricId(*CALLER, NAMESPACE, f"Load{number}", (("host", str(number)),)) for number in range(2_000)]
    assert lines_between_looks(partial(SearchedMetrics, metrics, lambda _: None)) < 3_000


def test_searches_find_500_series_together() -> None:
    metrics = CountedMetrics({f"m{number}": [1.0] for number in range(300)})
    reply = asked(metrics, search(""), search(""), "TIME_SERIES(1)")
    assert len(reply["MetricDataResults"]) == 501
    assert metrics.reads == 500
    assert reply["Messages"] == TOO_MANY
    assert asked(metrics, search(""))["Messages"] == []


def test_an_expression_that_is_not_needed_any_more_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """400 expressions over 15 days, each of the one before, took 400 MB."""
    metrics = FakeMetrics({"m1": [1.0] * 100})
    monkeypatch.setattr(query_evaluation, "METRIC_MATH_HELD_MAX", 1_000)
    results = evaluated(metrics, "m1 + 1", *[f"e{number} + 1" for number in range(1, 50)])
    assert [set(one.values.values()) for one in results] == [{float(number)} for number in range(2, 52)]
    assert set(evaluated(metrics, "e2 + e3", "e3 + 1", "m1 + m1")[0].values.values()) == {5.0}


def test_what_a_full_reply_has_no_room_for_is_not_computed() -> None:
    metrics = FakeMetrics({f"m{number}": [1.0] * 10 for number in range(4)})
    expressions = [search(f'MetricName="m{number}"') for number in range(4)]
    reply = asked(metrics, *expressions, MaxDatapoints=15)
    assert metrics.reads == 2
    assert [(one["StatusCode"], len(one["Values"])) for one in reply["MetricDataResults"]] == [
        ("Complete", 10),
        ("PartialData", 5),
        ("PartialData", 0),
        ("PartialData", 0),
    ]
    assert reply["NextToken"] is None


def test_a_reply_has_so_many_series(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (query_evaluation, operation):
        monkeypatch.setattr(module, "METRIC_RESULTS_MAX", 25)
    metrics = FakeMetrics({f"m{number}": [1.0] for number in range(10)})
    every = search("")
    reply = asked(metrics, f"[{every}, {every}, {every}]", every, "TIME_SERIES(1)")
    assert [one["Id"] for one in reply["MetricDataResults"]] == ["e1"] * 25 + ["e2", "e3"]
    assert [one["StatusCode"] for one in reply["MetricDataResults"]] == ["Complete"] * 25 + ["PartialData"] * 2
    assert reply["Messages"] == TOO_MANY


def long_expressions(count: int) -> list[str]:
    return [f"{number}" + "+2" * 900 for number in range(count)]


def test_what_expressions_name_together_is_not_looked_for_in_all_their_steps() -> None:
    """A million steps were looked at in one step of 0.1 s."""
    metrics = FakeMetrics({"m1": [1.0]})
    members = [MetricDataQuery(f"e{number}", Expression=text) for number, text in enumerate(long_expressions(50))]
    queries = queries_module.Queries([*members, MetricDataQuery("f", Expression="SUM(METRICS())")])
    begin, end = BEGIN_SECONDS, metrics.end_seconds
    assert queries.functions == {"SUM", "METRICS"}
    assert lines_between_looks(lambda: queries.functions) < 1_000
    assert lines_between_looks(partial(queries.evaluation, metrics.as_metrics(), CALLER, begin, end)) < 2_000


@pytest.mark.parametrize("last", ["e1", "m1", "wrong("], ids=["evaluated", "in no order", "not read"])
def test_expressions_are_freed_one_after_the_other(last: str) -> None:
    metrics = FakeMetrics({"m1": [1.0]})
    texts = long_expressions(50 + PROGRAMS_KEPT)
    freed = blocks_between_looks(partial(asked, metrics, *texts, last))
    assert freed < 15_000, "a step of an expression takes up to three blocks"
