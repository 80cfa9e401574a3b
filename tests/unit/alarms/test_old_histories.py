"""Histories of deleted alarms are kept for two weeks, and of a bounded number of alarms."""

from collections.abc import Iterable
from typing import Any

import pytest

from hashrange.cloudwatch.alarms import alarms as alarms_module
from hashrange.testing.database import Database

DAY_SECONDS = 86_400.0


def put(cloudwatch: Any, name: str) -> None:
    """Create an alarm, or update it."""
    cloudwatch.put_metric_alarm(
        AlarmName=name,
        Namespace="Own",
        MetricName="reads",
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="GreaterThanThreshold",
    )


def delete(cloudwatch: Any, names: Iterable[str]) -> None:
    """Create alarms and delete them, one by one."""
    for name in names:
        put(cloudwatch, name)
        cloudwatch.delete_alarms(AlarmNames=[name])


def names_with_history(database: Database) -> list[str]:
    """Names of alarms with a history, as kept."""
    documents = database._process.service.store.documents
    return [
        name.rpartition("/")[2] for name, _ in database._process.run(lambda: list(documents.below("alarm-history/")))
    ]


def test_the_last_deleted_alarms_have_histories(
    database: Database, cloudwatch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alarms_module, "ALARM_HISTORIES_GONE_MAX", 3)
    put(cloudwatch, "living")
    for name in ("e", "d", "c", "b"):
        delete(cloudwatch, name)
        database.clock.advance(1)
    assert names_with_history(database) == ["b", "c", "d", "living"]
    put(cloudwatch, "d")
    delete(cloudwatch, "a")
    assert names_with_history(database) == ["a", "b", "c", "d", "living"]
    database.clock.advance(1)
    cloudwatch.delete_alarms(AlarmNames=["d"])
    assert names_with_history(database) == ["a", "b", "d", "living"]
    assert len(cloudwatch.describe_alarm_history(AlarmName="d")["AlarmHistoryItems"]) == 4


def test_after_two_weeks_a_deleted_alarm_has_no_history(database: Database, cloudwatch: Any) -> None:
    delete(cloudwatch, ["old"])
    database.clock.advance(10 * DAY_SECONDS)
    delete(cloudwatch, ["new"])
    assert names_with_history(database) == ["new", "old"]
    database.clock.advance(5 * DAY_SECONDS)
    delete(cloudwatch, ["newest"])
    assert names_with_history(database) == ["new", "newest"]
