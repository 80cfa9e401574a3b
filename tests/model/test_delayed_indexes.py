"""Random writes of all kinds while entries of global indexes come late, with kills and restarts, over both stores.

At any time, all indexes show the table as it was after one and the same commit: never half a transaction, never an
earlier commit than before; and in the end the current table.
"""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.support.seeds import seeds
from tests.unit.jobs.world import TABLE, World

STEPS = 400
KEYS = 12
DELAYS_SECONDS = (0.0, 0.3, 2.0)
INDEXES = {"all-by-x": ("x", None), "keys-by-x": ("x", ("id", "x")), "some-by-y": ("y", ("id", "y", "n"))}
"""Name → key attribute, and what is projected."""
PROJECTIONS: dict[str, dict[str, Any]] = {
    "all-by-x": {"ProjectionType": "ALL"},
    "keys-by-x": {"ProjectionType": "KEYS_ONLY"},
    "some-by-y": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n"]},
}
Item = dict[str, Any]
Items = dict[str, Item]


def expected(items: Items) -> dict[str, Items]:
    """Index → its entries by item, once all entries are written."""
    return {
        name: {
            key: item if names is None else {one: value for one, value in item.items() if one in names}
            for key, item in items.items()
            if attribute in item
        }
        for name, (attribute, names) in INDEXES.items()
    }


class Walk:
    """A world, the commits whose entries may be missing, and the state that the indexes last showed."""

    def __init__(self, data_dir: Path, seed: int, *, is_suspending: bool) -> None:
        self.chance = random.Random(seed)
        delay = random.Random(seed + 1)
        self.world = World(data_dir, is_suspending=is_suspending, index_delay=lambda: delay.choice(DELAYS_SECONDS))
        for name, (attribute, _) in INDEXES.items():
            self.world.create(name, attribute, Projection=PROJECTIONS[name])
            self.world.finish()
        self.items: Items = {}
        self.shown: Items = {}
        self.waiting: list[dict[str, Item | None]] = []
        self.most_waiting = self.numbers = 0

    def step(self) -> None:
        actions = {
            self.put: 20,
            self.update: 20,
            self.delete: 10,
            self.batch: 10,
            self.transact: 20,
            self.restart: 2,
            self.kill: 2,
        }
        (action,) = self.chance.choices(list(actions), list(actions.values()))
        action()
        self.most_waiting = max(self.most_waiting, len(self.waiting))
        self.world.clock.advance(self.chance.choice((0.0, 0.1, 0.5)))
        if self.chance.random() < 0.3:
            self.world.apply()
        if self.chance.random() < 0.5:
            self.look()

    # --- writes ---------------------------------------------------------------------------------

    def committed(self, changes: dict[str, Item | None]) -> None:
        """Note one commit."""
        self.waiting.append(changes)
        show(self.items, changes)

    def some_keys(self, count: int) -> list[str]:
        return [f"i{number}" for number in self.chance.sample(range(KEYS), count)]

    def some_item(self, key: str) -> Item:
        self.numbers += 1
        item: Item = {"id": {"S": key}, "n": {"N": str(self.numbers)}}
        return item | {name: {"S": self.chance.choice("ab")} for name in ("x", "y") if self.chance.random() < 0.7}

    def update_of(self, key: str) -> tuple[Item, Item]:
        """Members of a random update, and the item afterwards."""
        self.numbers += 1
        name = self.chance.choice("xy")
        number, value = {"N": str(self.numbers)}, {"S": self.chance.choice("abc")}
        old = self.items.get(key, {"id": {"S": key}})
        if self.chance.random() < 0.3:
            new = {one: held for one, held in old.items() if one != name} | {"n": number}
            values = {":n": number}
            expression = f"SET n = :n REMOVE {name}"
        else:
            new = old | {"n": number, name: value}
            values = {":n": number, ":v": value}
            expression = f"SET n = :n, {name} = :v"
        members = {"Key": {"id": {"S": key}}, "UpdateExpression": expression, "ExpressionAttributeValues": values}
        return members, new

    def put(self) -> None:
        (key,) = self.some_keys(1)
        item = self.some_item(key)
        self.world.ask("PutItem", Item=item)
        self.committed({key: item})

    def update(self) -> None:
        (key,) = self.some_keys(1)
        members, item = self.update_of(key)
        self.world.ask("UpdateItem", **members)
        self.committed({key: item})

    def delete(self) -> None:
        (key,) = self.some_keys(1)
        self.world.ask("DeleteItem", Key={"id": {"S": key}})
        self.committed({key: None})

    def batch(self) -> None:
        """Write a batch; each of its writes is a commit."""
        requests: list[Any] = []
        for key in self.some_keys(4):
            if self.chance.random() < 0.3:
                requests.append({"DeleteRequest": {"Key": {"id": {"S": key}}}})
                self.committed({key: None})
            else:
                item = self.some_item(key)
                requests.append({"PutRequest": {"Item": item}})
                self.committed({key: item})
        assert self.world.request("BatchWriteItem", RequestItems={TABLE: requests})["UnprocessedItems"] == {}

    def transact(self) -> None:
        """Run a transaction; all its writes are one commit."""
        actions: list[Any] = []
        changes: dict[str, Item | None] = {}
        for key in self.some_keys(3):
            kind = self.chance.choice(("Put", "Update", "Delete"))
            if kind == "Put":
                changes[key] = item = self.some_item(key)
                actions.append({"Put": {"TableName": TABLE, "Item": item}})
            elif kind == "Update":
                members, changes[key] = self.update_of(key)
                actions.append({"Update": {"TableName": TABLE} | members})
            else:
                changes[key] = None
                actions.append({"Delete": {"TableName": TABLE, "Key": {"id": {"S": key}}}})
        self.world.request("TransactWriteItems", TransactItems=actions)
        self.committed(changes)

    def restart(self) -> None:
        self.world.restart()

    def kill(self) -> None:
        self.world.kill()

    # --- reads ----------------------------------------------------------------------------------

    def look(self) -> None:
        """Check that the indexes show the table after the last shown commit, or after a later one."""
        entries = {name: self.world.entries(name) for name in INDEXES}
        seen = dict(self.shown)
        for count in range(len(self.waiting) + 1):
            if expected(seen) == entries:
                del self.waiting[:count]
                self.shown = seen
                return
            if count < len(self.waiting):
                show(seen, self.waiting[count])
        raise AssertionError(f"the indexes show {entries}, which the table never was")

    def drain(self) -> None:
        """Check that in the end no entry is missing."""
        self.world.clock.advance(max(DELAYS_SECONDS))
        assert self.world.apply() is None
        assert {name: self.world.entries(name) for name in INDEXES} == expected(self.items)
        self.look()


def show(items: Items, changes: dict[str, Item | None]) -> None:
    """Apply a commit to `items`."""
    for key, item in changes.items():
        if item is None:
            items.pop(key, None)
        else:
            items[key] = item


@pytest.mark.parametrize("is_suspending", [False, True], ids=["embedded", "suspending"])
@pytest.mark.parametrize("seed", seeds(2, 4))
def test_indexes_follow_the_table_commit_by_commit(tmp_path: Path, seed: int, is_suspending: bool) -> None:
    walk = Walk(tmp_path / "data", seed, is_suspending=is_suspending)
    for number in range(STEPS):
        walk.step()
        if number % 100 == 99:
            walk.drain()
    walk.drain()
    assert walk.most_waiting > 10, "hardly anything ever came late"
    assert walk.world.close() == []
