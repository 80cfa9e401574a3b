"""Data with StorageResolution 1 are shown by the second for three hours, and then as minutes;
alarms see what happens within a minute.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database

METRIC = {"Namespace": "own", "MetricName": "Load"}


def start(folder: str | None = None) -> Any:
    return server(Settings(data_dir=folder))


@pytest.fixture
def database() -> Iterator[Database]:
    with start() as database:
        at_minute(database)
        yield database


def at_minute(database: Database) -> None:
    """Stop the clock at the begin of a minute."""
    database.clock.freeze()
    database.clock.advance(60 - database.clock.now() % 60)


def put(database: Database, *values: float, resolution: int = 1, age_seconds: int = 0) -> None:
    """Put a value for each of the last seconds, the newest one `age_seconds` ago."""
    now_seconds = round(database.clock.now()) - age_seconds
    data = [
        {
            "MetricName": "Load",
            "Value": value,
            "Timestamp": now_seconds - len(values) + 1 + number,
            "StorageResolution": resolution,
        }
        for number, value in enumerate(values)
    ]
    database.client("cloudwatch").put_metric_data(Namespace="own", MetricData=data)


def shown(database: Database, past_seconds: float, period: int, end_seconds: float = 0.0) -> list[tuple[float, float]]:
    """How many seconds ago each datapoint of a stretch of time begins, and its sum."""
    now = datetime.fromtimestamp(database.clock.now(), UTC)
    reply = database.client("cloudwatch").get_metric_statistics(
        **METRIC,
        StartTime=now - timedelta(seconds=past_seconds),
        EndTime=now - timedelta(seconds=end_seconds),
        Period=period,
        Statistics=["Sum"],
    )
    return sorted(((one["Timestamp"] - now).total_seconds(), one["Sum"]) for one in reply["Datapoints"])


def test_seconds_are_put_together_into_short_periods(database: Database) -> None:
    """A whole minute was shown at its begin, even before the time that was asked for."""
    database.clock.advance(17)
    put(database, *map(float, range(60)), age_seconds=1)
    assert shown(database, 3, 1) == [(-3, 57), (-2, 58), (-1, 59)]
    assert shown(database, 20, 5) == [(-22, 200), (-17, 225), (-12, 250), (-7, 275), (-2, 117)]
    assert shown(database, 30, 10, 7) == [(-37, 275), (-27, 375), (-17, 475)]
    assert shown(database, 300, 60) == [(-77, sum(range(43))), (-17, sum(range(43, 60)))]


def test_a_minute_counts_with_all_of_its_seconds(database: Database) -> None:
    put(database, 1.0, age_seconds=-45)
    assert shown(database, 60, 60, -30) == [(0, 1)]
    assert shown(database, 60, 10, -30) == []


def test_data_of_the_usual_resolution_stand_at_the_begin_of_their_minute(database: Database) -> None:
    database.clock.advance(30)
    put(database, 1.0, 2.0, resolution=60)
    put(database, 4.0)
    assert shown(database, 90, 10) == [(-30, 3)]
    database.clock.advance(30)
    assert shown(database, 90, 10) == [(-60, 3), (-30, 4)]
    assert shown(database, 60, 60) == [(-60, 7)]


def test_seconds_become_minutes_after_three_hours(tmp_path: Path) -> None:
    with start(str(tmp_path)) as database:
        at_minute(database)
        put(database, *[1.0] * 50, age_seconds=5)
    with start(str(tmp_path)) as database:
        at_minute(database)
        assert sum(number for _, number in shown(database, 300, 5)) == 50
        assert len(shown(database, 300, 5)) >= 10
        database.clock.advance(3 * 3600 + 1)
        assert shown(database, 3 * 3600 + 600, 10) == []
        for hours in (0, 6):
            database.clock.advance(hours * 3600)
            assert sum(number for _, number in shown(database, 12 * 3600, 60)) == 50


def alarm(database: Database, **members: Any) -> Any:
    """Put an alarm on periods of 10 seconds."""
    database.client("cloudwatch").put_metric_alarm(
        AlarmName="load",
        **METRIC,
        Statistic="Maximum",
        Threshold=10.0,
        ComparisonOperator="GreaterThanThreshold",
        **{"Period": 10, "EvaluationPeriods": 1, **members},
    )


def states(database: Database) -> list[str]:
    """Changes of the alarm's state with the second of the minute at which they happened, oldest first."""
    found = database.client("cloudwatch").describe_alarm_history(
        AlarmName="load", HistoryItemType="StateUpdate", ScanBy="TimestampAscending"
    )
    return [
        f"{one['Timestamp'].second} {one['HistorySummary'].rpartition(' ')[2]}" for one in found["AlarmHistoryItems"]
    ]


def test_an_alarm_sees_each_short_period_of_a_minute(database: Database) -> None:
    alarm(database)
    put(database, *[1.0] * 20, *[20.0] * 10, *[1.0] * 30, age_seconds=-59)
    database.clock.advance(60)
    assert states(database) == ["10 OK", "30 ALARM", "40 OK"]


def test_an_alarm_sees_short_periods_together(database: Database) -> None:
    alarm(database, Period=30, EvaluationPeriods=2)
    put(database, *[20.0] * 60, age_seconds=-59)
    put(database, *[1.0] * 30, age_seconds=-89)
    database.clock.advance(120)
    assert states(database) == ["30 ALARM", "30 OK"], "what is missing does not count"
