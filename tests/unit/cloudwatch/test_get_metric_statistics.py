"""GetMetricStatistics shows a week by hours in 168 points, and a day by minutes, wherever they begin."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hashrange.aws_services.operation import Caller, ServiceError
from hashrange.cloudwatch.api.checks import DimensionMember
from hashrange.cloudwatch.api.get_metric_statistics import OPERATION, GetMetricStatisticsRequest
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.statistic import StatisticSet, of_value
from tests.unit.cloudwatch.conftest import START_SECONDS, World

CALLER = Caller("000000000000", "us-east-1")
READS = MetricId(*CALLER, "AWS/DynamoDB", "ConsumedReadCapacityUnits", (("TableName", "a"),))
END_SECONDS = START_SECONDS + 3600 * 24 * 7 + 0.25


def ask(world: World, past: timedelta, period_seconds: int) -> list[dict[str, Any]]:
    """Datapoints of the time until now, in order."""
    now = datetime.fromtimestamp(world.clock.service_time(), UTC)
    request = GetMetricStatisticsRequest(
        Namespace=READS.namespace,
        MetricName=READS.name,
        StartTime=now - past,
        EndTime=now,
        Period=period_seconds,
        Dimensions=[DimensionMember("TableName", "a")],
        Statistics=["Sum", "Average", "Maximum"],
    )
    return list(world.run(OPERATION.run(world.metrics, CALLER, request))["Datapoints"])


@pytest.mark.parametrize("offset_seconds", [0, 1, 59, 61, 1799, 3599])
def test_a_week_by_hours(world: World, offset_seconds: int) -> None:
    for at_seconds in range(int(START_SECONDS), int(END_SECONDS) + offset_seconds + 1, 60):
        world.clock.advance_to(at_seconds)
        world.metrics.record(READS, "Count", at_seconds, StatisticSet(2.0, 3.5, 0.5, 3.0))
    world.clock.advance_to(END_SECONDS + offset_seconds)
    world.save()
    found = ask(world, timedelta(days=7), 3600)
    assert len(found) == 168
    assert {(one["Sum"], one["Average"], one["Maximum"]) for one in found[1:]} == {(60 * 3.5, 1.75, 3.0)}


def test_the_running_minute_is_in_the_newest_datapoint(world: World) -> None:
    world.clock.advance(3600 + 5.5)
    for period_seconds in (60, 300, 3600):
        world.metrics.record(READS, "Count", world.clock.service_time(), of_value(2.0))
        assert ask(world, timedelta(hours=1), period_seconds)[-1]["Sum"]
    assert ask(world, timedelta(seconds=2), 60)[-1]["Sum"] == 6.0


def test_a_day_by_minutes_is_not_too_much(world: World) -> None:
    world.clock.advance(86_400 + 5.5)
    ask(world, timedelta(days=1), 60)
    with pytest.raises(ServiceError) as caught:
        ask(world, timedelta(days=1, seconds=1), 60)
    assert caught.value.code == "InvalidParameterCombinationException"


def test_datapoints_without_what_is_asked_are_left_out(world: World) -> None:
    """A datapoint of a statistic set had a time and a unit alone when percentiles were asked for."""
    now = datetime.fromtimestamp(world.clock.service_time(), UTC)
    world.metrics.record(READS, "Count", START_SECONDS - 120, StatisticSet(3.0, 6.0, 1.0, 3.0))
    world.metrics.record(READS, "Count", START_SECONDS - 60, of_value(2.0))

    def asked(**statistics: list[str]) -> list[float]:
        request = GetMetricStatisticsRequest(
            Namespace=READS.namespace,
            MetricName=READS.name,
            StartTime=now - timedelta(minutes=5),
            EndTime=now,
            Period=60,
            Dimensions=[DimensionMember("TableName", "a")],
            **statistics,  # type: ignore[arg-type]
        )
        found = world.run(OPERATION.run(world.metrics, CALLER, request))["Datapoints"]
        return [one["Timestamp"].timestamp() - START_SECONDS for one in found]

    assert asked(ExtendedStatistics=["p50", "tm90"]) == [-60]
    assert asked(Statistics=["Sum"]) == [-120, -60]
