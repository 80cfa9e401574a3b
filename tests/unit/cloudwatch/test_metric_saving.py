"""The job saves every quarter of an hour, every hour while time is moved, and rarely if nothing happens then.
A failed write loses nothing.
"""

from typing import Any

import pytest

from hashrange.cloudwatch import metrics as metrics_module
from hashrange.cloudwatch.metric_documents import MetricDocuments, cell_bytes
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metrics import Metrics
from hashrange.cloudwatch.statistic import of_value
from hashrange.errors import StorageError
from tests.unit.cloudwatch.conftest import START_SECONDS, World

DAY_SECONDS = 86_400
METRIC = MetricId("000000000000", "us-east-1", "Own", "reads")
ONE = of_value(1.0)


def test_nothing_is_done_without_metrics(world: World) -> None:
    assert world.run_job() is None
    assert world.documents() == {}


def test_observations_are_saved_every_quarter_of_an_hour(world: World) -> None:
    world.metrics.record(METRIC, "Count", START_SECONDS, ONE)
    assert world.run_job() == 900
    position = world.store.position()
    for _ in range(14):
        world.clock.advance_all(60)
        world.metrics.record(METRIC, "Count", world.clock.service_time(), ONE)
        world.run_job()
    assert world.store.position() == position
    world.clock.advance_all(60)
    assert world.run_job() == 900
    assert world.store.position() > position
    world.restart()
    points = world.metrics.points(METRIC, START_SECONDS, START_SECONDS + 3600, 3600)
    assert [one.statistics.sample_count for one in points] == [15.0]


def test_while_time_is_moved_observations_are_saved_every_six_hours(world: World) -> None:
    world.metrics.record(METRIC, "Count", START_SECONDS, ONE)
    assert world.run_job() == 900
    position = world.store.position()
    for _ in range(6 * 60 - 1):
        world.clock.advance(60)
        world.metrics.record(METRIC, "Count", world.clock.service_time(), ONE)
        assert (world.run_job() or 0.0) <= 900
    assert world.store.position() == position
    world.clock.advance(60)
    assert world.run_job() == 900
    assert world.store.position() > position


def test_much_is_saved_within_a_minute(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_module, "METRIC_UNSAVED_BYTES", 10 * cell_bytes(None))
    world.metrics.record(METRIC, "Count", START_SECONDS, ONE)
    assert world.run_job() == 900
    position, woken = world.store.position(), list[bool]()
    world.metrics.wake = lambda: woken.append(True)
    for _ in range(10):
        world.metrics.record(METRIC, "Count", START_SECONDS, ONE)
    assert (woken, world.run_job()) == ([True], 900)
    for _ in range(10):
        world.metrics.record(METRIC, "Count", START_SECONDS, ONE)
    assert (woken, world.run_job()) == ([True, True], 60)
    assert world.store.position() == position
    world.clock.advance(60)
    assert world.run_job() == 900
    assert world.store.position() > position
    world.clock.advance(60)
    assert world.run_job() == 900, "nothing is left to be saved early"


def test_once_real_time_passes_again_a_quarter_of_an_hour_is_enough(world: World) -> None:
    for _ in range(2):
        world.metrics.record(METRIC, "Count", world.clock.service_time(), ONE)
        world.run_job()
        world.clock.advance(3600)
    world.metrics.record(METRIC, "Count", world.clock.service_time(), ONE)
    assert world.run_job() == 900
    position = world.store.position()
    world.metrics.record(METRIC, "Count", world.clock.service_time(), ONE)
    world.clock.advance_all(900)
    assert world.run_job() == 900
    assert world.store.position() > position


def test_the_job_reads_sources(world: World) -> None:
    world.metrics.sources.add(lambda now_seconds: world.metrics.record(METRIC, "Count", now_seconds, ONE))
    world.run_job()
    world.restart()
    assert world.metrics.find(METRIC.account, METRIC.region) == [METRIC]
    assert world.metrics.last_seconds(METRIC) == START_SECONDS


def test_a_century_takes_few_saves(world: World) -> None:
    until_seconds = [START_SECONDS]

    def count(now_seconds: float) -> None:
        world.metrics.record_steadily(METRIC, "Count", until_seconds[-1], now_seconds, 60, ONE)
        until_seconds.append(now_seconds)

    world.metrics.sources.add(count)
    slices, end_seconds = 0, START_SECONDS + 100 * 365 * DAY_SECONDS
    while world.clock.service_time() < end_seconds:
        pause_seconds = world.run_job()
        assert pause_seconds
        world.clock.advance(pause_seconds)
        slices += 1
    assert slices < 1_500
    world.clock.advance(-world.clock.service_time() % DAY_SECONDS)
    points = world.metrics.points(METRIC, world.clock.service_time() - DAY_SECONDS, world.clock.service_time(), 3600)
    assert [one.statistics.sum for one in points] == [60.0] * 24


def test_a_woken_job_saves_within_six_hours(world: World) -> None:
    reads: list[float] = []
    world.metrics.sources.add(reads.append)
    pause_seconds = None
    for _ in range(8):
        pause_seconds = world.run_job()
        assert pause_seconds
        world.clock.advance(pause_seconds)
    assert (pause_seconds or 0.0) > 6 * 3600
    world.run_job()
    before = len(reads)
    world.clock.advance(300)
    assert world.run_job() == 900
    world.clock.advance(6 * 3600 - 900)
    assert world.run_job() == 600
    assert len(reads) == before
    world.clock.advance(600)
    assert world.run_job() == 2 * 6 * 3600
    assert len(reads) == before + 1


def test_the_job_is_woken_by_the_first_change(world: World) -> None:
    woken: list[bool] = []
    world.metrics.wake = lambda: woken.append(True)
    world.metrics.record(METRIC, "Count", START_SECONDS, ONE)
    world.metrics.record(METRIC, "Count", START_SECONDS, ONE)
    assert woken == [True]
    world.save()
    world.metrics.record(METRIC, "Count", START_SECONDS, ONE)
    assert woken == [True, True]


def test_a_failed_write_loses_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: Any) -> bool:
        raise StorageError("full")

    world.metrics.record(METRIC, "Count", START_SECONDS, ONE)
    with monkeypatch.context() as patched:
        patched.setattr(MetricDocuments, "write", fail)
        with pytest.raises(StorageError):
            world.save()
        with pytest.raises(StorageError):
            world.run_job()
    world.metrics.record(METRIC, "Count", START_SECONDS, ONE)
    assert counts(world.metrics) == [2.0]
    world.run_job()
    world.restart()
    assert counts(world.metrics) == [2.0]


def test_observations_during_a_save_are_kept_by_the_next_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    write = MetricDocuments.write

    async def slow(self: MetricDocuments, *arguments: Any) -> bool:
        world.metrics.record(METRIC, "Count", START_SECONDS, ONE)
        is_written = await write(self, *arguments)
        world.metrics.record(METRIC, "Count", START_SECONDS, ONE)
        assert counts(world.metrics) == [3.0]
        monkeypatch.setattr(MetricDocuments, "write", write)
        return is_written

    world.metrics.record(METRIC, "Count", START_SECONDS, ONE)
    monkeypatch.setattr(MetricDocuments, "write", slow)
    world.save()
    assert counts(world.metrics) == [3.0]
    world.save()
    world.restart()
    assert counts(world.metrics) == [3.0]


def counts(metrics: Metrics) -> list[float]:
    """Observations of the first minute."""
    return [one.statistics.sample_count for one in metrics.points(METRIC, START_SECONDS, START_SECONDS + 60, 60)]
