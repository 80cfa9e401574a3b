"""Random writes of every kind to a table with local indexes: its item collections have the size that a model gives
them, grow to their limit and never beyond, and keep their sizes through restarts. For kills see tests/crash.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hashrange.clock import SystemClock
from hashrange.errors import ApiError
from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.participant import Options
from hashrange.store.interface import WholeStore
from tests.model.item_model import item_bytes, item_from_wire
from tests.model.world import drive
from tests.support.asking import run_operation
from tests.support.samples import finish
from tests.support.scopes import scope_of
from tests.support.stores import as_distributed

STEPS = 400
LIMIT_BYTES = 700
PARTITIONS = ("p", "q", "long-partition")
SORTS = tuple("abcdefgh")
TABLE = "collections"
KEYS = {"pk", "sk"}
INDEXES = {
    "everything": ("x", None),
    "some": ("y", {"note"}),
    "keys": ("x", set[str]()),
}
"""Local index → its sort key and what it projects besides keys; None: everything."""

Item = dict[str, dict[str, str]]
Put = tuple[Item, Item | None]
"""A key and the item to be written there; None: delete."""


def described(name: str) -> dict[str, Any]:
    """A local index as CreateTable takes it."""
    sort, projected = INDEXES[name]
    kind = "ALL" if projected is None else "INCLUDE" if projected else "KEYS_ONLY"
    return {
        "IndexName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": sort, "KeyType": "RANGE"}],
        "Projection": {"ProjectionType": kind} | ({"NonKeyAttributes": sorted(projected)} if projected else {}),
    }


def counted_bytes(item: Item | None) -> int:
    """An item's share of its collection's size: the item and its entries in local indexes."""
    if item is None:
        return 0
    size_bytes = item_bytes(item_from_wire(item))
    for sort, projected in INDEXES.values():
        if sort in item:
            names = item.keys() if projected is None else KEYS | projected | {sort}
            size_bytes += item_bytes(item_from_wire({name: item[name] for name in item.keys() & names}))
    return size_bytes


class Walk:
    """A table over a store, and its expected content."""

    def __init__(self, folder: Path, seed: int, *, is_suspending: bool) -> None:
        self.folder = folder
        self.seed = seed
        self.is_suspending = is_suspending
        self.chance = random.Random(seed)
        self.items: dict[tuple[str, str], Item] = {}
        self.refusals = 0
        self.open()
        attributes = ("pk", "sk", "x", "y", "g")
        self.request(
            "CreateTable",
            TableName=TABLE,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in attributes],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            BillingMode="PAY_PER_REQUEST",
            LocalSecondaryIndexes=[described(name) for name in INDEXES],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "global",
                    "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )

    def open(self) -> None:
        """Open the store; with odd seeds, entries of the global index are delayed.
        They never count as collection size.
        """
        delay = (lambda: 5.0) if self.seed % 2 else None
        self.embedded: EmbeddedStore = open_store(str(self.folder), SystemClock(), None, Options(delay, LIMIT_BYTES))
        store: WholeStore = as_distributed(self.embedded, self.seed) if self.is_suspending else self.embedded
        self.scope = scope_of(store, SystemClock())

    def restart(self) -> None:
        self.embedded.close_now()
        self.open()

    def run(self, name: str, **members: Any) -> Any:
        """The coroutine of an operation."""
        operation = OPERATIONS[name]
        return run_operation(self.scope, operation, members)

    def request(self, name: str, **members: Any) -> Any:
        """The reply of an operation."""
        return drive(self.run(name, **members))

    # --- random writes -----------------------------------------------------------------------------

    def key(self) -> Item:
        return {"pk": {"S": self.chance.choice(PARTITIONS)}, "sk": {"S": self.chance.choice(SORTS)}}

    def attributes(self) -> Item:
        names = self.chance.sample(["x", "y", "g", "note", "rest"], self.chance.randint(0, 4))
        return {name: {"S": self.chance.choice("abc") * self.chance.randint(1, 40)} for name in names}

    def written(self, key: Item) -> Item | None:
        """The item of a random write of this key; None: delete."""
        return None if self.chance.random() < 0.25 else key | self.attributes()

    def puts(self) -> list[Put]:
        """Random writes of different keys."""
        keys = {(key["pk"]["S"], key["sk"]["S"]): key for key in [self.key() for _ in range(self.chance.randint(1, 4))]}
        return [(key, self.written(key)) for key in keys.values()]

    def step(self) -> None:
        weights: dict[Callable[[], None], int] = {
            self.single: 60, self.update: 30, self.batch: 15, self.transact: 30, self.restart: 3,
        }  # fmt: skip
        (action,) = self.chance.choices(list(weights), list(weights.values()))
        action()
        for partition in PARTITIONS:
            assert self.stored_bytes(partition) == self.size_bytes(partition), partition

    def single(self) -> None:
        key, item = self.key(), None
        item = self.written(key)
        members: dict[str, Any] = {"Key": key} if item is None else {"Item": item}
        self.expect([(key, item)], "DeleteItem" if item is None else "PutItem", TableName=TABLE, **members)

    def update(self) -> None:
        key = self.key()
        name, value = self.chance.choice(["x", "y", "g", "note"]), {"S": "u" * self.chance.randint(1, 40)}
        members: dict[str, Any] = {"UpdateExpression": f"REMOVE {name}"}
        new = key | self.items.get(place(key), {})
        if self.chance.random() < 0.7:
            new = new | {name: value}
            members = {"UpdateExpression": f"SET {name} = :v", "ExpressionAttributeValues": {":v": value}}
        elif place(key) not in self.items:
            return
        else:
            new = {other: held for other, held in new.items() if other != name}
        self.expect([(key, new)], "UpdateItem", TableName=TABLE, Key=key, **members)

    def transact(self) -> None:
        actions: list[Any] = []
        puts = self.puts()
        for key, item in puts:
            members = {"Key": key} if item is None else {"Item": item}
            actions.append({"Delete" if item is None else "Put": {"TableName": TABLE} | members})
        self.expect(puts, "TransactWriteItems", TransactItems=actions)

    def batch(self) -> None:
        """Write a batch; it ends at the first write that is refused."""
        puts = self.puts()
        requests: list[Any] = [
            {"DeleteRequest": {"Key": key}} if item is None else {"PutRequest": {"Item": item}} for key, item in puts
        ]
        is_refused = False
        for put in puts:
            is_refused = self.is_too_much([put])
            if is_refused:
                break
            self.take([put])
        assert self.refuses("BatchWriteItem", RequestItems={TABLE: requests}) == is_refused

    # --- the model ---------------------------------------------------------------------------------

    def expect(self, puts: Sequence[Put], name: str, **members: Any) -> None:
        """Check that the store accepts or refuses the writes as the model does."""
        is_refused = self.is_too_much(puts)
        assert self.refuses(name, **members) == is_refused, (name, members)
        if not is_refused:
            self.take(puts)

    def refuses(self, name: str, **members: Any) -> bool:
        try:
            self.request(name, **members)
        except ApiError as error:
            assert "ItemCollectionSizeLimitExceeded" in error.code + str(error.message), error
            self.refusals += 1
            return True
        return False

    def is_too_much(self, puts: Sequence[Put]) -> bool:
        """True if the writes together make a collection grow beyond the limit."""
        added: dict[str, int] = {}
        for key, item in puts:
            grown_bytes = counted_bytes(item) - counted_bytes(self.items.get(place(key)))
            added[key["pk"]["S"]] = added.get(key["pk"]["S"], 0) + grown_bytes
        return any(grown > 0 and self.size_bytes(partition) + grown > LIMIT_BYTES for partition, grown in added.items())

    def take(self, puts: Sequence[Put]) -> None:
        for key, item in puts:
            if item is None:
                self.items.pop(place(key), None)
            else:
                self.items[place(key)] = item

    def size_bytes(self, partition: str) -> int:
        return sum(counted_bytes(item) for (pk, _), item in self.items.items() if pk == partition)

    def stored_bytes(self, partition: str) -> int:
        """The collection's size in the store."""
        table = self.embedded.catalog.find("000000000000", "us-east-1", TABLE)
        assert table is not None
        key = table.lookup_key({"pk": {"S": partition}, "sk": {"S": "any"}})
        return finish(self.embedded.collection_size_bytes(table, key))


def place(key: Item) -> tuple[str, str]:
    return key["pk"]["S"], key["sk"]["S"]


@pytest.mark.parametrize("is_suspending", [False, True], ids=["embedded", "suspending"])
@pytest.mark.parametrize("seed", range(3))
def test_collections_have_the_size_of_their_items_and_entries(tmp_path: Path, seed: int, is_suspending: bool) -> None:
    walk = Walk(tmp_path / "data", seed, is_suspending=is_suspending)
    for _ in range(STEPS):
        walk.step()
    assert walk.refusals > STEPS // 20
    walk.embedded.close_now()
    assert check_store(str(walk.folder)).faults == []


@pytest.mark.parametrize("seed", range(3))
def test_writes_that_overtake_each_other_keep_to_the_limit(tmp_path: Path, seed: int) -> None:
    walk = Walk(tmp_path / "data", seed, is_suspending=True)

    async def write() -> None:
        coroutines = []
        for _ in range(150):
            put = {"TableName": TABLE, "Item": walk.key() | walk.attributes()}
            if walk.chance.random() < 0.4:
                coroutines.append(walk.run("TransactWriteItems", TransactItems=[{"Put": put}]))
            else:
                coroutines.append(walk.run("PutItem", **put))
        outcomes = await asyncio.gather(*coroutines, return_exceptions=True)
        assert all(isinstance(outcome, dict | ApiError) for outcome in outcomes), outcomes

    asyncio.run(write())
    sizes = [walk.stored_bytes(partition) for partition in PARTITIONS]
    assert 0 < min(sizes) <= max(sizes) <= LIMIT_BYTES
    walk.embedded.close_now()
    assert check_store(str(walk.folder)).faults == []
