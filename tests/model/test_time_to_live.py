"""Random writes of all kinds and a clock that moves, over both stores, with kills and restarts,
while time to live is turned on and off.

A model of a few lines knows which items must exist: expired items are deleted when the job has run, and no others.
"""

import random
from pathlib import Path
from typing import Any

import pytest

from hashrange.limits import EXPIRY_AGE_MAX_SECONDS
from hashrange.settings import Settings
from tests.support.seeds import seeds
from tests.unit.jobs.world import TABLE, World

STEPS = 400
KEYS = 12
ATTRIBUTES = ("x", "y")
Item = dict[str, Any]


class Walk:
    """A world, and its expected content."""

    def __init__(self, data_dir: Path, seed: int, *, is_suspending: bool) -> None:
        self.chance = random.Random(seed)
        self.delay_seconds = self.chance.choice((0.0, 0.0, 7.0))
        self.world = World(data_dir, is_suspending=is_suspending, ttl_delay_seconds=self.delay_seconds)
        self.cool()
        self.world.create("by-x", "status")
        self.world.finish()
        self.items: dict[str, Item] = {}
        self.attribute: str | None = None
        self.expired = 0

    def cool(self) -> None:
        self.world.scope.settings = Settings(ttl_cooldown_seconds=0.0)

    def step(self) -> None:
        actions = {self.put: 25, self.update: 15, self.delete: 8, self.transact: 15, self.batch: 8}
        actions |= {self.turn: 4, self.expire: 25, self.restart: 2, self.kill: 2}
        (action,) = self.chance.choices(list(actions), list(actions.values()))
        action()
        self.world.clock.advance(self.chance.choice((0.0, 0.0, 0.5, 1.0, 3.0)))
        if self.chance.random() < 0.3:
            self.look()

    # --- writes ---------------------------------------------------------------------------------

    def some_keys(self, count: int) -> list[str]:
        return [f"i{number}" for number in self.chance.sample(range(KEYS), count)]

    def some_time(self) -> dict[str, str]:
        now_seconds = int(self.world.clock.service_time())
        chance = self.chance
        number = chance.choice(
            (
                str(now_seconds + chance.randint(-4, 12)),
                str(now_seconds + chance.randint(-4, 12)),
                f"{now_seconds + chance.randint(-4, 12)}.5",
                str(now_seconds - EXPIRY_AGE_MAX_SECONDS - 1000),
                "9" * 38,
                "-3",
            )
        )
        return chance.choice(({"N": number}, {"N": number}, {"N": number}, {"S": number}))

    def some_item(self, key: str) -> Item:
        item: Item = {"id": {"S": key}, "status": {"S": self.chance.choice("ab")}}
        return item | {name: self.some_time() for name in ATTRIBUTES if self.chance.random() < 0.7}

    def put(self) -> None:
        (key,) = self.some_keys(1)
        item = self.some_item(key)
        if key in self.items and self.chance.random() < 0.3:  # the times of its attributes stay
            times = {name: self.items[key][name] for name in ATTRIBUTES if name in self.items[key]}
            item = {name: value for name, value in item.items() if name not in ATTRIBUTES} | times
        self.world.ask("PutItem", Item=item)
        self.items[key] = item

    def update(self) -> None:
        (key,) = self.some_keys(1)
        name = self.chance.choice(ATTRIBUTES)
        value = self.some_time()
        self.world.ask(
            "UpdateItem",
            Key={"id": {"S": key}},
            UpdateExpression="SET #n = :v",
            ExpressionAttributeNames={"#n": name},
            ExpressionAttributeValues={":v": value},
        )
        self.items[key] = self.items.get(key, {"id": {"S": key}}) | {name: value}

    def delete(self) -> None:
        (key,) = self.some_keys(1)
        self.world.ask("DeleteItem", Key={"id": {"S": key}})
        self.items.pop(key, None)

    def transact(self) -> None:
        actions = []
        for key in self.some_keys(self.chance.randint(1, 5)):
            if self.chance.random() < 0.3:
                actions.append({"Delete": {"TableName": TABLE, "Key": {"id": {"S": key}}}})
                self.items.pop(key, None)
            else:
                self.items[key] = item = self.some_item(key)
                actions.append({"Put": {"TableName": TABLE, "Item": item}})
        self.world.request("TransactWriteItems", TransactItems=actions)

    def batch(self) -> None:
        puts = []
        for key in self.some_keys(self.chance.randint(1, 5)):
            self.items[key] = item = self.some_item(key)
            puts.append({"PutRequest": {"Item": item}})
        self.world.request("BatchWriteItem", RequestItems={TABLE: puts})

    # --- what else happens ----------------------------------------------------------------------

    def turn(self) -> None:
        """Turn time to live on by one of the attributes, or off."""
        is_on = self.attribute is None
        name = self.attribute or self.chance.choice(ATTRIBUTES)
        self.world.ask("UpdateTimeToLive", TimeToLiveSpecification={"Enabled": is_on, "AttributeName": name})
        self.attribute = name if is_on else None

    def expire(self) -> None:
        """Run the job and check it: it may delete only items that expired at least `delay_seconds` ago."""
        before = self.found()
        assert before == self.items
        self.world.expire()
        until_seconds = self.world.clock.service_time() - self.delay_seconds
        found = self.found()
        for key, item in list(self.items.items()):
            expires_seconds = self.expiry(item)
            if expires_seconds is None or expires_seconds > until_seconds:
                assert key in found, item
            elif key not in found:
                del self.items[key]
                self.expired += 1
        assert found == self.items

    def settle(self) -> None:
        """Check that no expired item is left, after enough time."""
        self.world.clock.advance(self.delay_seconds + 1)
        self.expire()
        until_seconds = self.world.clock.service_time() - self.delay_seconds - 1
        times = [self.expiry(item) for item in self.items.values()]
        assert all(time is None or time > until_seconds for time in times)

    def expiry(self, item: Item) -> float | None:
        """When an item expires, by the model."""
        number = item.get(self.attribute, {}).get("N") if self.attribute is not None else None
        now_seconds = self.world.clock.service_time()
        if number is None or not now_seconds - EXPIRY_AGE_MAX_SECONDS <= float(number) < 10**12:
            return None
        return float(number)

    def restart(self) -> None:
        self.world.restart()
        self.cool()

    def kill(self) -> None:
        self.world.kill()
        self.cool()

    def found(self) -> dict[str, Item]:
        return {item["id"]["S"]: item for item in self.world.ask("Scan", ConsistentRead=True)["Items"]}

    def look(self) -> None:
        assert self.found() == self.items
        self.world.apply()
        entries = self.world.entries("by-x")
        assert entries == {key: item for key, item in self.items.items() if "status" in item}


@pytest.mark.parametrize("is_suspending", [False, True], ids=["embedded", "suspending"])
@pytest.mark.parametrize("seed", seeds(2, 6))
def test_what_has_expired_goes_and_nothing_else(tmp_path: Path, seed: int, *, is_suspending: bool) -> None:
    walk = Walk(tmp_path / "data", seed, is_suspending=is_suspending)
    for number in range(STEPS):
        walk.step()
        if number % 100 == 99:
            walk.settle()
    assert walk.expired > 10
    assert walk.world.close() == []
