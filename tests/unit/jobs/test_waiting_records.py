"""Records of a table's change log that a stream shows, and whose index entries wait; what a start and a page read."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from hashrange.store.embedded import delayed_entries, layout, stream_reads
from hashrange.store.embedded.reading import scan_prefix
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


def test_a_start_reads_no_change_to_learn_when_it_is_due(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    put(world)
    world.split()
    put(world, status={"S": "second"})
    world.restart()
    read = Mock(wraps=delayed_entries.stored_changes)
    monkeypatch.setattr(delayed_entries, "stored_changes", read)
    assert world.apply() == DELAY_SECONDS
    assert not read.called


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
