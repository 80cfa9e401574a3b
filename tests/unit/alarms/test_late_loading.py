"""Alarms and scaling are loaded when they are needed. If that fails, it is told, nothing waits for ever,
and the next time it is tried again.
"""

from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.autoscaling import alarm_actions
from hashrange.settings import Settings
from hashrange.testing import Database, server

ONCE = Config(retries={"total_max_attempts": 1})


class Failing:
    """Takes the place of a function that is needed to load: fails so many times first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
        self.failures = failures
        self._load = alarm_actions.follow_actions
        monkeypatch.setattr(alarm_actions, "follow_actions", self)

    def __call__(self, *arguments: Any) -> Any:
        if self.failures:
            self.failures -= 1
            raise ImportError("a library is broken")
        return self._load(*arguments)


def put_alarm(database: Database) -> None:
    database.client("cloudwatch", config=ONCE).put_metric_alarm(
        AlarmName="high",
        Namespace="Shop",
        MetricName="Sold",
        Period=60,
        EvaluationPeriods=1,
        Statistic="Sum",
        Threshold=5.0,
        ComparisonOperator="GreaterThanThreshold",
        TreatMissingData="notBreaching",
    )


def state(database: Database) -> str:
    (alarm,) = database.client("cloudwatch").describe_alarms(AlarmNames=["high"])["MetricAlarms"]
    return str(alarm["StateValue"])


def test_a_request_that_needs_it_fails_and_the_next_one_does_not(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing = Failing(monkeypatch, 1)
    with server(Settings(data_dir=None)) as database:
        with pytest.raises(ClientError) as caught:
            put_alarm(database)
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
        assert failing.failures == 0
        put_alarm(database)
        assert state(database) == "INSUFFICIENT_DATA"
        database.clock.advance(120)
        assert state(database) == "OK"
    assert "a library is broken" in caplog.text


def test_time_goes_on_and_alarms_are_evaluated_once_it_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """After a restart, the job of alarms loads them, because the store has some."""
    settings = Settings(data_dir=str(tmp_path / "data"))
    with server(settings) as database:
        database.clock.freeze()
        put_alarm(database)
    failing = Failing(monkeypatch, 10)
    with server(settings) as database:
        database.clock.freeze()
        with pytest.raises(ImportError, match="broken"):
            database.clock.advance(120)
        failing.failures = 0
        database.clock.advance(120)
        assert state(database) == "OK"
    assert "failed and is tried again" in caplog.text
