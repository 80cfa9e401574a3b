"""Records of a table's change log whose index entries wait: what is kept of them, for how long, and how much of them
one step reads, beside streams that have ended, partitions that were split and tables that were deleted.
"""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from hashrange.store.embedded import delayed_entries, layout, stream_reads
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.interface import WHOLE_LEASE
from tests.unit.jobs.streaming import DAY, all_records, change, pass_time, switch_off, switch_on
from tests.unit.jobs.world import World, drive, item

DELAY_SECONDS = 5.0


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path / "data", index_delay=lambda: DELAY_SECONDS, partition_size_max_bytes=2000)
    world.create()
    return world


def records(world: World) -> int:
    """How many records the engine has."""
    return len(list(scan_prefix(world.embedded.engine, layout.LOG_PREFIX)))


def put(world: World, count: int = 9, **more: Any) -> None:
    world.put(count, pad={"S": "x" * 400}, **more)


def write_entries(world: World) -> None:
    world.clock.advance(DELAY_SECONDS)
    assert world.apply() is None


def test_records_that_an_ended_stream_does_not_show_go_with_their_entries(world: World) -> None:
    switch_on(world)
    switch_off(world)
    put(world)
    assert records(world) == 9
    write_entries(world)
    assert records(world) == 0
    assert world.close() == []


def test_records_that_a_stream_shows_stay_for_a_day(world: World) -> None:
    arn = switch_on(world)
    put(world)
    switch_off(world)
    world.ask("DeleteItem", Key={"id": {"S": "o1"}})
    assert records(world) == 10
    write_entries(world)
    assert records(world) == len(all_records(world, arn)) == 9
    pass_time(world, DAY + 1)
    assert records(world) == 0
    assert world.close() == []


@pytest.mark.parametrize("are_split", [False, True])
def test_nothing_is_left_of_a_table_that_is_deleted_while_entries_wait(world: World, are_split: bool) -> None:
    switch_on(world)
    put(world)
    switch_off(world)
    if are_split:
        world.split()
    put(world, status={"S": "second"})
    world.ask("DeleteTable")
    world.clock.advance(DELAY_SECONDS)
    world.apply()
    pass_time(world, 2 * DAY)
    assert records(world) == 0
    assert list(scan_prefix(world.embedded.engine, layout.WAITING_PREFIX)) == []
    assert world.close() == []


def test_records_whose_entries_wait_longer_than_their_shard_is_kept(world: World) -> None:
    switch_on(world)
    put(world)
    switch_off(world)
    world.clock.advance(2 * DAY)
    world.tend()
    assert records(world) == 9
    assert world.apply() is None
    assert records(world) == 0
    assert len(world.entries()) == 9
    assert world.close() == []


def test_a_start_reads_no_change_to_learn_when_it_is_due(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    put(world)
    world.split()
    put(world, status={"S": "second"})
    world.restart()
    read = Mock(wraps=delayed_entries.stored_changes)
    monkeypatch.setattr(delayed_entries, "stored_changes", read)
    assert world.apply() == DELAY_SECONDS
    assert not read.called


def test_a_step_ends_when_it_has_read_enough_although_it_writes_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path / "data", index_delay=lambda: DELAY_SECONDS)
    world.create(Projection={"ProjectionType": "KEYS_ONLY"})
    world.put(40, pad={"S": "x" * 1_000})
    world.restart()
    monkeypatch.setattr(delayed_entries, "SLICE_BYTES_MAX", 10_000)
    world.clock.advance(DELAY_SECONDS)
    steps = 0
    while drive(world.store.maintenance.apply_delayed(WHOLE_LEASE, 1_000)) is not None:
        steps += 1
    assert 4 <= steps <= 6
    assert len(world.entries()) == 40


def test_deletions_count_among_what_is_kept_in_memory(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delayed_entries, "KEPT_BYTES_MAX", 20_000)
    put(world, 60)
    write_entries(world)
    for number in range(60):
        world.ask("DeleteItem", Key={"id": {"S": f"o{number}"}})
        kept = sum(len(one.kept) for one in world.embedded._stream_states.waiting.values())
        assert kept * 800 <= 20_000
    write_entries(world)
    assert world.entries() == {}


def test_a_page_ends_when_it_has_read_enough_although_the_stream_shows_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path / "data", index_delay=lambda: DELAY_SECONDS)
    world.create()
    arn = switch_on(world, "KEYS_ONLY")
    monkeypatch.setattr(stream_reads, "READ_BYTES_MAX", 20_000)
    for value in range(30):
        change(world, 1, value, size_bytes=2_000)
    (stream,) = world.store.streams.of(world.scope.account, world.scope.region)
    (shard,) = world.store.streams.shards(stream)
    page = drive(world.store.streams.records(shard, 0, 1_000, 20_000))
    assert 5 <= len(page.records) < 15
    assert not page.is_end
    assert len(all_records(world, arn)) == 30


def test_an_index_that_is_gone_gets_no_entries(world: World) -> None:
    world.create("by-other", "other")
    put(world, other={"S": "a"})
    world.restart()
    world.ask("UpdateTable", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-other"}}])
    write_entries(world)
    assert world.entries() == {
        f"o{number}": item(number) | {"pad": {"S": "x" * 400}, "other": {"S": "a"}} for number in range(9)
    }
    assert world.close() == []
