"""Queries are checked before they are evaluated; long, deep and large ones are bounded."""

from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import ServiceError
from hashrange.cloudwatch import queries as queries_module
from hashrange.cloudwatch import query_evaluation
from hashrange.cloudwatch.math.values import TimeSeries, times_of
from hashrange.cloudwatch.math.windows import told_times
from hashrange.cloudwatch.queries import Queries
from hashrange.cloudwatch.query_evaluation import MetricDataQuery
from hashrange.items import steps
from tests.unit.cloudwatch_math.fake_metrics import BEGIN_SECONDS, CALLER, FakeMetrics, evaluated, metric_query

METRIC = {"Namespace": "Tests", "MetricName": "m1"}
STAT = {"Metric": METRIC, "Period": 60, "Stat": "Sum"}


def refusal(*queries: dict[str, Any]) -> str:
    """The message with which queries are refused."""
    with pytest.raises(ServiceError) as caught:
        Queries(msgspec.convert(list(queries), list[MetricDataQuery]))
    assert caught.value.code == "ValidationError"
    return caught.value.message


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"Id": "M1"}, "The value M1 for parameter MetricDataQueries.member.1.Id is not matching the expected pattern"),
        ({"Id": "m-1"}, "expected pattern ^[a-z][a-zA-Z0-9_]*$."),
        ({"Expression": "1"}, "Exactly one of"),
        ({"MetricStat": None}, "Exactly one of"),
        (
            {"MetricStat": STAT | {"Stat": "Total"}},
            "The value Total for parameter MetricDataQueries.member.1.MetricStat.Stat is not a valid statistic.",
        ),
        ({"MetricStat": STAT | {"Period": 61}}, "MetricDataQueries.member.1.MetricStat.Period"),
        ({"MetricStat": STAT | {"Unit": "Miles"}}, "MetricStat.Unit"),
        (
            {"MetricStat": STAT | {"Metric": {"MetricName": "a"}}},
            "The parameter MetricDataQueries.member.1.MetricStat.Metric.Namespace is required.",
        ),
        ({"MetricStat": STAT | {"Metric": METRIC | {"Dimensions": [{"Name": "a"}]}}}, "Dimensions.member.1.Value"),
        ({"MetricStat": STAT | {"Metric": METRIC | {"MetricName": "x" * 256}}}, "MetricName"),
    ],
)
def test_queries_that_are_refused(query: dict[str, Any], words: str) -> None:
    assert words in refusal({"Id": "m1", "MetricStat": STAT} | query)


def test_all_faults_of_members_are_told() -> None:
    wrong = STAT | {"Stat": "Total"}
    lines = refusal({"Id": "a", "MetricStat": wrong}, {"Id": "B", "MetricStat": wrong}).split("\n")
    assert [line.split("member.")[1][0] for line in lines] == ["1", "2", "2"]


def test_queries_that_do_not_fit_together_are_refused() -> None:
    query = {"Id": "m1", "MetricStat": STAT}
    assert refusal(query, query) == "The values for parameter id in MetricDataQueries are not unique."
    assert "greater than 500" in refusal(*[query] * 501)
    assert "Error in expression 'e'" in refusal({"Id": "e", "Expression": "f + 1"})
    assert refusal({"Id": "e", "Expression": "f"}, {"Id": "f", "Expression": "e"}).endswith("leads back to itself")
    assert "must be a multiple" in refusal({"Id": "e", "Expression": "1", "Period": 61})


def test_an_expression_may_name_one_that_comes_later() -> None:
    metrics = FakeMetrics({"m1": [1.0, 2.0]})
    one, other = evaluated(metrics, "e2 + 1", "m1 * 10")
    assert list(one.values.values()) == [11.0, 21.0]
    assert list(other.values.values()) == [10.0, 20.0]
    assert metrics.reads == 1


def test_500_expressions_in_a_row() -> None:
    metrics = FakeMetrics({"m1": [1.0] * 10})
    chain = ["m1"] + [f"e{number} + 1" for number in range(1, 499)]
    assert list(evaluated(metrics, *reversed_chain(chain))[0].values.values()) == [499.0] * 10
    assert metrics.reads == 1


def reversed_chain(chain: list[str]) -> list[str]:
    """The same expressions, with the first one last: each names one that comes after it."""
    count = len(chain)
    return [f"e{place + 2} + 1" if place < count - 1 else "m1" for place in range(count)]


def test_the_longest_expression() -> None:
    metrics = FakeMetrics({"m1": [1.0]})
    (result,) = evaluated(metrics, "m1" + "+1" * 1_023)
    assert list(result.values.values()) == [1_024.0]
    with pytest.raises(ServiceError, match="2,048 characters"):
        evaluated(metrics, "m1" + "+1" * 1_024)


@pytest.mark.parametrize("text", ["(", "[", "ABS(", "1||1&&1==1<1+1*1^(", "MAX(1, ", "m1^"])
def test_deep_expressions(text: str) -> None:
    metrics = FakeMetrics({"m1": [1.0]})
    for depth in (30, 500):
        closed = "".join({"(": ")", "[": "]"}.get(sign, "") for sign in text) * depth
        try:
            evaluated(metrics, text * depth + "m1" + closed)
        except ServiceError as error:
            assert "levels" in error.message or "characters" in error.message or "series" in error.message
            assert depth == 500 or "levels" in error.message
    minus = "-" * 2_000
    assert list(evaluated(metrics, f"{minus}m1")[0].values.values()) == [1.0]


def test_what_is_computed_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_evaluation, "METRIC_MATH_HELD_MAX", 20_000)
    metrics = FakeMetrics({f"m{number}": [1.0] * 100 for number in range(20)})
    many = "[" + ", ".join(["METRICS()"] * 12) + "]"
    for expressions in (
        [f"{many} * m1"],
        [f"METRICS() + {number}" for number in range(12)] + [" + ".join(f"e{number}" for number in range(1, 13))],
        ["[METRICS(), [METRICS(), METRICS()], METRICS(), METRICS(), METRICS(), METRICS(), METRICS(), METRICS()]"],
    ):
        with pytest.raises(ServiceError, match="20,000 datapoints at once"):
            evaluated(metrics, *expressions)
    results = evaluated(metrics, *["SUM(METRICS())"] * 20)
    assert {value for one in results for value in one.values.values()} == {20.0}
    monkeypatch.setattr(queries_module, "METRIC_MATH_AT_ONCE_MAX", 20_000)
    with pytest.raises(ServiceError, match="work on more than 20,000 datapoints"):
        evaluated(metrics, *["SUM(METRICS())"] * 20)


def test_a_series_that_meets_many_empty_ones_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_evaluation, "METRIC_MATH_HELD_MAX", 20_000)
    metrics = FakeMetrics({"m1": [1.0] * 1_000} | {f"empty{number}": [] for number in range(100)})
    with pytest.raises(ServiceError, match="20,000 datapoints at once"):
        evaluated(metrics, "METRICS('empty') + m1")
    with pytest.raises(ServiceError, match="20,000 datapoints at once"):
        evaluated(metrics, "FILL(METRICS(), 0)")


def test_functions_in_functions_are_computed_once() -> None:
    depth = 40
    metrics = FakeMetrics({"m1": [1.0]})
    (result,) = evaluated(metrics, "MAX(" * depth + "m1" + ", 1)" * depth)
    assert list(result.values.values()) == [1.0]


@pytest.mark.parametrize("text", ["TIME_SERIES(1)", "FILL(m1, 0)", "HOUR(m1)"])
def test_periods_are_bounded(text: str) -> None:
    metrics = FakeMetrics({"m1": [1.0]})
    queries = Queries([metric_query("m1"), MetricDataQuery("e1", Expression=text, Period=60)])
    with pytest.raises(ServiceError, match="100,800 periods"):
        queries.evaluate(metrics.as_metrics(), CALLER, BEGIN_SECONDS, BEGIN_SECONDS + 10**10)
    year = 365 * 86_400
    (result,) = queries.evaluate(metrics.as_metrics(), CALLER, BEGIN_SECONDS - year, metrics.end_seconds)
    assert result.values == {}, "minutes of a year ago are not kept"


def test_telling_the_time_of_many_periods_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes 3 µs for each period, of which there may be 100,800."""
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    times = range(0, 60 * 10_000, 60)
    told = told_times("HOUR", TimeSeries("", {}, 60), times)
    assert len(told.values) == len(times)
    assert len(looks) > 50


def test_arrays_of_many_series_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    assert list(times_of([TimeSeries("", {0: 1.0, 60: 2.0}, 60)] * 10_000)) == [0, 60]
    assert len(looks) > 50


def test_only_what_is_returned_is_computed() -> None:
    metrics = FakeMetrics({"m1": [1.0], "m2": [1.0], "m3": [1.0]})
    queries = Queries(
        [
            *map(metric_query, metrics.values),
            MetricDataQuery("e1", Expression="m1 + m2"),
            MetricDataQuery("e2", Expression="m3", ReturnData=False),
        ]
    )
    assert queries.returned == ["e1"]
    assert queries.functions == frozenset()
    queries.evaluate(metrics.as_metrics(), CALLER, BEGIN_SECONDS, metrics.end_seconds)
    assert metrics.reads == 2


def test_the_longest_period() -> None:
    queries = Queries([metric_query("m1"), MetricDataQuery("e1", Expression="SUM(METRICS())", Period=300)])
    assert queries.period_seconds == 300
    assert queries.functions == {"SUM", "METRICS"}
    assert Queries([metric_query("m1")]).period_seconds == 60
