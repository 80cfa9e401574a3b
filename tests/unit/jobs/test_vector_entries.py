"""Entries of vector indexes beside all else that follows a table: expiries, long items, damage, and other indexes."""

from pathlib import Path
from typing import Any

import pytest

from hashrange.items.keys import prefix_upper_bound
from hashrange.store.embedded import late_entries, layout
from hashrange.tables.source_id import SOURCE_BYTES, table_prefix
from tests.conformance.vectors import vector, vector_index
from tests.unit.jobs.world import TABLE, World

ON = {"Enabled": True, "AttributeName": "until"}


def world_with(data_dir: Path | None, *names: str, **members: Any) -> World:
    """A world whose table has vector indexes with these names."""
    world = World(data_dir)
    world.ask("DeleteTable")
    world.ask(
        "CreateTable",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
        VectorIndexes=[vector_index(name, **members) for name in names],
    )
    return world


def counts(world: World) -> list[int]:
    return [one["ItemCount"] for one in world.described()["VectorIndexes"]]


def entry_keys(world: World) -> list[bytes]:
    """The engine's keys of all entries of the first vector index."""
    table = world.store.catalog.find(world.scope.account, world.scope.region, TABLE)
    assert table is not None
    source_id = table.vector_sources[0].source_id
    keys = world.embedded.engine.keys(from_key=source_id)
    return [key for key in iter(lambda: next(keys, b"\xff"), b"\xff") if key < prefix_upper_bound(source_id)]


def test_an_expired_item_leaves_the_index_when_it_is_deleted(tmp_path: Path) -> None:
    world = world_with(tmp_path / "data", "plain")
    world.ask("UpdateTimeToLive", TimeToLiveSpecification=ON)
    world.finish()
    now = int(world.clock.service_time())
    world.ask("PutItem", Item={"id": {"S": "a"}, "until": {"N": str(now + 10)}, "embedding": vector(1, 2, 3)})
    world.ask("PutItem", Item={"id": {"S": "b"}, "embedding": vector(1, 2, 3)})
    world.clock.advance(5.0)
    world.expire()
    assert counts(world) == [2]
    world.clock.advance(10.0)
    world.expire()
    assert counts(world) == [1]
    assert world.close() == []


def test_entries_of_long_items_come_after_their_commit(tmp_path: Path) -> None:
    names = ["one", "two", "three", "four"]
    world = world_with(tmp_path / "data", *names)
    blob = {"S": "x" * 300_000}
    assert len(names) * 300_000 > late_entries.LATE_BYTES_MIN
    world.ask("PutItem", Item={"id": {"S": "a"}, "blob": blob, "embedding": vector(1, 2, 3)})
    world.kill()
    assert counts(world) == [1] * 4
    world.ask("PutItem", Item={"id": {"S": "a"}, "blob": blob, "embedding": vector(3, 2, 1)})
    world.ask("DeleteItem", Key={"id": {"S": "a"}})
    assert counts(world) == [0] * 4
    assert world.close() == []


@pytest.mark.parametrize("damage", ["missing", "another", "one too many"])
def test_a_check_finds_damaged_entries(tmp_path: Path, damage: str) -> None:
    world = world_with(tmp_path / "data", "plain")
    world.ask("PutItem", Item={"id": {"S": "a"}, "embedding": vector(1, 2, 3)})
    world.ask("PutItem", Item={"id": {"S": "b"}, "embedding": vector(3, 2, 1)})
    engine = world.embedded.engine
    first, second = entry_keys(world)
    if damage == "missing":
        engine.delete(first)
    elif damage == "another":
        engine.put(first, engine.get(second))
    else:
        engine.put(first + b"x", engine.get(first))
    assert any("index plain" in fault for fault in world.close())


def test_partitions_of_an_index_split(tmp_path: Path) -> None:
    world = World(tmp_path / "data", partition_size_max_bytes=2_000)
    world.ask("UpdateTable", VectorIndexUpdates=[{"Create": vector_index()}])
    world.clock.advance(20.0)
    for number in range(100):
        world.ask("PutItem", Item={"id": {"S": f"o{number}"}, "embedding": vector(number, 0, 0)})
    world.finish()
    world.split()
    assert len(entry_keys(world)) == 100
    assert world.close() == []


def test_a_check_counts_lists_of_numbers(tmp_path: Path) -> None:
    world = world_with(tmp_path / "data", "plain")
    world.ask("PutItem", Item={"id": {"S": "a"}, "embedding": vector(1, 2, 3)})
    world.kill()
    world.ask("PutItem", Item={"id": {"S": "a"}, "embedding": vector("0.1111", 2, 3)})
    assert world.described()["TableSizeBytes"] == 3 + 9 + 12
    statistics = world.embedded.site.statistics.by_table
    (by_source,) = [one for one in statistics.values() if any(len(source_id) > SOURCE_BYTES for source_id in one)]
    ((name, (count, size_bytes)),) = [one for one in by_source.items() if len(one[0]) > SOURCE_BYTES]
    assert (count, size_bytes) == (1, 3 + 4 + 3 + 3)
    world.embedded.engine.put(
        layout.STATISTICS_PREFIX + table_prefix(name), layout.encode_statistics(by_source | {name: (1, 1)})
    )
    assert any("is said to hold 1 rows of 1 bytes" in fault for fault in world.close())
