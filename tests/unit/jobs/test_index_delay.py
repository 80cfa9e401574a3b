"""Delayed entries of global indexes: applied in order, none lost; local indexes are never delayed."""

import random
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from hashrange.operations.overlong_deadlines import shorten_overlong_deadlines
from hashrange.store.embedded import delayed_entries
from hashrange.tables.stream_records import waiting_part
from tests.support.clocks import SetClock
from tests.unit.jobs.world import World, drive, item

DELAY_SECONDS = 5.0


@pytest.fixture
def world_options() -> dict[str, Any]:
    return {"index_delay": lambda: DELAY_SECONDS}


@pytest.fixture
def world(world: World) -> World:
    """The world with a global index."""
    world.create()
    return world


def test_an_entry_comes_after_its_time(world: World) -> None:
    world.put(3)
    assert world.described()["ItemCount"] == 3
    assert world.entries() == {}
    assert world.apply() == DELAY_SECONDS
    assert world.index()["ItemCount"] == 0
    world.clock.advance(DELAY_SECONDS)
    assert world.apply() is None
    assert world.entries() == {f"o{number}": item(number) for number in range(3)}
    assert world.index()["ItemCount"] == 3


def test_entries_come_in_the_order_of_their_commits(world: World) -> None:
    seen = []
    for status in ("a", "b", "c"):
        world.ask("PutItem", Item=item(1) | {"status": {"S": status}})
        world.clock.advance(1.0)
    world.ask("DeleteItem", Key={"id": {"S": "o1"}})
    for _ in range(7):
        world.clock.advance(1.0)
        world.apply()
        seen.append([entry["status"]["S"] for entry in world.entries().values()])
    assert seen == [[], ["a"], ["b"], ["c"], [], [], []]
    assert world.index()["ItemCount"] == 0


def test_nothing_overtakes_when_delays_differ(tmp_path: Path) -> None:
    chance = random.Random(5)
    world = World(tmp_path / "data", is_suspending=True, index_delay=lambda: chance.uniform(0, 3))
    world.create()
    for number in range(200):
        key = chance.randint(0, 9)
        if chance.random() < 0.3:
            world.ask("DeleteItem", Key={"id": {"S": f"o{key}"}})
        else:
            world.ask("PutItem", Item=item(key) | {"n": {"N": str(number)}, "status": {"S": f"s{number % 3}"}})
        world.clock.advance(chance.uniform(0, 0.5))
        if chance.random() < 0.5:
            world.apply()
        if chance.random() < 0.03:
            world.restart()
    world.clock.advance(3.0)
    assert world.apply() is None
    items = {found["id"]["S"]: found for found in world.ask("Scan", ConsistentRead=True)["Items"]}
    assert world.entries() == items
    assert world.close() == []


def test_a_job_that_waits_for_long_is_woken_for_what_is_due_earlier(tmp_path: Path) -> None:
    delays_seconds = [100.0]
    world = World(tmp_path / "data", index_delay=lambda: delays_seconds[0])
    world.create()
    world.ask("PutItem", Item=item(1))
    world.restart()
    woken = Mock()
    world.store.maintenance.on_work(woken)
    assert world.apply() == 100.0
    world.ask("CreateTable", TableName="other", **OTHER)
    woken.reset_mock()
    delays_seconds[0] = 1.0
    world.ask("PutItem", TableName="other", Item=item(3))
    assert woken.called
    assert world.apply() == 1.0
    world.clock.advance(1.0)
    assert world.apply() == 99.0


OTHER: dict[str, Any] = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "status")],
    "BillingMode": "PAY_PER_REQUEST",
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-status",
            "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}


def test_what_waits_survives_a_restart_and_is_sound_meanwhile(tmp_path: Path) -> None:
    world = World(tmp_path / "data", index_delay=lambda: DELAY_SECONDS)
    world.create()
    world.put(10)
    assert world.close() == []
    world.open()
    world.clock.advance(DELAY_SECONDS)
    world.apply()
    assert len(world.entries()) == 10
    assert world.close() == []


def test_however_many_wait_a_start_reads_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path / "data", index_delay=lambda: DELAY_SECONDS)
    world.create()
    world.put(50)
    read = Mock(wraps=waiting_part)
    monkeypatch.setattr(delayed_entries, "waiting_part", read)
    world.restart()
    assert read.call_count == 0
    world.clock.advance(DELAY_SECONDS)
    assert world.apply() is None
    assert read.call_count == 50
    assert len(world.entries()) == 50
    world.restart()
    world.index_delay = None
    world.restart()
    world.ask("PutItem", Item=item(50))
    assert len(world.entries()) == 51, "nothing waits, so nothing has to wait for it"


def test_a_server_without_delay_first_writes_what_an_earlier_one_left(tmp_path: Path) -> None:
    world = World(tmp_path / "data", index_delay=lambda: DELAY_SECONDS)
    world.create()
    world.put(300)
    world.index_delay = None
    world.restart()
    world.ask("PutItem", Item=item(7) | {"status": {"S": "last"}})
    world.ask("DeleteItem", Key={"id": {"S": "o8"}})
    assert world.apply() is None
    entries = world.entries()
    assert entries["o7"]["status"] == {"S": "last"}
    assert len(entries) == 299
    world.ask("PutItem", Item=item(8))
    assert len(world.entries()) == 300
    assert world.close() == []


def test_an_index_deleted_meanwhile_gets_nothing_any_more(world: World) -> None:
    world.put(5)
    world.delete()
    world.create()
    assert len(world.entries()) == 5
    world.put(1)
    world.clock.advance(DELAY_SECONDS)
    assert world.apply() is None
    assert world.entries() == {f"o{number}": item(number) for number in range(5)}


def test_an_index_built_while_entries_wait(world: World) -> None:
    world.put(600)
    world.create("by-n", "n2")
    for number in range(0, 600, 3):
        world.ask("PutItem", Item=item(number) | {"n2": {"S": "x"}})
    world.slice()
    for number in range(0, 600, 5):
        world.ask("DeleteItem", Key={"id": {"S": f"o{number}"}})
    world.finish()
    world.clock.advance(DELAY_SECONDS)
    world.apply()
    expected = {f"o{number}" for number in range(0, 600, 3) if number % 5}
    assert world.entries("by-n").keys() == expected
    assert world.index("by-n")["ItemCount"] == len(expected)


def test_a_table_deleted_meanwhile(world: World) -> None:
    world.put(5)
    world.ask("DeleteTable")
    world.clock.advance(DELAY_SECONDS)
    assert world.apply() is None


def test_local_indexes_never_wait(world: World) -> None:
    def name_of(kind: str, name: str) -> dict[str, str]:
        return {"AttributeName": name, "KeyType": kind}

    members: dict[str, Any] = {"TableName": "collections"}
    world.ask(
        "CreateTable",
        **members,
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "at")],
        KeySchema=[name_of("HASH", "pk"), name_of("RANGE", "sk")],
        BillingMode="PAY_PER_REQUEST",
        LocalSecondaryIndexes=[
            {
                "IndexName": "by-time",
                "KeySchema": [name_of("HASH", "pk"), name_of("RANGE", "at")],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        GlobalSecondaryIndexes=[
            {"IndexName": "all-times", "KeySchema": [name_of("HASH", "at")], "Projection": {"ProjectionType": "ALL"}}
        ],
    )
    world.ask("PutItem", **members, Item={"pk": {"S": "p"}, "sk": {"S": "s"}, "at": {"S": "t"}})
    assert world.ask("Scan", **members, IndexName="by-time", ConsistentRead=True)["Count"] == 1
    assert world.ask("Scan", **members, IndexName="all-times")["Count"] == 0
    world.clock.advance(DELAY_SECONDS)
    world.apply()
    assert world.ask("Scan", **members, IndexName="all-times")["Count"] == 1


def test_no_entry_waits_longer_than_its_delay_when_the_clock_is_set_back(tmp_path: Path) -> None:
    clock = SetClock()
    world = World(tmp_path / "data", index_delay=lambda: DELAY_SECONDS, clock=clock)
    world.create()
    world.put(3)
    clock.advance(DELAY_SECONDS / 2)
    clock.set_by(-3600)
    world.apply()
    assert world.entries() == {}
    clock.advance(DELAY_SECONDS / 2)
    assert world.apply() is None
    assert len(world.entries()) == 3
    assert world.close() == []


def test_what_an_earlier_process_left_for_a_time_out_of_reach_is_due_at_once(tmp_path: Path) -> None:
    world = World(tmp_path / "data", index_delay=lambda: DELAY_SECONDS, clock=SetClock())
    world.create()
    world.put(3)
    world.clock = SetClock(world.clock.wall_time() - 3600)
    world.restart()
    tables = [table.schema for table in world.embedded.catalog.all_tables()]
    drive(shorten_overlong_deadlines(world.embedded, tables, world.clock.service_time(), 0.0))
    world.put(5, n={"N": "1"})
    assert world.apply() == DELAY_SECONDS
    assert len(world.entries()) == 3
    world.clock.advance(DELAY_SECONDS)
    assert world.apply() is None
    assert len(world.entries()) == 5
    assert world.close() == []
