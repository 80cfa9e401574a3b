"""Adding an index to a table in use: built slice by slice, correct at every moment, not readable until complete."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hashrange.errors import ResourceNotFoundException
from hashrange.items.rows import encode_row
from hashrange.items.types import Key
from hashrange.items.values import check_item
from hashrange.jobs.store_jobs import BACKFILL_SLICE_ROWS
from hashrange.limits import INDEX_CREATIONS_MAX
from hashrange.operations.tables.update_table import FIRST_BACKFILL_ROWS
from hashrange.store.embedded import upkeep, walks
from hashrange.store.interface import TransactionStep
from tests.support.rows_read import note_rows_read
from tests.support.samples import statistics_of
from tests.unit.jobs.world import World, drive, item

COUNT = 900
"""More items than UpdateTable itself and two slices of the job process."""
LIMIT_EXCEEDED = (
    "LimitExceededException",
    "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
)


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[World]:
    """A world whose tables need ten seconds for each change of state."""
    made = World(tmp_path / "data", delay_seconds=10.0)
    yield made
    assert made.close() == []


def test_a_small_table_has_its_index_in_the_next_call(world: World) -> None:
    world.put(20)
    reply = world.create()
    assert reply["TableStatus"] == "UPDATING"
    assert reply["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    assert reply["GlobalSecondaryIndexes"][0]["Backfilling"] is False
    table = world.described()
    assert table["TableStatus"] == "ACTIVE"
    assert table["AttributeDefinitions"] == [
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "status", "AttributeType": "S"},
    ]
    index = table["GlobalSecondaryIndexes"][0]
    assert (index["IndexStatus"], index["ItemCount"]) == ("ACTIVE", 20)
    assert "Backfilling" not in index
    assert index["IndexArn"].endswith("table/orders/index/by-status")
    assert world.entries() == {f"o{number}": item(number) for number in range(20)}
    assert world.slice() is None


def test_an_index_is_refused_until_it_is_complete_and_tells_how_far_it_is(world: World) -> None:
    world.put(COUNT)
    world.create()
    counts = []
    while (index := world.index())["IndexStatus"] == "CREATING":
        assert index["Backfilling"] is True
        counts.append(index["ItemCount"])
        for operation in ("Scan", "Query"):
            condition = {"KeyConditionExpression": "#s = :s", "ExpressionAttributeNames": {"#s": "status"}}
            condition["ExpressionAttributeValues"] = {":s": {"S": "s1"}}
            refusal = world.refusal(operation, IndexName="by-status", **(condition if operation == "Query" else {}))
            assert refusal == (
                "ValidationException",
                "Cannot read from backfilling global secondary index: by-status",
            )
        world.slice()
    assert counts == [*range(FIRST_BACKFILL_ROWS, COUNT, BACKFILL_SLICE_ROWS)]
    assert world.entries() == {f"o{number}": item(number) for number in range(COUNT)}
    assert world.index()["IndexSizeBytes"] == world.described()["TableSizeBytes"]


def test_writes_go_on_meanwhile_on_both_sides_of_the_walk(world: World) -> None:
    world.put(COUNT)
    expected = {f"o{number}": item(number) for number in range(COUNT)}
    world.create()
    for step in range(3):
        for number in range(step, COUNT, 7):
            key = f"o{number}"
            match (number + step) % 4:
                case 0:
                    world.ask("DeleteItem", Key={"id": {"S": key}})
                    expected.pop(key, None)
                case 1:
                    expected[key] = item(number) | {"status": {"S": f"moved{step}"}}
                    world.ask("PutItem", Item=expected[key])
                case 2:
                    expected[key] = item(number) | {"more": {"S": "x" * step}}
                    world.ask("PutItem", Item=expected[key])
                case 3:
                    expected[f"new{step}-{number}"] = item(number) | {"id": {"S": f"new{step}-{number}"}}
                    world.ask("PutItem", Item=expected[f"new{step}-{number}"])
        world.slice()
    world.finish()
    assert world.entries() == expected
    assert world.index()["ItemCount"] == len(expected)


def test_updates_go_on_meanwhile(world: World) -> None:
    world.put(COUNT)
    world.create()
    world.slice()
    for number in range(0, 100, 2):
        world.ask(
            "UpdateItem",
            Key={"id": {"S": f"o{number}"}},
            UpdateExpression="SET #s = :s",
            ExpressionAttributeNames={"#s": "status"},
            ExpressionAttributeValues={":s": {"S": "changed"}},
        )
    world.finish()
    entries = world.entries()
    assert {key for key, entry in entries.items() if entry["status"]["S"] == "changed"} == {
        f"o{number}" for number in range(0, 100, 2)
    }
    assert len(entries) == COUNT


def test_items_that_do_not_fit_are_left_out_and_come_back_when_they_do(world: World) -> None:
    world.put(5)
    for number, status in enumerate(({"N": "1"}, {"S": ""}, {"S": "x" * 2049}, {"BOOL": True}, {"S": "ü" * 1025})):
        world.ask("PutItem", Item={"id": {"S": f"odd{number}"}, "status": status})
    world.ask("PutItem", Item={"id": {"S": "sparse"}})
    world.ask("PutItem", Item={"id": {"S": "longest"}, "status": {"S": "ü" * 1024}})
    world.create()
    assert world.entries().keys() == {"o0", "o1", "o2", "o3", "o4", "longest"}
    for key in ("odd0", "odd2"):
        world.ask(
            "UpdateItem",
            Key={"id": {"S": key}},
            UpdateExpression="SET extra = :o",
            ExpressionAttributeValues={":o": {"S": "o"}},
        )
    assert world.index()["ItemCount"] == 6
    world.ask("PutItem", Item={"id": {"S": "odd0"}, "status": {"S": "sound"}})
    assert len(world.entries()) == 7


@pytest.mark.parametrize("slices", [0, 1, 2, 3])
def test_a_restart_goes_on_where_it_ended(tmp_path: Path, slices: int) -> None:
    world = World(tmp_path / "data")
    world.put(COUNT)
    world.create()
    for _ in range(slices):
        world.slice()
    progress = (world.index() or {})["ItemCount"]
    world.restart()
    assert world.index()["ItemCount"] == progress
    world.ask("PutItem", Item=item(COUNT))
    world.finish()
    assert len(world.entries()) == COUNT + 1
    assert world.close() == []


def test_one_online_change_at_a_time(world: World) -> None:
    world.put(COUNT)
    world.create("first", "status")
    world.finish()
    world.create("second", "other")

    def changed(*actions: dict[str, object]) -> tuple[str, str | None]:
        definitions = [{"AttributeName": "third", "AttributeType": "S"}]
        return world.refusal("UpdateTable", AttributeDefinitions=definitions, GlobalSecondaryIndexUpdates=[*actions])

    keys = [{"AttributeName": "third", "KeyType": "HASH"}]
    third = {"IndexName": "third", "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}
    assert changed({"Create": third}) == LIMIT_EXCEEDED
    assert changed({"Delete": {"IndexName": "first"}}) == LIMIT_EXCEEDED
    assert world.refusal("DeleteTable") == (
        "ResourceInUseException",
        (
            "Attempt to change a resource which is still in use: "
            "Cannot delete table while indexes are being created, updated, or deleted."
        ),
    )
    world.delete("second")
    assert world.index("second") is None
    assert world.finish() == 0
    assert len(world.entries("first")) == COUNT


def test_a_deleted_index_leaves_nothing_behind(world: World) -> None:
    world.put(COUNT)
    world.create()
    world.finish()
    assert world.delete()["GlobalSecondaryIndexes"][0]["IndexStatus"] == "DELETING"
    table = world.described()
    assert "GlobalSecondaryIndexes" not in table
    assert table["AttributeDefinitions"] == [{"AttributeName": "id", "AttributeType": "S"}]
    assert world.refusal("Scan", IndexName="by-status") == (
        "ValidationException",
        "The table does not have the specified index: by-status",
    )
    stored = world.embedded.catalog.all_tables()[0]
    assert statistics_of(world.embedded, stored.source_id[:4] + b"\x00\x01") == (0, 0)
    world.ask("PutItem", Item=item(0) | {"status": {"N": "1"}})
    world.create()
    world.finish()
    assert len(world.entries()) == COUNT - 1


def test_states_take_their_time_when_asked(slow: World) -> None:
    slow.put(10)
    assert slow.create()["GlobalSecondaryIndexes"][0]["Backfilling"] is False
    assert slow.described()["TableStatus"] == "UPDATING"
    assert slow.index()["Backfilling"] is False
    assert slow.slice() == 10.0
    assert slow.refusal("Scan", IndexName="by-status")[0] == "ValidationException"
    assert slow.refusal("UpdateTable", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-status"}}]) == (
        "ResourceInUseException",
        (
            "Attempt to change a resource which is still in use: Index creation is in resource allocation phase."
            " Retry deletion during backfilling phase or when the index is active. Table: orders Index: by-status"
        ),
    )
    slow.clock.advance(10.0)
    assert slow.index()["Backfilling"] is True
    slow.finish()
    assert slow.index()["IndexStatus"] == "ACTIVE"
    slow.delete()
    assert slow.index()["IndexStatus"] == "DELETING"
    assert slow.described()["TableStatus"] == "UPDATING"
    slow.ask("PutItem", Item=item(11))
    slow.clock.advance(10.0)
    assert slow.index() is None
    assert slow.described()["TableStatus"] == "ACTIVE"


def test_capacity_of_a_new_index_is_stored_and_described(world: World) -> None:
    world.create(
        OnDemandThroughput={"MaxReadRequestUnits": 7, "MaxWriteRequestUnits": -1},
        WarmThroughput={"ReadUnitsPerSecond": 13000},
    )
    index = world.index()
    assert index["OnDemandThroughput"] == {"MaxReadRequestUnits": 7}
    assert index["WarmThroughput"] == {
        "ReadUnitsPerSecond": 13000,
        "WriteUnitsPerSecond": 4000,
        "Status": "ACTIVE",
    }


def test_a_slice_of_large_rows_is_short(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    for number in range(12):
        world.ask("PutItem", Item=item(number) | {"data": {"S": "x" * 100_000}})
    world.create()
    counts = [world.index()["ItemCount"]]
    while world.slice() is not None:
        counts.append(world.index()["ItemCount"])
    assert counts == [3, 6, 9, 12, 12]
    assert world.close() == []


def test_no_more_large_rows_are_read_than_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The walk reads each large row once: reading eight rows of an item of 199,000 nulls takes 30 ms."""
    world = World(tmp_path / "data")
    world.put(6, text={"S": "x" * 300_000})
    read_rows = note_rows_read(monkeypatch, walks)
    world.create()
    assert world.finish() >= 5
    assert len(read_rows) == 6
    monkeypatch.undo()
    assert world.index()["ItemCount"] == 6
    assert world.close() == []


def test_a_write_with_a_table_out_of_date_keeps_up_the_new_index(world: World) -> None:
    old_table = world.scope.tables["orders"]
    world.create()
    row = encode_row(*check_item(item(1)))
    drive(world.scope.store.mutate(old_table, old_table.item_key(item(1)), lambda _: row))
    assert world.entries().keys() == {"o1"}


def test_a_write_to_a_table_that_is_gone_is_refused(world: World) -> None:
    old_table = world.scope.tables["orders"]
    world.ask("DeleteTable")
    with pytest.raises(ResourceNotFoundException):
        drive(world.scope.store.mutate(old_table, Key(b"key"), lambda old: old))
    with pytest.raises(ResourceNotFoundException):
        steps = [TransactionStep(old_table, Key(b"key"), lambda old: old)]
        drive(world.scope.store.transact(steps, None))


# --- exhausted index ids ---------------------------------------------------------------------------


def test_a_table_that_has_given_out_every_index_id_says_so(world: World) -> None:
    world.put(5)
    table = world.scope.tables["orders"].schema
    nearly_done = msgspec.structs.replace(table, next_index_id=INDEX_CREATIONS_MAX)
    assert drive(world.scope.store.catalog.replace(table, nearly_done))
    world.create()
    world.finish()
    assert len(world.entries()) == 5
    world.delete()
    assert world.index() is None
    code, message = refused_creation(world)
    assert code == "LimitExceededException"
    assert message is not None
    assert message.startswith("Subscriber limit exceeded: 65,534 indexes have been created on table orders")
    assert world.index() is None


def test_ids_are_counted_over_a_tables_life(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashrange.limits.INDEX_CREATIONS_MAX", 3)
    for _ in range(3):
        world.create()
        world.finish()
        world.delete()
    assert refused_creation(world)[0] == "LimitExceededException"


def refused_creation(world: World) -> tuple[str, str | None]:
    action = {
        "IndexName": "one-more",
        "KeySchema": [{"AttributeName": "status", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    return world.refusal(
        "UpdateTable",
        AttributeDefinitions=[{"AttributeName": "status", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": action}],
    )


def test_every_slice_looks_for_room_first(slow: World, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    async def look(site: object) -> None:
        nonlocal looks
        looks += 1

    slow.put(COUNT)
    slow.create()
    slow.clock.advance(10.0)
    monkeypatch.setattr(upkeep, "wait_while_behind", look)
    assert slow.finish() == looks > 1
