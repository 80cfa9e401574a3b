"""Alarms on metric math: how many queries they may have, and what happens to those that are changed
while their queries are evaluated.
"""

from collections.abc import Coroutine, Sequence
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.cloudwatch.alarms import alarm_job
from hashrange.cloudwatch.alarms.alarm import Alarm, AlarmDefinition, Threshold
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.evaluation import Observed
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.queries import Queries
from hashrange.cloudwatch.query_evaluation import MetricDataQuery
from hashrange.items import steps
from tests.support.clocks import VirtualClock
from tests.unit.cloudwatch.conftest import START_SECONDS
from tests.unit.cloudwatch_math.fake_metrics import BEGIN_SECONDS, CALLER, FakeMetrics
from tests.unit.functions.functions_world import MemoryDocuments

THRESHOLD = Threshold("GreaterThanThreshold", 1.0, 1)


@pytest.mark.parametrize(("metrics", "expressions"), [(11, 1), (0, 11)])
def test_an_alarm_has_at_most_ten_metrics_and_ten_expressions(cloudwatch: Any, metrics: int, expressions: int) -> None:
    stat = {"Metric": {"Namespace": "own", "MetricName": "Load"}, "Period": 60, "Stat": "Sum"}

    def put(metrics: int, expressions: int) -> None:
        queries: list[dict[str, Any]] = [{"Id": f"m{number}", "MetricStat": stat} for number in range(metrics)]
        queries += [{"Id": f"e{number}", "Expression": "TIME_SERIES(1)"} for number in range(expressions)]
        for query in queries[:-1]:
            query["ReturnData"] = False
        rest = {"EvaluationPeriods": 1, "Threshold": 1.0, "ComparisonOperator": "GreaterThanThreshold"}
        cloudwatch.put_metric_alarm(AlarmName="math", Metrics=queries, **rest)

    put(10, 10)
    with pytest.raises(ClientError, match="more than 10 metrics"):
        put(metrics, expressions)


def done(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that waits for turns of an event loop at most."""
    while True:
        try:
            work.send(None)
        except StopIteration as stop:
            return stop.value


def test_an_alarm_that_is_deleted_during_its_evaluation_stays_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its queries give way to requests."""
    clock = VirtualClock(START_SECONDS)
    documents = MemoryDocuments()
    alarms, metrics = Alarms(documents, clock), Metrics(documents, clock)
    queries: list[dict[str, object]] = [{"Id": "e1", "Expression": "TIME_SERIES(5)"}]
    done(alarms.put("1", "r", AlarmDefinition("math", threshold=THRESHOLD, queries=queries)))
    evaluated: list[str] = []

    def observed_by(_metrics: Metrics, alarm: Alarm, end_seconds: float) -> tuple[Sequence[Observed], int]:
        done(alarms.delete("1", "r", ["math"]))
        evaluated.append(alarm.name)
        return [(end_seconds - 60, 5.0)], 60

    monkeypatch.setattr(alarm_job, "observed_by", observed_by)
    job = alarm_job.AlarmEvaluation(alarms, metrics, clock)
    done(job.run_slice())
    clock.advance(60)
    done(job.run_slice())
    assert evaluated == ["math"]
    assert alarms.all() == []
    assert list(documents.below("alarm/")) == []


def test_the_evaluation_of_queries_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    metrics = FakeMetrics({})
    queries = Queries([MetricDataQuery("e1", Expression="1 + " * 500 + "TIME_SERIES(1)")])
    before = len(looks)
    queries.evaluate(metrics.as_metrics(), CALLER, BEGIN_SECONDS, BEGIN_SECONDS + 3600)
    assert len(looks) > before
