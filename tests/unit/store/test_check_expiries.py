"""`check` compares items with the expiry queue, and finds rows that are missing, left over or wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hashrange.store.embedded import layout
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.engine import open_engine
from hashrange.store.embedded.reading import scan_prefix
from tests.unit.jobs.test_expiry import enable, now, put
from tests.unit.jobs.world import World

TABLE = b"\0\0\0\1\0\0"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A closed store with items that never expire, expire later, or had expired when written (one written twice, one
    long expired)."""
    world = World(tmp_path / "data")
    enable(world)
    world.put(1)
    put(world, 1, now(world) + 10)
    for seconds in (5, 7):
        world.clock.advance(1)
        put(world, 2, now(world) - seconds)
    put(world, 3, 5)
    put(world, 4, now(world) - 1)
    assert world.close() == []
    return world


def plant(world: World, write: Callable[[Any, list[bytes]], None]) -> list[str]:
    """The faults, except those of statistics, that `check` finds after `write(engine, keys of the queue)`."""
    assert world.data_dir is not None
    engine = open_engine(world.data_dir)
    keys = [key for key, _ in scan_prefix(engine, layout.TIME_TO_LIVE_PREFIX)]
    assert len(keys) == 4
    write(engine, keys)
    engine.close()
    faults = check_store(world.data_dir, clock=world.clock).faults
    return [fault for fault in faults if "said to hold" not in fault]


def test_an_item_that_is_not_queued(world: World) -> None:
    (fault,) = plant(world, lambda engine, keys: engine.delete(keys[3]))
    assert "expires and is not in the queue of expiries" in fault


def test_an_expired_item_that_is_not_queued(world: World) -> None:
    def delete(engine: Any, keys: list[bytes]) -> None:
        for key in keys[:3]:
            engine.delete(key)

    assert len(plant(world, delete)) == 2


def test_a_row_without_item_is_dropped_when_it_is_due(world: World) -> None:
    assert (
        plant(world, lambda engine, keys: engine.delete(TABLE + keys[3][len(layout.TIME_TO_LIVE_PREFIX) + 14 :])) == []
    )


def test_a_row_that_is_not_empty(world: World) -> None:
    (fault,) = plant(world, lambda engine, keys: engine.put(keys[0], b"x"))
    assert "is not empty" in fault


def test_a_row_of_no_such_table(world: World) -> None:
    stray = layout.TIME_TO_LIVE_PREFIX + b"\0\0\0\2\0\0" + b"\0" * 8 + b"key"
    (fault,) = plant(world, lambda engine, keys: engine.put(stray, b""))
    assert "belongs to no table with time to live" in fault


def test_a_row_ahead_of_the_walk(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    for number in range(700):
        put(world, number, now(world) + 10)
    world.ask("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})
    assert world.embedded.maintenance.backfills()
    table = world.embedded.catalog.all_tables()[0]
    last = max(key for key, _ in scan_prefix(world.embedded.engine, table.source_id))[6:]
    world.embedded.engine.put(layout.TIME_TO_LIVE_PREFIX + table.source_id + b"\0" * 8 + last, b"")
    (fault,) = world.close()
    assert "ahead of how far the queue has been filled" in fault
