"""A vector index is added to a table in use: its phases on service time, and which items have entries at the end."""

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.vectors import vector, vector_index
from tests.unit.jobs.world import TABLE, World

ALLOCATION_SECONDS, CREATION_SECONDS = 2.0, 10.0
"""How long the phases take with the settings' defaults."""
ALLOCATING = (
    "Attempt to change a resource which is still in use: Index creation is in resource allocation phase. Retry deletion"
    " during backfilling phase or when the index is active. Table: orders Index: plain"
)
INDEXES_IN_USE = (
    "Attempt to change a resource which is still in use: Cannot delete table while indexes are being created, updated,"
    " or deleted."
)
TWO_CHANGES = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table"
DELETE = {"VectorIndexUpdates": [{"Delete": {"IndexName": "plain"}}]}


def create(world: World, name: str = "plain") -> Any:
    """Add a vector index; returns the description in the reply."""
    return world.ask("UpdateTable", VectorIndexUpdates=[{"Create": vector_index(name)}])["TableDescription"]


def state(description: dict[str, Any]) -> tuple[Any, ...]:
    """TableStatus, and of the only vector index IndexStatus, Backfilling and ItemCount."""
    indexes = description.get("VectorIndexes", [])
    assert len(indexes) <= 1
    shown = [(one["IndexStatus"], one.get("Backfilling"), one["ItemCount"]) for one in indexes]
    return (description["TableStatus"], *(shown[0] if shown else ()))


def shown(world: World) -> tuple[Any, ...]:
    return state(world.described())


def filled(world: World, count: int) -> None:
    """Put this many items, every second with a vector."""
    for number in range(count):
        vectors = {"embedding": vector(number, 1, 1)} if number % 2 else {}
        world.ask("PutItem", Item={"id": {"S": f"o{number}"}} | vectors)


def test_the_phases_of_an_added_index() -> None:
    world = World(None)
    filled(world, 10)
    assert state(create(world)) == ("UPDATING", "CREATING", False, 0)
    world.clock.advance(ALLOCATION_SECONDS - 0.1)
    world.slice()
    assert shown(world) == ("UPDATING", "CREATING", False, 0)
    assert world.refusal("UpdateTable", **DELETE) == ("ResourceInUseException", ALLOCATING)
    other = {"VectorIndexUpdates": [{"Create": vector_index("other")}]}
    assert world.refusal("UpdateTable", **other) == ("LimitExceededException", TWO_CHANGES)
    assert world.refusal("DeleteTable")[0] == "ResourceInUseException"
    world.clock.advance(0.1)
    assert shown(world) == ("ACTIVE", "CREATING", True, 0)
    world.finish()
    world.clock.advance(CREATION_SECONDS - ALLOCATION_SECONDS - 0.1)
    assert shown(world) == ("ACTIVE", "CREATING", True, 5)
    assert world.refusal("UpdateTable", **other) == ("LimitExceededException", TWO_CHANGES)
    again = {"VectorIndexUpdates": [{"Create": vector_index()}]}
    created = "Attempt to change a resource which is still in use: Index is being created.  Table: orders Index: plain"
    assert world.refusal("UpdateTable", **again) == ("ResourceInUseException", created)
    assert world.refusal("DeleteTable") == ("ResourceInUseException", INDEXES_IN_USE)
    world.clock.advance(0.1)
    assert shown(world) == ("ACTIVE", "ACTIVE", None, 5)
    world.ask("DeleteTable")


def test_an_index_stays_creating_until_it_has_all_entries() -> None:
    world = World(None)
    filled(world, 4)
    create(world)
    world.clock.advance(2 * CREATION_SECONDS)
    assert shown(world) == ("ACTIVE", "CREATING", True, 0)
    world.finish()
    assert shown(world) == ("ACTIVE", "ACTIVE", None, 2)


def test_a_creation_is_cancelled_while_it_fills() -> None:
    world = World(None)
    filled(world, 4)
    create(world)
    world.clock.advance(ALLOCATION_SECONDS)
    world.finish()
    deleted = world.ask("UpdateTable", **DELETE)["TableDescription"]
    assert state(deleted)[:2] == ("UPDATING", "DELETING")
    assert shown(world) == ("ACTIVE",)
    world.ask("DeleteTable")


def test_a_deleted_index_is_shown_as_long_as_tables_change() -> None:
    world = World(None, delay_seconds=5.0)
    create(world)
    world.clock.advance(CREATION_SECONDS)
    world.finish()
    assert shown(world) == ("ACTIVE", "ACTIVE", None, 0)
    world.ask("UpdateTable", **DELETE)
    assert shown(world)[:2] == ("UPDATING", "DELETING")
    assert world.refusal("UpdateTable", **DELETE) == ("LimitExceededException", TWO_CHANGES)
    world.clock.advance(5.0)
    assert shown(world) == ("ACTIVE",)


def test_the_allocation_takes_at_least_as_long_as_tables_change() -> None:
    world = World(None, delay_seconds=30.0)
    create(world)
    world.clock.advance(29.0)
    assert shown(world) == ("UPDATING", "CREATING", False, 0)
    world.clock.advance(1.0)
    world.finish()
    assert shown(world) == ("ACTIVE", "ACTIVE", None, 0)


@pytest.mark.parametrize("is_suspending", [False, True])
def test_writes_and_kills_while_the_index_fills(tmp_path: Path, is_suspending: bool) -> None:
    world = World(tmp_path / "data", is_suspending=is_suspending)
    filled(world, 600)
    create(world)
    world.clock.advance(ALLOCATION_SECONDS)
    for turn in range(4):
        world.slice()
        for number in (turn, 100 + turn, 300 + turn, 599 - turn):
            world.ask("PutItem", Item={"id": {"S": f"o{number}"}, "embedding": vector(1, 2, 3)})
            world.ask("DeleteItem", Key={"id": {"S": f"o{number + 20}"}})
        world.kill()
    world.finish()
    world.clock.advance(CREATION_SECONDS)
    items = world.ask("Scan")["Items"]
    expected = [one for one in items if "embedding" in one]
    assert shown(world) == ("ACTIVE", "ACTIVE", None, len(expected))
    size_bytes = sum(2 + len(one["id"]["S"]) + len("embedding") + 12 for one in expected)
    assert world.described()["VectorIndexes"][0]["IndexSizeBytes"] == size_bytes
    assert world.close() == []


def test_deadlines_that_a_clock_has_set_too_far_ahead_are_moved(tmp_path: Path) -> None:
    from hashrange.tables.states import without_overlong_deadlines

    world = World(tmp_path / "data")
    create(world)
    found = world.store.catalog.find(world.scope.account, world.scope.region, TABLE)
    assert found is not None
    table, now_seconds = found.schema, world.clock.service_time()
    assert without_overlong_deadlines(table, now_seconds, 0.0, CREATION_SECONDS) == table
    (ended,) = without_overlong_deadlines(table, now_seconds - 3600, 0.0, CREATION_SECONDS).vector_indexes
    assert ended.allocating_until_seconds == ended.creating_until_seconds == now_seconds - 3600
    world.close()
