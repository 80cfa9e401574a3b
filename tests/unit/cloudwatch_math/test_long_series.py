"""Metric math over very many periods gives way wherever it passes over them: other requests do not wait for it."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from hashrange.cloudwatch.api.get_metric_data import GetMetricDataRequest, get_metric_data
from hashrange.cloudwatch.math.values import TimeSeries, times_of
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.query_evaluation import MetricDataQuery
from hashrange.cloudwatch.statistic import Datapoint, of_value
from hashrange.items import steps
from tests.support.working import lines_between_looks
from tests.unit.cloudwatch_math.fake_metrics import BEGIN_SECONDS, CALLER, FakeMetrics, metric_query

PERIODS = 10_000
END_SECONDS = BEGIN_SECONDS + 60 * PERIODS


class SparseMetrics(FakeMetrics):
    """Has one metric with a first and a last point."""

    def points(
        self, metric: MetricId, begin_seconds: float, end_seconds: float, period_seconds: int, unit: str | None = None
    ) -> Sequence[Datapoint]:
        return [Datapoint(at, "None", of_value(1.0), None) for at in (BEGIN_SECONDS, END_SECONDS - 60)]


@pytest.mark.parametrize("order", ["TimestampAscending", "TimestampDescending"])
@pytest.mark.parametrize(
    ("expression", "points"),
    [
        ("TIME_SERIES(1)", PERIODS),
        ("FILL(m1, LINEAR)", PERIODS),
        ("FILL(m1, REPEAT)", PERIODS),
        ("FILL(m1, 0)", PERIODS),
        ("FILL(m1, TIME_SERIES(2))", PERIODS),
        ("HOUR(m1)", PERIODS),
        ("TIME_SERIES(1) + m1", PERIODS),
        ("TIME_SERIES(1) / m1", 2),
        ("-TIME_SERIES(1)", PERIODS),
        ("ABS(TIME_SERIES(1))", PERIODS),
        ("RUNNING_SUM(TIME_SERIES(1))", PERIODS),
        ("RATE(TIME_SERIES(1))", PERIODS - 1),
        ("IF(TIME_SERIES(1), m1, 3)", PERIODS),
        ("SLICE([1, TIME_SERIES(1)], 0, 1)", PERIODS),
        ("MAX([m1, TIME_SERIES(1)])", PERIODS),
    ],
)
def test_what_fills_100_800_periods_gives_way(expression: str, points: int, order: str) -> None:
    """FILL took up to 150 ms in one step, operators 70 to 115, and what a reply shows of 100,800 periods 50 to 90."""
    begin, end = (datetime.fromtimestamp(at, UTC) for at in (BEGIN_SECONDS, END_SECONDS))
    queries = [metric_query("m1"), MetricDataQuery("e1", Expression=expression)]
    request = GetMetricDataRequest(queries, begin, end, ScanBy=order)
    metrics = SparseMetrics({"m1": []}).as_metrics()
    shown: list[int] = []

    def ask() -> None:
        with pytest.raises(StopIteration) as ended:
            get_metric_data(metrics, CALLER, request).send(None)
        shown.append(len(ended.value.value["MetricDataResults"][0]["Values"]))

    assert lines_between_looks(ask) < PERIODS // 5
    assert shown == [points]


def test_the_times_of_each_series_are_compared_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of an array of 500 series were compared in one step."""
    series = TimeSeries("a", dict.fromkeys(range(PERIODS), 1.0), 60)
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    assert list(times_of([series] * 9)) == list(range(PERIODS))
    assert len(looks) >= 8
