"""Many clients write while indexes are created, built, deleted and delayed, over a store that suspends at every call.

In the end every index must hold exactly the entries of its table's items.
"""

import asyncio
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hashrange.errors import (
    LimitExceededException,
    ResourceInUseException,
    ResourceNotFoundException,
    TransactionCanceledException,
    TransactionConflictException,
    ValidationException,
)
from hashrange.jobs.job import Job
from hashrange.jobs.store_jobs import jobs_of
from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.participant import Options
from hashrange.store.pause import PAUSE
from tests.support.asking import run_operation
from tests.support.scopes import scope_of
from tests.support.stores import as_distributed
from tests.support.wrapped_stores.suspending_time import SuspendingTime

TABLE = "crowd"
KEYS = 40
CLIENTS = 6
STEPS = 60
INDEXES = {"all-by-x": "x", "keys-by-x": "x", "all-by-y": "y"}
Item = dict[str, Any]


class Crowd:
    """A table, its clients and its jobs."""

    def __init__(self, data_dir: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        time = SuspendingTime(seed)
        self.embedded = open_store(str(data_dir), time, None, Options(time.delay if seed % 2 else None))
        self.store = as_distributed(self.embedded, seed, time)
        self.scope = scope_of(self.store, time)
        jobs = {job.name: job for job in jobs_of(self.store, time, lambda _: None)}
        self.jobs: list[Job] = [jobs["index backfill"], jobs["index delay"]]
        self.is_over = False
        self.refused: set[str] = set()
        self.built = 0

    async def ask(self, name: str, **members: Any) -> Any:
        request: Any = msgspec.convert(members, OPERATIONS[name].request)
        return await run_operation(self.scope, OPERATIONS[name], request)

    async def run(self) -> None:
        await self.ask(
            "CreateTable",
            TableName=TABLE,
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        jobs = [asyncio.ensure_future(self.work(job)) for job in self.jobs]
        await asyncio.gather(*(self.client() for _ in range(CLIENTS)), self.administrator())
        self.is_over = True
        await asyncio.gather(*jobs)
        await self.check()

    async def work(self, job: Job) -> None:
        """Run slices of jobs until all clients have ended, then until no work is left."""
        while await job.run_slice() is not None or not self.is_over:
            for _ in range(self.chance.randint(1, 10)):
                await PAUSE

    async def client(self) -> None:
        for _ in range(STEPS):
            action = self.chance.choice((self.put, self.update, self.delete, self.batch, self.transact))
            try:
                await action()
            except (TransactionConflictException, TransactionCanceledException, ValidationException) as error:
                self.refused.add(error.code)

    def key(self) -> str:
        return f"i{self.chance.randrange(KEYS)}"

    def value(self) -> Item:
        """A random value, sometimes one that an index refuses, so that its writes are refused
        while that index exists.
        """
        return {"N": "1"} if self.chance.random() < 0.05 else {"S": self.chance.choice("abc")}

    def item(self, key: str) -> Item:
        item: Item = {"id": {"S": key}, "n": {"N": str(self.chance.randrange(100))}}
        return item | {name: self.value() for name in ("x", "y") if self.chance.random() < 0.7}

    def update_of(self, key: str) -> Item:
        name = self.chance.choice("xy")
        members: Item = {"TableName": TABLE, "Key": {"id": {"S": key}}}
        if self.chance.random() < 0.3:
            return members | {"UpdateExpression": f"REMOVE {name}"}
        return members | {"UpdateExpression": f"SET {name} = :v", "ExpressionAttributeValues": {":v": self.value()}}

    async def put(self) -> None:
        await self.ask("PutItem", TableName=TABLE, Item=self.item(self.key()))

    async def update(self) -> None:
        await self.ask("UpdateItem", **self.update_of(self.key()))

    async def delete(self) -> None:
        await self.ask("DeleteItem", TableName=TABLE, Key={"id": {"S": self.key()}})

    async def batch(self) -> None:
        keys = {self.key() for _ in range(4)}
        requests = [{"PutRequest": {"Item": self.item(key)}} for key in sorted(keys)]
        await self.ask("BatchWriteItem", RequestItems={TABLE: requests})

    async def transact(self) -> None:
        keys = {self.key() for _ in range(3)}
        updates = [{"Update": self.update_of(key)} for key in sorted(keys)]
        await self.ask("TransactWriteItems", TransactItems=updates)

    async def administrator(self) -> None:
        """Create and delete indexes, as far as the table's state allows."""
        for _ in range(STEPS):
            name, attribute = self.chance.choice(list(INDEXES.items()))
            projection = {"ProjectionType": "KEYS_ONLY" if name.startswith("keys") else "ALL"}
            schema = [{"AttributeName": attribute, "KeyType": "HASH"}]
            create = {"IndexName": name, "KeySchema": schema, "Projection": projection}
            change = {"Create": create} if self.chance.random() < 0.6 else {"Delete": {"IndexName": name}}
            try:
                await self.ask(
                    "UpdateTable",
                    TableName=TABLE,
                    AttributeDefinitions=[{"AttributeName": attribute, "AttributeType": "S"}],
                    GlobalSecondaryIndexUpdates=[change],
                )
                self.built += "Create" in change
            except (ResourceInUseException, ResourceNotFoundException, LimitExceededException, ValidationException):
                pass
            for _ in range(self.chance.randint(1, 60)):
                await PAUSE

    async def check(self) -> None:
        await self.store.propagate()
        items = (await self.ask("Scan", TableName=TABLE, ConsistentRead=True))["Items"]
        described = (await self.ask("DescribeTable", TableName=TABLE))["Table"]
        for index in described.get("GlobalSecondaryIndexes", []):
            name = index["IndexName"]
            assert index["IndexStatus"] == "ACTIVE", name
            attribute = INDEXES[name]
            expected = {
                item["id"]["S"]: {one: item[one] for one in ("id", attribute)} if name.startswith("keys") else item
                for item in items
                if "S" in item.get(attribute, {})
            }
            found = (await self.ask("Scan", TableName=TABLE, IndexName=name))["Items"]
            assert {entry["id"]["S"]: entry for entry in found} == expected, name
            assert index["ItemCount"] == len(found) == len(expected), name


@pytest.mark.parametrize("seed", range(6))
def test_indexes_are_true_after_everything_at_once(tmp_path: Path, seed: int) -> None:
    crowd = Crowd(tmp_path / "data", seed)
    asyncio.run(crowd.run())
    assert crowd.built > 5
    assert crowd.refused >= {"ValidationException", "TransactionCanceledException"}
    crowd.embedded.close_now()
    assert check_store(str(tmp_path / "data")).faults == []
