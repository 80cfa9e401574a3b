"""Metrics show what was recorded: by periods, for as long as their resolution is kept,
over restarts and restores, in bounded memory.
"""

import logging
import math

import pytest

from hashrange.cloudwatch import series_table
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.runs import RUNS_MAX
from hashrange.cloudwatch.statistic import StatisticSet, of_value
from hashrange.store.copying import copying_of
from tests.unit.cloudwatch.conftest import START_SECONDS, World

DAY_SECONDS = 86_400
READS = MetricId("000000000000", "us-east-1", "AWS/DynamoDB", "ConsumedReadCapacityUnits", (("TableName", "a"),))
OWN = READS._replace(namespace="Own")
ONE = of_value(1.0)


def sums(
    world: World, begin_seconds: float, end_seconds: float, period_seconds: int, metric: MetricId = READS
) -> list[tuple[float, float]]:
    """Begin of each period with observations, in seconds since START_SECONDS, and its sum."""
    points = world.metrics.points(metric, START_SECONDS + begin_seconds, START_SECONDS + end_seconds, period_seconds)
    return [(one.at_seconds - START_SECONDS, one.statistics.sum) for one in points]


def test_the_running_minute_is_shown(world: World) -> None:
    world.metrics.record(READS, "Count", START_SECONDS + 1, of_value(2.0))
    world.metrics.record(READS, "Count", START_SECONDS + 59, of_value(3.0))
    world.metrics.record(READS, "Count", START_SECONDS + 60, of_value(7.0))
    assert sums(world, 0, 120, 60) == [(0, 5.0), (60, 7.0)]
    assert sums(world, 0, 60, 60) == [(0, 5.0)]


def test_sources_are_read_before_every_answer(world: World) -> None:
    times: list[float] = []

    def count(now_seconds: float) -> None:
        times.append(now_seconds)
        world.metrics.record(READS, "Count", now_seconds, ONE)
        assert world.metrics.last_seconds(READS) == now_seconds

    world.metrics.sources.add(count)
    assert sums(world, 0, 60, 60) == [(0, 1.0)]
    assert world.metrics.find("000000000000", "us-east-1") == [READS]
    assert world.metrics.last_seconds(READS) == START_SECONDS
    world.save()
    assert times == [START_SECONDS] * 3
    assert sums(world, 0, 60, 60) == [(0, 4.0)]


def test_a_week_by_hours_has_168_points_wherever_it_begins(world: World) -> None:
    begin_seconds = START_SECONDS + 17 * 60 + 5
    world.metrics.record_steadily(READS, "Count", begin_seconds - 3600, begin_seconds + 8 * DAY_SECONDS, 60, ONE)
    world.clock.advance_to(begin_seconds + 7 * DAY_SECONDS)
    for minute in range(0, 7 * 1440, 97):
        world.metrics.record(READS, "Count", begin_seconds + 60 * minute, of_value(5.0))
    for _ in range(2):
        points = world.metrics.points(READS, begin_seconds, begin_seconds + 7 * DAY_SECONDS, 3600)
        assert [one.at_seconds for one in points] == [int(START_SECONDS) + 18 * 60 + 3600 * hour for hour in range(168)]
        assert sum(one.statistics.sum for one in points) == 7 * 1440 + 5.0 * len(range(97, 7 * 1440, 97))
        world.save()
        world.restart()


@pytest.mark.parametrize(("days", "periods"), [(14, {60, 300, 3600}), (16, {300, 3600}), (64, {3600}), (456, set())])
def test_periods_are_shown_as_long_as_their_resolution_is_kept(world: World, days: int, periods: set[int]) -> None:
    at_seconds = START_SECONDS // 3600 * 3600
    world.metrics.record(READS, "Count", at_seconds, of_value(2.0, 3.0))
    world.metrics.record(READS, "Count", at_seconds + 60, of_value(8.0))
    for _ in range(days):
        world.clock.advance(DAY_SECONDS)
        world.run_job()
    shown = {
        period_seconds
        for period_seconds in (30, 60, 300, 3600)
        if world.metrics.points(READS, at_seconds, at_seconds + 3600, period_seconds)
    }
    assert shown == periods
    points = world.metrics.points(READS, at_seconds, at_seconds + 3600, 3600)
    assert [one.statistics for one in points] == [StatisticSet(4.0, 14.0, 2.0, 8.0)] * bool(periods)


def test_what_is_too_old_leaves_no_documents(world: World) -> None:
    world.metrics.record(READS, "Count", START_SECONDS, ONE)
    world.metrics.record_steadily(OWN, "Count", START_SECONDS, START_SECONDS + DAY_SECONDS, 60, ONE)
    world.save()
    assert world.documents()
    for _ in range(3):
        world.clock.advance(300 * DAY_SECONDS)
        world.run_job()
    assert world.documents() == {}
    assert world.metrics.last_seconds(READS) == -math.inf
    world.restart()
    assert world.metrics.last_seconds(READS) == -math.inf


def test_calls_for_parts_of_a_time_record_what_one_call_for_all_of_it_does(world: World) -> None:
    for begin, end in ((0, 70), (70, 75), (75, 900), (900, 900), (900, 1000)):
        world.metrics.record_steadily(READS, "Count", START_SECONDS + begin, START_SECONDS + end, 300, ONE)
    assert sums(world, -600, 1200, 60) == [(0, 1.0), (300, 1.0), (600, 1.0), (900, 1.0)]


def test_steady_observations_take_no_space_over_time(world: World) -> None:
    sizes = []
    for _ in range(3):
        for _ in range(1440):
            now_seconds = world.clock.service_time()
            world.clock.advance(60)
            world.metrics.record_steadily(READS, "Count", now_seconds, now_seconds + 60, 60, ONE)
        world.save()
        sizes.append({name: len(document) for name, document in world.documents().items()})
    assert sizes[0] == sizes[1] == sizes[2]
    assert sums(world, 0, 3 * DAY_SECONDS, DAY_SECONDS) == [(day * DAY_SECONDS, 1440.0) for day in range(3)]


def test_gauges_that_change_often_become_cells(world: World) -> None:
    expected = []
    for day in range(3 * RUNS_MAX):
        begin_seconds = START_SECONDS + day * DAY_SECONDS
        world.clock.advance_to(begin_seconds + DAY_SECONDS)
        for value, begin, end in ((float(day), 0, 43_200), (0.5, 43_200, 43_500), (1.5, 43_500, DAY_SECONDS)):
            world.metrics.record_steadily(
                READS, "Count", begin_seconds + begin, begin_seconds + end, 300, of_value(value)
            )
        expected.append((day * DAY_SECONDS, day * 144 + 0.5 + 143 * 1.5))
    world.save()
    stored = world.documents()["metric-series/00000000"]
    assert len(stored) < 60 * RUNS_MAX
    world.restart()
    assert sums(world, 0, 3 * RUNS_MAX * DAY_SECONDS, DAY_SECONDS) == expected


def test_a_restore_brings_former_datapoints_back(world: World) -> None:
    world.metrics.record(READS, "Count", START_SECONDS, ONE)
    world.save()
    checkpoint = world.run(copying_of(world.store).checkpoint())
    world.metrics.record(READS, "Count", START_SECONDS, ONE)
    world.metrics.record(OWN, "Count", START_SECONDS, ONE)
    world.save()
    assert sums(world, 0, 60, 60) == [(0, 2.0)]
    world.metrics.record(READS, "Count", START_SECONDS, ONE)
    copying_of(world.store).restore(checkpoint)
    assert sums(world, 0, 60, 60) == [(0, 1.0)]
    assert world.metrics.find("000000000000", "us-east-1") == [READS]
    world.metrics.record(READS, "Count", START_SECONDS, ONE)
    world.save()
    world.restart()
    assert sums(world, 0, 60, 60) == [(0, 2.0)]
    checkpoint.release()


def test_only_what_has_changed_is_written(world: World) -> None:
    others = [READS._replace(name=f"metric {place}") for place in range(100)]
    for metric in others:
        world.metrics.record(metric, "Count", START_SECONDS, ONE)
    world.save()
    before = world.documents()
    world.metrics.record(others[50], "Count", START_SECONDS, ONE)
    world.save()
    changed = {name for name, document in world.documents().items() if before.get(name) != document}
    assert changed == {f"metric-block/32/60/{int(START_SECONDS // 21_600)}"}
    position = world.store.position()
    world.save()
    assert world.store.position() == position


def test_units_are_apart(world: World) -> None:
    world.metrics.record(OWN, "Count", START_SECONDS, ONE)
    world.metrics.record(OWN, "Bytes", START_SECONDS, of_value(9.0))
    points = world.metrics.points(OWN, START_SECONDS, START_SECONDS + 60, 60)
    assert [(one.unit, one.statistics.sum) for one in points] == [("Bytes", 9.0), ("Count", 1.0)]
    assert len(world.metrics.points(OWN, START_SECONDS, START_SECONDS + 60, 60, "Count")) == 1
    assert world.metrics.points(OWN, START_SECONDS, START_SECONDS + 60, 60, "Percent") == []


def test_metrics_are_found_by_their_parts_for_two_weeks(world: World) -> None:
    table, index = (("TableName", "b"),), (("GlobalSecondaryIndexName", "i"), ("TableName", "b"))
    metrics = [
        MetricId("000000000000", "us-east-1", namespace, name, dimensions)
        for namespace in ("AWS/DynamoDB", "Own")
        for name in ("a", "b")
        for dimensions in ((), index, table)
    ]
    for metric in [*metrics[::2], *metrics[1::2], metrics[0]._replace(region="eu-west-1")]:
        world.metrics.record(metric, "Count", START_SECONDS, ONE)
    find = world.metrics.find
    for _ in range(2):
        assert find("000000000000", "us-east-1") == metrics
        assert find("000000000000", "us-east-1", "Own") == metrics[6:]
        assert find("000000000000", "us-east-1", "Own", "a") == metrics[6:9]
        assert find("000000000000", "us-east-1", None, "b") == metrics[3:6] + metrics[9:]
        assert find("000000000000", "us-east-1", "Own", "a", [("TableName", "b")]) == metrics[7:9]
        assert find("000000000000", "us-east-1", "Own", "a", [("GlobalSecondaryIndexName", None)]) == metrics[7:8]
        assert find("000000000000", "us-east-1", "Own", "a", [("TableName", "c")]) == []
        assert find("000000000000", "us-west-1") == find("1", "us-east-1") == []
        world.save()
        world.restart()
        find = world.metrics.find
    world.clock.advance(14 * DAY_SECONDS)
    assert find("000000000000", "us-east-1") == metrics
    world.metrics.record(metrics[3], "Count", START_SECONDS + 60, ONE)
    world.clock.advance(1)
    assert find("000000000000", "us-east-1") == [metrics[3]]
    assert len(world.metrics.points(metrics[0], START_SECONDS, START_SECONDS + 60, 60)) == 1


def test_the_metrics_recorded_longest_ago_are_forgotten_when_there_are_too_many(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(series_table, "METRIC_SERIES_CUSTOM_MAX", 40)
    metrics = [OWN._replace(name=f"{place:03}") for place in range(100)]
    world.metrics.record(READS, "Count", START_SECONDS, ONE)
    with caplog.at_level(logging.WARNING, "hashrange.cloudwatch"):
        for place, metric in enumerate(metrics):
            world.metrics.record(metrics[0], "Count", START_SECONDS, ONE)
            world.metrics.record(metric, "Count", START_SECONDS + place, ONE)
            if place % 30 == 29:
                world.save()
    assert len(caplog.records) == 1
    kept = [READS, metrics[0], *metrics[-39:]]
    assert world.metrics.find("000000000000", "us-east-1") == kept
    world.save()
    assert len([name for name in world.documents() if name.startswith("metric-block/")]) == len(kept)
    world.restart()
    assert world.metrics.find("000000000000", "us-east-1") == kept
    assert sums(world, 0, 120, 120, metrics[0]) == [(0, 101.0)]
