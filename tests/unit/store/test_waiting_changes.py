"""Changes whose index entries wait: their order through splits and restarts, and that none of their records stays."""

from pathlib import Path
from typing import Any

import pytest

from hashrange.jobs import store_jobs
from hashrange.store.embedded import delayed_entries, layout
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.reading import scan_prefix
from tests.support.kills import copy_as_killed
from tests.unit.jobs.streaming import DAY, HOUR, pass_time, switch_off, switch_on
from tests.unit.jobs.world import World, drive, item

DELAY_SECONDS = 5.0
KEYS = 8


def world_in(folder: Path, delay_seconds: float = DELAY_SECONDS) -> World:
    world = World(folder / "data", index_delay=lambda: delay_seconds, partition_size_max_bytes=1500)
    world.create()
    world.finish()
    return world


def put(world: World, value: int, size_bytes: int = 0, count: int = KEYS) -> None:
    for number in range(count):
        pad = {"pad": {"S": "x" * size_bytes}} if size_bytes else {}
        world.ask("PutItem", Item=item(number) | {"status": {"S": f"s{value}"}} | pad)


def log_rows(world: World) -> list[bytes]:
    return [key for key, _ in scan_prefix(world.embedded.engine, layout.LOG_PREFIX)]


def faults(world: World, folder: Path) -> list[str]:
    """What the check finds in the folder as it is now."""
    assert world.data_dir is not None
    copy_as_killed(Path(world.data_dir), folder / "copy")
    return check_store(str(folder / "copy"), clock=world.clock).faults


@pytest.mark.parametrize("slice_changes", [1, 3, 128])
def test_entries_come_in_order_though_the_partition_has_split(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slice_changes: int
) -> None:
    monkeypatch.setattr(store_jobs, "DELAY_SLICE_CHANGES", slice_changes)
    world = world_in(tmp_path)
    put(world, 1, size_bytes=400)
    assert world.split() is None
    put(world, 2)
    world.restart()
    world.clock.advance(DELAY_SECONDS)
    world.apply()
    assert {entry["status"]["S"] for entry in world.entries().values()} == {"s2"}
    assert world.close() == []


def test_no_later_change_overtakes_when_a_later_delay_is_shorter(tmp_path: Path) -> None:
    delays = [5.0]
    world = World(tmp_path / "data", index_delay=lambda: delays[0], partition_size_max_bytes=1500)
    world.create()
    put(world, 1, size_bytes=400)
    world.restart()
    world.split()
    delays[0] = 1.0
    put(world, 2)
    for _ in range(6):
        world.clock.advance(1.0)
        world.apply()
    assert {entry["status"]["S"] for entry in world.entries().values()} == {"s2"}
    assert world.close() == []


def test_a_record_that_no_stream_shows_goes_with_its_entries(tmp_path: Path) -> None:
    """Though the table has a stream that has ended, and whose shards know nothing of the partition."""
    world = world_in(tmp_path)
    switch_on(world)
    put(world, 1, size_bytes=400)
    switch_off(world)
    before = len(log_rows(world))
    assert before == KEYS
    world.split()
    put(world, 2)
    assert len(log_rows(world)) == 2 * KEYS
    assert faults(world, tmp_path) == []
    world.clock.advance(DELAY_SECONDS)
    world.apply()
    assert len(log_rows(world)) == KEYS
    assert world.close() == []
    world.open()
    pass_time(world, DAY + HOUR)
    assert log_rows(world) == []


def test_a_deleted_table_leaves_no_record_in_partitions_without_shards(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    switch_on(world)
    put(world, 1, size_bytes=400)
    switch_off(world)
    put(world, 2, size_bytes=400)
    world.split()
    put(world, 3)
    world.ask("DeleteTable")
    assert list(scan_prefix(world.embedded.engine, layout.WAITING_PREFIX)) == []
    world.restart()
    assert world.apply() is None
    assert faults(world, tmp_path) == []
    pass_time(world, DAY + HOUR)
    assert log_rows(world) == []
    assert world.close() == []


@pytest.mark.parametrize("is_restarted", [False, True])
def test_records_whose_entries_wait_longer_than_their_shards_are_kept_go(tmp_path: Path, is_restarted: bool) -> None:
    """Also those between and behind them whose entries do not wait."""
    world = world_in(tmp_path, delay_seconds=2 * DAY)
    switch_on(world)
    for value in range(2):
        world.ask("PutItem", Item=item(1) | {"status": {"S": f"s{value}"}})
        world.ask("PutItem", Item={"id": {"S": "other"}, "n": {"N": str(value)}})
    switch_off(world)
    pass_time(world, DAY + HOUR)
    assert len(log_rows(world)) == 4
    assert faults(world, tmp_path) == []
    if is_restarted:
        world.restart()
    world.clock.advance(DAY)
    assert world.apply() is None
    assert log_rows(world) == []
    assert world.entries()["o1"]["status"] == {"S": "s1"}
    assert world.close() == []


def test_deletions_that_wait_take_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delayed_entries, "KEPT_BYTES_MAX", 20_000)
    world = world_in(tmp_path)
    put(world, 1)
    world.clock.advance(DELAY_SECONDS)
    world.apply()
    for _ in range(100):
        world.ask("PutItem", Item=item(1) | {"status": {"S": "a"}})
        world.ask("DeleteItem", Key={"id": {"S": "o1"}})
    kept = [len(one.kept) for one in world.embedded._stream_states.waiting.values()]
    assert 0 < sum(kept) <= 50
    world.clock.advance(DELAY_SECONDS)
    world.apply()
    assert len(world.entries()) == KEYS - 1


def test_a_slice_passes_over_a_bounded_part_of_the_records_that_do_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delayed_entries, "SLICE_BYTES_MAX", 10_000)
    world = world_in(tmp_path)
    switch_on(world)
    world.ask("PutItem", Item=item(1))
    for number in range(500):
        world.ask("PutItem", Item={"id": {"S": "other"}, "n": {"N": str(number)}})
    world.ask("PutItem", Item=item(2))
    world.restart()
    world.clock.advance(DELAY_SECONDS)
    slices: list[Any] = []
    while (pause := drive(world.delay_job.run_slice())) is not None:
        slices.append(pause)
    assert len(slices) >= 4
    assert world.entries().keys() == {"o1", "o2"}


def test_a_slice_reads_a_bounded_number_of_bytes(tmp_path: Path) -> None:
    """However small the entries are: the images of an index that projects keys are those of the item."""
    world = World(tmp_path / "data", index_delay=lambda: DELAY_SECONDS)
    world.create(Projection={"ProjectionType": "KEYS_ONLY"})
    put(world, 1, size_bytes=delayed_entries.SLICE_BYTES_MAX * 3 // 5)
    world.restart()
    world.clock.advance(DELAY_SECONDS)
    slices = 0
    while drive(world.delay_job.run_slice()) is not None:
        slices += 1
    assert slices == KEYS // 2
    assert len(world.entries()) == KEYS


def test_a_change_after_a_restart_replaces_none_that_waits_though_the_clock_stands_still(tmp_path: Path) -> None:
    world = world_in(tmp_path)
    put(world, 1, count=2)
    before = log_rows(world)
    world.restart()
    world.ask("PutItem", Item=item(2))
    assert len(before) == 2
    assert log_rows(world)[:2] == before
    assert len(log_rows(world)) == 3
    world.clock.advance(DELAY_SECONDS)
    world.apply()
    assert len(world.entries()) == 3
