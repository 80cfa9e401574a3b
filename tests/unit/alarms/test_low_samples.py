"""Alarms on percentiles: EvaluateLowSampleCountPercentile says whether few values may change their state."""

from typing import Any

import pytest

from hashrange.cloudwatch.alarms.evaluation import samples_needed
from hashrange.testing.database import Database
from tests.unit.alarms.test_alarms import ALARM, state


@pytest.mark.parametrize(
    ("statistic", "values"),
    [("p99", 1_000), ("p99.9", 10_000), ("p90", 100), ("p50", 20), ("p10", 100), ("p1", 1_000), ("p0", 0), ("p100", 0)],
)
def test_values_that_a_percentile_needs(statistic: str, values: int) -> None:
    assert round(samples_needed(statistic), 6) == values


@pytest.mark.parametrize("statistic", ["tm90", "IQM", "PR(1:2)", "Average"])
def test_other_statistics_need_none(statistic: str) -> None:
    assert samples_needed(statistic) == 0


def minute(database: Database, value: float, count: int) -> None:
    """Put a value so many times, and let a minute end."""
    datum = {"MetricName": "Load", "Values": [value], "Counts": [float(count)], "Timestamp": database.clock.now()}
    database.client("cloudwatch").put_metric_data(Namespace="own", MetricData=[datum])
    database.clock.advance(60)


@pytest.mark.parametrize(("setting", "few"), [("ignore", "OK"), ("evaluate", "ALARM"), (None, "ALARM")])
def test_few_values_change_no_state_if_they_are_ignored(
    database: Database, cloudwatch: Any, setting: str | None, few: str
) -> None:
    """The setting was kept and described, and changed nothing."""
    members = {name: value for name, value in ALARM.items() if name != "Statistic"}
    members |= {"ExtendedStatistic": "p90", "EvaluationPeriods": 1}
    if setting is not None:
        members["EvaluateLowSampleCountPercentile"] = setting
    cloudwatch.put_metric_alarm(**members, TreatMissingData="breaching")
    minute(database, 5, 100)
    assert state(cloudwatch)["StateValue"] == "OK"
    minute(database, 50, 99)
    assert state(cloudwatch)["StateValue"] == few
    minute(database, 50, 100)
    assert state(cloudwatch)["StateValue"] == "ALARM"
    minute(database, 5, 100)
    assert state(cloudwatch)["StateValue"] == "OK"
    for _ in range(3):
        database.clock.advance(60)
    assert state(cloudwatch)["StateValue"] == "ALARM", "TreatMissingData says what no values mean"
