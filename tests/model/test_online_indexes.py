"""Random writes while indexes are created, built slice by slice, delayed and deleted,
and the store is restarted or killed.
"""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.support.seeds import seeds
from tests.unit.jobs.world import World

STEPS = 1200
KEYS = 900
ITEMS_MIN = 600
"""More items than two slices build."""
VALUES: list[dict[str, Any] | None] = [
    {"S": "a"}, {"S": "b"}, {"S": "c"}, {"S": ""}, {"N": "1"}, {"S": "x" * 2049}, {"L": []}, None,
]  # fmt: skip
"""Random values; half of them cannot be in an index."""
INDEXES = {"by-x": "x", "by-y": "y", "keys-of-x": "x"}


class Walk:
    """A world, and its expected content."""

    def __init__(self, data_dir: Path, seed: int, *, is_suspending: bool) -> None:
        self.chance = random.Random(seed)
        delay = random.Random(seed + 1)
        index_delay = (lambda: delay.choice((0.0, 0.5, 3.0))) if seed % 2 else None
        self.world = World(data_dir, is_suspending=is_suspending, index_delay=index_delay)
        self.items: dict[str, dict[str, Any]] = {}
        while len(self.items) < ITEMS_MIN:
            self.put()

    def step(self) -> None:
        actions = {
            self.put: 60,
            self.update: 15,
            self.delete: 15,
            self.change_indexes: 2,
            self.slice: 12,
            self.restart: 1,
            self.kill: 1,
        }
        (action,) = self.chance.choices(list(actions), list(actions.values()))
        action()
        self.world.clock.advance(self.chance.choice((0.0, 0.1)))
        if self.chance.random() < 0.3:
            self.world.apply()

    def attributes(self) -> dict[str, Any]:
        """Random attributes of an item; an attribute with an index gets only values that the index accepts."""
        indexes = self.world.described().get("GlobalSecondaryIndexes", [])
        held = {index["KeySchema"][0]["AttributeName"] for index in indexes}
        chosen = {name: self.chance.choice(VALUES[:3] if name in held else VALUES) for name in ("x", "y")}
        return {name: value for name, value in chosen.items() if value is not None}

    def key(self) -> str:
        return f"i{self.chance.randrange(KEYS)}"

    def put(self) -> None:
        key = self.key()
        self.items[key] = {"id": {"S": key}, "n": {"N": str(self.chance.randrange(9))}} | self.attributes()
        self.world.ask("PutItem", Item=self.items[key])

    def update(self) -> None:
        key = self.key()
        text = "x" * self.chance.randrange(1, 5)
        self.world.ask(
            "UpdateItem",
            Key={"id": {"S": key}},
            UpdateExpression="SET note = :n",
            ExpressionAttributeValues={":n": {"S": text}},
        )
        self.items[key] = self.items.get(key, {"id": {"S": key}}) | {"note": {"S": text}}

    def delete(self) -> None:
        key = self.key()
        self.items.pop(key, None)
        self.world.ask("DeleteItem", Key={"id": {"S": key}})

    def slice(self) -> None:
        self.world.slice()

    def restart(self) -> None:
        self.world.restart()

    def kill(self) -> None:
        self.world.kill()

    def change_indexes(self) -> None:
        """Delete an index, or create one if none is being built."""
        name = self.chance.choice(list(INDEXES))
        index = self.world.index(name)
        ongoing = self.world.described().get("GlobalSecondaryIndexes", [])
        if any(one["IndexStatus"] != "ACTIVE" and one["IndexName"] != name for one in ongoing):
            return
        if index is None:
            kind = "KEYS_ONLY" if name.startswith("keys") else "ALL"
            self.world.create(name, INDEXES[name], Projection={"ProjectionType": kind})
        else:
            self.world.delete(name)

    def check(self) -> None:
        """Check the entries of every ACTIVE index once no entry is pending."""
        self.world.clock.advance(3.0)
        self.world.apply()
        for index in self.world.described().get("GlobalSecondaryIndexes", []):
            name = index["IndexName"]
            if index["IndexStatus"] != "ACTIVE":
                continue
            attribute = INDEXES[name]
            expected = {
                key: {n: item[n] for n in ("id", attribute)} if name.startswith("keys") else item
                for key, item in self.items.items()
                if 0 < len(item.get(attribute, {}).get("S", "")) <= 2048
            }
            assert self.world.entries(name) == expected, name
            assert index["ItemCount"] == len(expected), name


@pytest.mark.parametrize("is_suspending", [False, True], ids=["embedded", "suspending"])
@pytest.mark.parametrize("seed", seeds(2, 4))
def test_indexes_come_and_go_under_writes(tmp_path: Path, seed: int, is_suspending: bool) -> None:
    walk = Walk(tmp_path / "data", seed, is_suspending=is_suspending)
    for number in range(STEPS):
        walk.step()
        if number % 100 == 99:
            walk.check()
    walk.world.finish()
    walk.check()
    assert walk.world.close() == []
