"""Concurrent transactions, single writes and reads, over a store that suspends: a bank, and histories.

The bank: transactions move money between accounts, and every reader of all accounts sees the same total.
The histories: all writes and reads must fit into one order (`histories.py`).
A seed drives everything; the same seed gives the same run.
"""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest

from hashrange.clock import SystemClock
from hashrange.errors import (
    ApiError,
    TransactionCanceledException,
    TransactionConflictException,
    TransactionInProgressException,
)
from hashrange.items.types import Key, Row
from hashrange.operations.registry import OPERATIONS
from hashrange.soon import settled
from hashrange.store.embedded import open_store
from hashrange.store.interface import IdempotencyToken, Payer, Transacted, TransactionRefused, TransactionStep
from hashrange.store.pause import PAUSE
from hashrange.store.request_ids import RequestId
from hashrange.tables.open_table import OpenTable
from tests.model.histories import Read, Write, faults_of
from tests.support.asking import run_operation
from tests.support.scopes import scope_of
from tests.support.seeds import seeds
from tests.support.wrapped_stores.suspending import SuspendingStore

SEEDS = seeds(25, 150)
CLIENTS = 8
STEPS = 7
ITEMS = tuple(f"item-{number}" for number in range(4))
START = 100
TABLES = ("bank-one", "bank-two")


class HalvingStore(SuspendingStore):
    """A wrong store, as control: a transaction's steps are committed one by one, a snapshot is read row by row."""

    async def transact(
        self,
        steps: Sequence[TransactionStep],
        token: IdempotencyToken | None,
        request_id: RequestId | None = None,
        meter: Payer = None,
    ) -> Transacted:
        changes = []
        for table, key, plan in steps:
            assert key is not None
            await self.suspend()
            try:
                changes.append(await settled(self.inner.mutate(table, key, plan)))
            except ApiError as refusal:
                reasons: list[ApiError | None] = [None] * len(steps)
                reasons[len(changes)] = refusal
                raise TransactionRefused(reasons) from None
        return Transacted(changes)

    async def snapshot_get(
        self, places: Sequence[tuple[OpenTable, Key]], limit_bytes: int, meter: Payer = None
    ) -> list[Row | None]:
        rows = []
        for table, key in places:
            await self.suspend()
            rows.append(await settled(self.inner.get(table.source_id, key, consistent=True)))
        return rows


class World:
    """Two tables with the items, their clients, and the history of writes and reads."""

    def __init__(self, seed: int, kind: type[SuspendingStore]) -> None:
        self.chance = random.Random(seed)
        self.store = kind(open_store(None, SystemClock(), asyncio.get_running_loop()), seed)
        self.scope = scope_of(self.store, SystemClock())
        self.number = 0
        self.writes: list[Write] = []
        self.reads: list[Read] = []
        self.totals: list[int] = []
        self.refused = 0

    async def ask(self, operation: str, request: dict[str, Any]) -> Any:
        """Send one request; after a conflict with another one it is repeated with the same token."""
        record = OPERATIONS[operation]
        for _ in range(200):
            try:
                return await run_operation(self.scope, record, request)
            except (TransactionConflictException, TransactionInProgressException):
                self.refused += 1
            except TransactionCanceledException as error:
                reasons: Any = error.members["CancellationReasons"]
                if "TransactionConflict" not in {reason["Code"] for reason in reasons}:
                    raise
                self.refused += 1
            for _ in range(self.chance.randint(1, 20)):
                await PAUSE
        raise AssertionError("never got through")

    def next_number(self) -> int:
        self.number += 1
        return self.number

    async def set_up(self) -> None:
        """Create both tables; items of even position are in the first, the others in the second."""
        for name in TABLES:
            await self.ask("CreateTable", {
                "TableName": name, "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}], "BillingMode": "PAY_PER_REQUEST",
            })  # fmt: skip
        for item in ITEMS:
            new = {"pk": {"S": item}, "money": {"N": str(START)}, "story": {"L": []}}
            await self.ask("PutItem", {"TableName": self.place(item)["TableName"], "Item": new})

    @staticmethod
    def place(item: str) -> dict[str, Any]:
        return {"TableName": TABLES[ITEMS.index(item) % 2], "Key": {"pk": {"S": item}}}


# --- the bank -------------------------------------------------------------------------------------------


async def transfer(world: World) -> None:
    """Move money, if there is enough; sometimes the same request is sent twice, as after a lost answer."""
    source, target = world.chance.sample(ITEMS, 2)
    amount = {":m": {"N": str(world.chance.randint(1, 80))}}
    take = world.place(source) | {
        "UpdateExpression": "SET money = money - :m",
        "ConditionExpression": "money >= :m",
        "ExpressionAttributeValues": amount,
    }
    give = world.place(target) | {"UpdateExpression": "ADD money :m", "ExpressionAttributeValues": amount}
    request = {"TransactItems": [{"Update": take}, {"Update": give}], "ClientRequestToken": f"t{world.next_number()}"}
    try:
        if world.chance.random() < 0.3:
            await asyncio.gather(world.ask("TransactWriteItems", request), world.ask("TransactWriteItems", request))
        else:
            await world.ask("TransactWriteItems", request)
    except TransactionCanceledException as error:
        reasons: Any = error.members["CancellationReasons"]
        assert [reason["Code"] for reason in reasons] == ["ConditionalCheckFailed", "None"]


async def count_money(world: World) -> None:
    """Read all accounts at once."""
    gets = [{"Get": world.place(item)} for item in ITEMS]
    responses = (await world.ask("TransactGetItems", {"TransactItems": gets}))["Responses"]
    world.totals.append(sum(int(response["Item"]["money"]["N"]) for response in responses))


async def banker(world: World) -> None:
    for _ in range(STEPS):
        await (transfer if world.chance.random() < 0.7 else count_money)(world)


async def bank(seed: int, kind: type[SuspendingStore] = SuspendingStore) -> World:
    world = World(seed, kind)
    await world.set_up()
    await asyncio.gather(*(banker(world) for _ in range(CLIENTS)))
    await count_money(world)
    await world.store.close()
    return world


def test_the_total_of_a_bank_never_changes() -> None:
    refused = 0
    for seed in SEEDS:
        world = asyncio.run(bank(seed))
        assert set(world.totals) == {START * len(ITEMS)}, f"seed {seed}"
        refused += world.refused
    assert refused > 100, "nobody met anybody"


def test_a_store_that_halves_transactions_is_found_out_by_its_total() -> None:
    totals = [set(asyncio.run(bank(seed, HalvingStore)).totals) for seed in range(5)]
    assert any(total != {START * len(ITEMS)} for total in totals)


# --- histories ------------------------------------------------------------------------------------------


def append(world: World, item: str, number: int, **members: Any) -> dict[str, Any]:
    values = {":n": {"L": [{"N": str(number)}]}}
    update = {"UpdateExpression": "SET story = list_append(story, :n)", "ExpressionAttributeValues": values}
    return world.place(item) | update | members


def story_of(item: Any) -> tuple[int, ...]:
    return tuple(int(value["N"]) for value in item["story"]["L"])


async def write_several(world: World) -> None:
    """Run a transaction on some items; sometimes a check of another item refuses it."""
    items = tuple(world.chance.sample(ITEMS, world.chance.randint(2, 3)))
    number = world.next_number()
    actions: list[Any] = [{"Update": append(world, item, number)} for item in items]
    (other,) = world.chance.sample([item for item in ITEMS if item not in items], 1)
    values = {":size": {"N": str(world.chance.randint(0, 60))}}
    check = {"ConditionExpression": "size(story) < :size", "ExpressionAttributeValues": values}
    actions.insert(world.chance.randint(0, len(items)), {"ConditionCheck": world.place(other) | check})
    request = {"TransactItems": actions, "ClientRequestToken": f"t{number}"}
    is_done = True
    try:
        await world.ask("TransactWriteItems", request)
        if world.chance.random() < 0.2:
            await world.ask("TransactWriteItems", request)
    except TransactionCanceledException:
        is_done = False
    world.writes.append(Write(number, items, is_done))


async def write_one(world: World) -> None:
    """Update one item; its reply is also a read at the same moment."""
    (item,) = world.chance.sample(ITEMS, 1)
    number = world.next_number()
    reply = await world.ask("UpdateItem", append(world, item, number, ReturnValues="ALL_OLD"))
    world.writes.append(Write(number, (item,), True))
    seen = story_of(reply["Attributes"])
    world.reads.append(Read(world.next_number(), {item: seen}))


async def read_several(world: World) -> None:
    items = world.chance.sample(ITEMS, world.chance.randint(2, 4))
    gets = [{"Get": world.place(item)} for item in items]
    responses = (await world.ask("TransactGetItems", {"TransactItems": gets}))["Responses"]
    seen = {item: story_of(response["Item"]) for item, response in zip(items, responses, strict=True)}
    world.reads.append(Read(world.next_number(), seen))


async def read_one(world: World) -> None:
    (item,) = world.chance.sample(ITEMS, 1)
    reply = await world.ask("GetItem", world.place(item) | {"ConsistentRead": True})
    world.reads.append(Read(world.next_number(), {item: story_of(reply["Item"])}))


async def historian(world: World) -> None:
    for _ in range(STEPS):
        (action,) = world.chance.choices([write_several, write_one, read_several, read_one], [4, 3, 3, 1])
        await action(world)


async def history(seed: int, kind: type[SuspendingStore] = SuspendingStore) -> tuple[World, list[str]]:
    world = World(seed, kind)
    await world.set_up()
    await asyncio.gather(*(historian(world) for _ in range(CLIENTS)))
    final = {
        item: story_of((await world.ask("GetItem", world.place(item) | {"ConsistentRead": True}))["Item"])
        for item in ITEMS
    }
    await world.store.close()
    return world, faults_of(world.writes, world.reads, final)


def test_one_order_explains_every_history() -> None:
    refused = lost_races = lost_outcomes = written = 0
    for seed in SEEDS:
        world, faults = asyncio.run(history(seed))
        assert faults == [], f"seed {seed}"
        refused += world.refused
        lost_races += world.store.lost_races
        lost_outcomes += world.store.lost_outcomes
        written += sum(write.is_done and len(write.items) > 1 for write in world.writes)
    assert min(refused, lost_races, lost_outcomes, written) > 100


def test_a_store_that_halves_transactions_is_found_out_by_its_history() -> None:
    faults = [asyncio.run(history(seed, HalvingStore))[1] for seed in range(5)]
    assert any(faults)


@pytest.mark.parametrize(
    ("reads", "final"),
    [
        ([Read(9, {"a": (1,), "b": ()})], {"a": (1,), "b": (1,)}),  # half of a write
        ([Read(8, {"a": (1,), "b": ()}), Read(9, {"a": (), "b": (2,)})], {"a": (1,), "b": (2,)}),  # two orders
        ([Read(9, {"a": (3,)})], {"a": (1,)}),  # a state that never existed
        ([], {"a": (1, 1), "b": (1,)}),
        ([], {"a": (1,), "b": ()}),
    ],
)
def test_the_checker_sees_what_cannot_be(reads: list[Read], final: dict[str, tuple[int, ...]]) -> None:
    numbers = {number for order in final.values() for number in order}
    items = {1: ("a", "b") if 2 not in numbers else ("a",), 2: ("b",)}
    writes = [Write(number, items[number], True) for number in sorted(numbers)]
    assert faults_of(writes, reads, final)
