"""Random steps on a table: each step has its random choices fixed, sends one request or reads all pages,
and checks the replies.
"""

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tests.model.item_model import (
    Item,
    Native,
    Path,
    Test,
    item_bytes,
    item_from_wire,
    item_to_wire,
    order,
    project,
    updated,
)
from tests.model.random_expressions import PATHS, Placeholders, any_value, random_condition, random_update
from tests.model.world import World

KEYS: dict[str, list[Native]] = {
    "S": [("S", value) for value in ("a", "aa", "b", "ä", "\uffff", "\U0001f600")],
    "N": [("N", Decimal(value)) for value in ("-1000", "-1.5", "0", "0.05", "1", "1E+3")],
    "B": [("B", value) for value in (b"\x00", b"\x00\x00", b"\x01", b"\xff", b"\xff\x00", b"a")],
}
FILTER_PATHS: list[Path] = [path for path in PATHS if path[0] not in ("pk", "sk")]

Step = Callable[[World], None]


class Steps:
    """Makes random steps, whose random choices are fixed before they run."""

    def __init__(self, seed: int, key_types: tuple[str, ...]) -> None:
        self.chance = random.Random(seed)
        self.key_types = key_types
        self.makers = {
            self.put: 20, self.update: 40, self.delete: 10, self.get: 15, self.query: 30, self.scan: 8, self.restart: 1,
        }  # fmt: skip

    def make(self) -> Step:
        (maker,) = self.chance.choices(list(self.makers), list(self.makers.values()))
        return maker()

    def key(self) -> Item:
        pools = [KEYS[kind] for kind in self.key_types]
        return {
            name: self.chance.choice(pool[:3] if name == "pk" else pool)
            for name, pool in zip(("pk", "sk"), pools, strict=False)
        }

    def condition(self, to: Placeholders) -> tuple[dict[str, Any], Test | None]:
        """A ConditionExpression, for some of the requests."""
        if self.chance.random() < 0.6:
            return {}, None
        text, test = random_condition(to, [*FILTER_PATHS, ("pk",)])
        return {"ConditionExpression": text}, test

    def put(self) -> Step:
        names = self.chance.sample(["a", "b", "c", "size", "m", "l"], self.chance.randint(0, 5))
        item = self.key() | {name: any_value(self.chance) for name in names}
        to = Placeholders(self.chance)
        members, test = self.condition(to)
        members |= {
            "Item": item_to_wire(item),
            "ReturnValues": "ALL_OLD",
            "ReturnConsumedCapacity": "TOTAL",
        } | to.members()

        def step(world: World) -> None:
            told = world.expect("PutItem", members, lambda: world.model.write(item, lambda _: item, test))
            if told is not None:
                check_write(told, told[1][0])

        return step

    def delete(self) -> Step:
        key = self.key()
        to = Placeholders(self.chance)
        members, test = self.condition(to)
        members |= {
            "Key": item_to_wire(key),
            "ReturnValues": "ALL_OLD",
            "ReturnConsumedCapacity": "TOTAL",
        } | to.members()

        def step(world: World) -> None:
            told = world.expect("DeleteItem", members, lambda: world.model.write(key, lambda _: None, test))
            if told is not None:
                check_write(told, told[1][0])

        return step

    def update(self) -> Step:
        key = self.key()
        to = Placeholders(self.chance)
        text, actions = random_update(to)
        members, test = self.condition(to)
        wanted = self.chance.choice(["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
        members |= {
            "Key": item_to_wire(key),
            "ReturnValues": wanted,
            "UpdateExpression": text,
            "ReturnConsumedCapacity": "TOTAL",
        }
        members |= to.members()
        touched = [action.path for action in actions]
        written = [action.path for action in actions if action.kind != "REMOVE"]

        def step(world: World) -> None:
            def plan(old: Item | None) -> Item | None:
                return updated(old, actions) if old is not None else _created(key, updated(None, actions))

            told = world.expect("UpdateItem", members, lambda: world.model.write(key, plan, test))
            if told is not None:
                old, new = told[1]
                returned = {
                    "NONE": None, "ALL_OLD": old, "ALL_NEW": new, "UPDATED_OLD": project(old or {}, touched) or None,
                    "UPDATED_NEW": project(new or {}, written) or None,
                }[wanted]  # fmt: skip
                check_write(told, returned)

        return step

    def get(self) -> Step:
        key = self.key()
        to = Placeholders(self.chance)
        choices: list[list[Path] | None] = [
            None, [("a",), ("pk",)], [("m", "x"), ("l", 1)], [("l", 1), ("l", 0), ("m",)],
        ]  # fmt: skip
        paths = self.chance.choice(choices)
        members: dict[str, Any] = {"Key": item_to_wire(key), "ConsistentRead": True, "ReturnConsumedCapacity": "TOTAL"}
        if paths is not None:
            members["ProjectionExpression"] = ", ".join([to.path(path) for path in paths])
        members |= to.members()

        def step(world: World) -> None:
            item = world.model.get(key)
            reply = world.ask("GetItem", members)
            expected = item if item is None or paths is None else project(item, paths)
            assert ("Item" in reply) == (item is not None)
            assert item is None or item_from_wire(reply["Item"]) == expected
            assert reply["ConsumedCapacity"]["CapacityUnits"] == max(1, -(-item_bytes(item or {}) // 4096))

        return step

    def query(self) -> Step:
        """Read all pages of a random Query."""
        partition = self.key()["pk"]
        to = Placeholders(self.chance)
        text = f"{to.path(('pk',))} = {to.value(partition)}"
        in_range: Test = lambda item: True  # noqa: E731
        if len(self.key_types) == 2 and self.chance.random() < 0.7:
            ranged, in_range = self.sort_condition(to)
            text += f" AND {ranged}"
        members = {"KeyConditionExpression": text} | self.page_members(to)
        is_reverse = members["ScanIndexForward"] is False
        test = self.filter(to, members)
        members |= to.members()

        def step(world: World) -> None:
            found = [item for item in world.model.partition(partition) if in_range(item)]
            check_pages(world, "Query", members, found[::-1] if is_reverse else found, test)

        return step

    def sort_condition(self, to: Placeholders) -> tuple[str, Test]:
        kind = self.key_types[1]
        low, high = sorted(self.chance.choices(KEYS[kind], k=2), key=order)
        name = to.path(("sk",))
        operator = self.chance.choice(["=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"])
        first, last = order(low), order(high)
        if operator == "BETWEEN":
            return (
                f"{name} BETWEEN {to.value(low)} AND {to.value(high)}",
                lambda item: first <= order(item["sk"]) <= last,
            )
        if operator == "begins_with" and kind != "N":
            return f"begins_with({name}, {to.value(low)})", lambda item: bool(order(item["sk"]).startswith(first))
        operator = "=" if operator == "begins_with" else operator
        tests: dict[str, Test] = {
            "=": lambda item: order(item["sk"]) == first, "<": lambda item: order(item["sk"]) < first,
            "<=": lambda item: order(item["sk"]) <= first, ">": lambda item: order(item["sk"]) > first,
            ">=": lambda item: order(item["sk"]) >= first,
        }  # fmt: skip
        return f"{name} {operator} {to.value(low)}", tests[operator]

    def page_members(self, to: Placeholders) -> dict[str, Any]:
        return {
            "Limit": self.chance.choice([None, 1, 2, 3, 5]),
            "ScanIndexForward": self.chance.choice([None, True, False]),
            "ReturnConsumedCapacity": "TOTAL",
            "ConsistentRead": True,
        }

    def filter(self, to: Placeholders, members: dict[str, Any]) -> Test:
        """Put a FilterExpression into `members`, for some of the requests."""
        if self.chance.random() < 0.5:
            return lambda item: True
        members["FilterExpression"], test = random_condition(to, FILTER_PATHS)
        return test

    def scan(self) -> Step:
        """Scan all pages of all segments."""
        to = Placeholders(self.chance)
        members = self.page_members(to)
        del members["ScanIndexForward"]
        test = self.filter(to, members)
        members |= to.members()
        total = self.chance.choice([None, 1, 2, 5])

        def step(world: World) -> None:
            plain = {"Limit": members["Limit"], "ConsistentRead": True}
            order_seen: list[Item] = []
            for segment in range(total or 1):
                share = {} if total is None else {"Segment": segment, "TotalSegments": total}
                seen = [item for reply in pages(world, "Scan", plain | share) for item in reply["Items"]]
                items = [item_from_wire(item) for item in seen]
                check_pages(world, "Scan", members | share, items, test)
                order_seen += items
            assert len(order_seen) == len(world.model.items)
            for partition in {item["pk"] for item in order_seen}:
                assert [item for item in order_seen if item["pk"] == partition] == world.model.partition(partition)

        return step

    def restart(self) -> Step:
        return World.restart


def _created(key: Item, new: Item | None) -> Item | None:
    return None if new is None else key | new


def check_write(told: tuple[Any, tuple[Item | None, Item | None]], returned: Item | None) -> None:
    """Check attributes and capacity in a write's reply."""
    reply, change = told
    assert ("Attributes" in reply) == (returned is not None)
    assert returned is None or item_from_wire(reply["Attributes"]) == returned
    size_bytes = max(item_bytes(item or {}) for item in change)
    assert reply["ConsumedCapacity"]["CapacityUnits"] == max(1, -(-size_bytes // 1024))


def pages(world: World, name: str, members: dict[str, Any]) -> list[Any]:
    """The replies of all pages."""
    replies = [world.ask(name, members)]
    while "LastEvaluatedKey" in replies[-1]:
        replies.append(world.ask(name, members | {"ExclusiveStartKey": replies[-1]["LastEvaluatedKey"]}))
    return replies


def check_pages(world: World, name: str, members: dict[str, Any], found: list[Item], test: Test) -> None:
    """Check every page of a read that evaluates the items `found`, in this order."""
    limit = members["Limit"]
    replies = pages(world, name, members)
    for place, reply in enumerate(replies):
        part = found if limit is None else found[place * limit : (place + 1) * limit]
        assert [item_from_wire(item) for item in reply["Items"]] == [item for item in part if test(item)]
        assert (reply["Count"], reply["ScannedCount"]) == (len(reply["Items"]), len(part))
        assert ("LastEvaluatedKey" in reply) == (limit is not None and len(part) == limit)
        if "LastEvaluatedKey" in reply:
            assert item_from_wire(reply["LastEvaluatedKey"]) == world.model.key_item(part[-1])
        assert reply["ConsumedCapacity"]["CapacityUnits"] == max(1, -(-sum(map(item_bytes, part)) // 4096))
    assert len(replies) == (1 if limit is None else len(found) // limit + 1)
