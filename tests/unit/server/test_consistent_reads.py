"""Consistent reads wait until the data they return is synced, and not for large unsynced writes to other tables."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.soon import settled
from hashrange.store.embedded import EmbeddedStore, late_entries, open_store
from tests.support.samples import durable, finish, row_of
from tests.unit.server.harness import FrontEnd, replies

KEY = {"pk": {"S": "p"}}
READS: list[tuple[str, dict[str, Any]]] = [
    ("GetItem", {"TableName": "quiet", "Key": KEY, "ConsistentRead": True}),
    ("Scan", {"TableName": "quiet", "ConsistentRead": True}),
    (
        "Query",
        {
            "TableName": "quiet", "ConsistentRead": True, "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": "p"}},
        },
    ),
    ("BatchGetItem", {"RequestItems": {"quiet": {"Keys": [KEY], "ConsistentRead": True}}}),
]  # fmt: skip
EVENTUAL = ("GetItem", {"TableName": "written", "Key": KEY})


class World:
    """A front end, and a store whose syncs run only when the test runs the loop."""

    def __init__(self, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.store: EmbeddedStore = open_store(str(folder), SystemClock(), self.loop)
        self.front = FrontEnd(operations=ALL_OPERATIONS, real_store=self.store)
        self.connection, self.transport = self.front.connect()
        for name in ("quiet", "written"):
            self.send("CreateTable", table(name))
            self.sync()
            self.send("PutItem", {"TableName": name, "Item": KEY})
            self.sync()

    def send(self, operation: str, members: dict[str, Any]) -> None:
        self.connection.data_received(self.front.request(msgspec.json.encode(members), operation))

    def answers(self) -> list[int]:
        return [answer.status for answer in replies(self.transport.take())]

    def sync(self) -> None:
        """Make everything durable, and let all waiting requests be answered."""
        self.loop.run_until_complete(durable(self.store))
        self.transport.take()

    def close(self) -> None:
        self.store.close_now()
        self.loop.close()


def table(name: str) -> dict[str, Any]:
    return {
        "TableName": name,
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "data")
    yield world
    world.close()


def put_unsynced(world: World, name: str) -> None:
    """Write through the store, because a client's connection would wait for its reply until the write is durable."""
    opened = world.store.catalog.find("000000000000", "us-east-1", name)
    assert opened is not None
    finish(world.store.mutate(opened, opened.item_key({"pk": {"S": "q"}}), lambda _: row_of(7, b'{"pk":{"S":"q"}}')))
    assert world.store.durable_position() < world.store.position()


@pytest.mark.parametrize(("operation", "members"), READS, ids=[operation for operation, _ in READS])
def test_another_tables_writes_hold_up_nobody(world: World, operation: str, members: dict[str, Any]) -> None:
    put_unsynced(world, "written")
    world.send(operation, members)
    assert world.answers() == [200]


@pytest.mark.parametrize(("operation", "members"), READS, ids=[operation for operation, _ in READS])
def test_the_tables_own_writes_are_waited_for(world: World, operation: str, members: dict[str, Any]) -> None:
    put_unsynced(world, "quiet")
    world.send(operation, members)
    assert world.answers() == []
    world.loop.run_until_complete(durable(world.store))
    assert world.answers() == [200]


def test_a_table_that_is_not_synced_is_waited_for(world: World) -> None:
    opened = world.store.catalog.find("000000000000", "us-east-1", "written")
    assert opened is not None
    assert finish(world.store.catalog.delete(opened.schema))
    world.send(*READS[0])
    assert world.answers() == []
    world.loop.run_until_complete(durable(world.store))
    assert world.answers() == [200]


def test_eventual_reads_wait_for_nothing(world: World) -> None:
    put_unsynced(world, "written")
    world.send(*EVENTUAL)
    assert world.answers() == [200]


def test_late_entries_are_their_tables_own(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_entries, "LATE_BYTES_MIN", 10)
    members = table("indexed")
    members["AttributeDefinitions"] += [{"AttributeName": "g", "AttributeType": "S"}]
    members["GlobalSecondaryIndexes"] = [
        {
            "IndexName": "by-g", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ]  # fmt: skip
    world.send("CreateTable", members)
    world.sync()
    opened = world.store.catalog.find("000000000000", "us-east-1", "indexed")
    assert opened is not None
    row = b'\x01\x00\x00\x00\x09{"g":{"S":"x"},"pk":{"S":"q"}}'
    writing = settled(
        world.store.mutate(
            opened,
            opened.item_key({"pk": {"S": "q"}}),
            lambda _: row,  # type: ignore[arg-type,return-value]
        )
    )
    with pytest.raises(StopIteration):
        while True:
            writing.send(None)
    assert world.store.position_of(opened) == world.store.position() > world.store.durable_position()
    world.send(*READS[0])
    assert world.answers() == [200]
