"""Random writes while streams are turned on and off, shards roll, partitions split and stores are killed:
the records rebuild the table.

All shards of a stream, read parents first and replayed on the table as it was when the stream began, give the current
table and its index. The images of each item's records form a chain without a gap.
"""

import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hashrange.errors import ApiError
from hashrange.settings import Settings
from tests.support.seeds import seeds
from tests.unit.jobs.streaming import (
    DAY,
    HOUR,
    all_records,
    replayed,
    sequence,
    shard_records,
    shards,
    switch_off,
    switch_on,
)
from tests.unit.jobs.world import TABLE, World

STEPS = 400
KEYS = 24
PARTITION_BYTES = 1500
STREAM_SECONDS_MAX = 20 * HOUR
"""Longest time that a stream is on, so that all its records can still be read."""
SPELLINGS = ("7", "7.0", "0.7e1", "70e-1")
Item = dict[str, Any]


class Ended(NamedTuple):
    """A stream that is off, and the items before and after it."""

    arn: str
    before: dict[str, Item]
    after: dict[str, Item]
    at_seconds: float


class Walk:
    """A world, and the expected records of its streams."""

    def __init__(self, data_dir: Path, seed: int, *, is_suspending: bool) -> None:
        self.chance = random.Random(seed)
        self.world = World(data_dir, is_suspending=is_suspending, partition_size_max_bytes=PARTITION_BYTES)
        self.cool()
        self.world.create()
        self.world.finish()
        self.world.ask("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"})
        self.world.finish()
        self.arn: str | None = None
        self.before: dict[str, Item] = {}
        self.since_seconds = 0.0
        self.ended: list[Ended] = []
        self.recorded = self.expired = self.most_shards = 0
        self.turn()

    def cool(self) -> None:
        self.world.scope.settings = Settings(ttl_cooldown_seconds=0.0)

    def step(self) -> None:
        actions = {self.put: 20, self.same: 6, self.update: 15, self.delete: 8, self.transact: 12, self.batch: 10}
        actions |= {self.statement: 6, self.expire: 6, self.roll: 4, self.split: 6, self.turn: 2}
        actions |= {self.restart: 2, self.kill: 2}
        (action,) = self.chance.choices(list(actions), list(actions.values()))
        action()
        self.world.clock.advance(self.chance.choice((0.0, 0.0, 0.0004, 0.001, 1.0, 60.0)))
        if self.world.clock.service_time() - self.since_seconds > STREAM_SECONDS_MAX:
            self.turn()
        if self.chance.random() < 0.1:
            self.look()

    # --- writes ---------------------------------------------------------------------------------

    def some_keys(self, count: int) -> list[Item]:
        return [{"id": {"S": f"i{number}"}} for number in self.chance.sample(range(KEYS), count)]

    def some_item(self, key: Item) -> Item:
        chance = self.chance
        attributes: Item = {
            "status": {"S": chance.choice("abc")},
            "n": {"N": chance.choice(SPELLINGS)},
            "set": {"NS": chance.sample(["1", "2", "3"], chance.randint(1, 3))},
            "map": {"M": {"x": {"L": [{"NULL": True}]}, "y": {"S": chance.choice("pq")}}},
            "filler": {"S": "x" * chance.choice((0, 10, 400, 800))},
            "expires": {"N": str(int(self.world.clock.service_time()) + chance.choice((1, 5, 10**7)))},
        }
        names = chance.sample(list(attributes), chance.randint(0, len(attributes)))
        return key | {name: attributes[name] for name in names}

    def put(self) -> None:
        (key,) = self.some_keys(1)
        self.world.ask("PutItem", Item=self.some_item(key))

    def same(self) -> None:
        """Put an existing item in another spelling, which must make no record."""
        items = list(self.items().values())
        if not items:
            return
        before = None if self.arn is None else len(all_records(self.world, self.arn))
        item = self.chance.choice(items)
        names = self.chance.sample(list(item), len(item))
        shuffled = {name: item[name] for name in names}
        if "set" in item:
            shuffled["set"] = {"NS": item["set"]["NS"][::-1]}
        if item.get("n") == {"N": "7"}:
            shuffled["n"] = {"N": self.chance.choice(SPELLINGS)}
        if "map" in item:
            shuffled["map"] = {"M": dict(reversed(item["map"]["M"].items()))}
        self.world.ask("PutItem", Item=shuffled)
        if self.arn is not None:
            assert len(all_records(self.world, self.arn)) == before

    def update(self) -> None:
        (key,) = self.some_keys(1)
        expression, values = self.chance.choice(
            (
                ("SET n = :v", {":v": {"N": self.chance.choice(SPELLINGS)}}),
                ("ADD c :v", {":v": {"N": "1"}}),
                ("REMOVE filler", None),
                ("REMOVE #s", None),
                ("SET #s = :v", {":v": {"S": "d"}}),
            )
        )
        members: Item = {"UpdateExpression": expression}
        if values is not None:
            members["ExpressionAttributeValues"] = values
        if "#s" in expression:
            members["ExpressionAttributeNames"] = {"#s": "status"}
        self.world.ask("UpdateItem", Key=key, **members)

    def delete(self) -> None:
        (key,) = self.some_keys(1)
        self.world.ask("DeleteItem", Key=key)

    def transact(self) -> None:
        """Run a transaction; sometimes one of its checks fails, and nothing is written."""
        actions: list[Item] = []
        for key in self.some_keys(self.chance.randint(1, 5)):
            if self.chance.random() < 0.3:
                actions.append({"Delete": {"TableName": TABLE, "Key": key}})
            elif self.chance.random() < 0.2:
                check = {"ConditionExpression": "attribute_exists(id)"}
                actions.append({"ConditionCheck": {"TableName": TABLE, "Key": key} | check})
            else:
                actions.append({"Put": {"TableName": TABLE, "Item": self.some_item(key)}})
        try:
            self.world.request("TransactWriteItems", TransactItems=actions)
        except ApiError as error:
            assert error.code == "TransactionCanceledException"

    def batch(self) -> None:
        requests: list[Item] = []
        for key in self.some_keys(self.chance.randint(1, 8)):
            is_put = self.chance.random() < 0.7
            requests.append(
                {"PutRequest": {"Item": self.some_item(key)}} if is_put else {"DeleteRequest": {"Key": key}}
            )
        while requests:
            requests = self.world.request("BatchWriteItem", RequestItems={TABLE: requests})["UnprocessedItems"].get(
                TABLE, []
            )

    def statement(self) -> None:
        (key,) = self.some_keys(1)
        name = key["id"]["S"]
        statement = self.chance.choice(
            (
                f"INSERT INTO {TABLE} VALUE {{'id': '{name}', 'n': 3}}",
                f"UPDATE {TABLE} SET n = {self.chance.randint(1, 3)} WHERE id = '{name}'",
                f"DELETE FROM {TABLE} WHERE id = '{name}'",
            )
        )
        try:
            self.world.request("ExecuteStatement", Statement=statement)
        except ApiError as error:
            assert error.code in {"DuplicateItemException", "ConditionalCheckFailedException"}

    # --- what else happens ------------------------------------------------------------------------

    def expire(self) -> None:
        before = len(self.items())
        self.world.clock.advance(self.chance.choice((0, 2, 10)))
        self.world.expire()
        self.expired += before - len(self.items())

    def roll(self) -> None:
        self.world.clock.advance(self.chance.choice((HOUR / 2, HOUR, 4 * HOUR)))
        if self.chance.random() < 0.8:
            self.world.tend()

    def split(self) -> None:
        self.world.split()

    def turn(self) -> None:
        """Turn the stream off, or a new one on; items written before are not in its records."""
        items, now_seconds = self.items(), self.world.clock.service_time()
        if self.arn is None:
            self.arn = switch_on(self.world)
            self.before, self.since_seconds = items, now_seconds
            return
        self.look()
        switch_off(self.world)
        self.ended.append(Ended(self.arn, self.before, items, self.since_seconds))
        self.arn = None
        self.since_seconds = now_seconds

    def restart(self) -> None:
        self.world.restart()
        self.cool()

    def kill(self) -> None:
        self.world.kill()
        self.cool()

    # --- judging ----------------------------------------------------------------------------------

    def items(self) -> dict[str, Item]:
        return {item["id"]["S"]: item for item in self.world.ask("Scan", ConsistentRead=True)["Items"]}

    def look(self) -> None:
        self.world.apply()
        items = self.items()
        entries = {key: item for key, item in items.items() if "status" in item}
        assert self.world.entries() == entries
        if self.arn is not None:
            rebuilt = self.judge(self.arn, self.before)
            assert rebuilt == items
            assert {key: item for key, item in rebuilt.items() if "status" in item} == self.world.entries()
        now_seconds = self.world.clock.service_time()
        for one in self.ended:
            if one.at_seconds + DAY > now_seconds:
                assert self.judge(one.arn, one.before) == one.after

    def judge(self, arn: str, before: dict[str, Item]) -> dict[str, Item]:
        """The table that follows from the records of a stream."""
        limit = self.chance.choice((1, 5, 1000))
        numbers: set[int] = set()
        records = []
        for _, inside in shard_records(self.world, arn, limit):
            in_order = [sequence(one) for one in inside]
            assert in_order == sorted(in_order)
            assert numbers.isdisjoint(in_order)
            numbers.update(in_order)
            records += inside
        assert len(numbers) == len(records)
        self.recorded = max(self.recorded, len(records))
        self.most_shards = max(self.most_shards, len(shards(self.world, arn)))
        return replayed(records, before)


@pytest.mark.parametrize("is_suspending", [False, True], ids=["embedded", "suspending"])
@pytest.mark.parametrize("seed", seeds(2, 5))
def test_records_rebuild_the_table(tmp_path: Path, seed: int, *, is_suspending: bool) -> None:
    walk = Walk(tmp_path / "data", seed, is_suspending=is_suspending)
    for _ in range(STEPS):
        walk.step()
    walk.look()
    assert walk.ended
    assert walk.recorded > 30
    assert walk.most_shards > 5
    assert walk.expired > 0
    assert walk.world.close() == []
