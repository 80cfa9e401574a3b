"""Random operations on items against a dictionary, over every store, with restarts: both must always tell the same.

A walk's steps are data, made from its seed before it starts; so a failing walk is cut down to the shortest one found that still
fails, and told with its seed.
"""

import random
from collections.abc import Callable, Coroutine
from decimal import Decimal
from pathlib import Path as FilePath
from typing import Any

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.errors import ApiError
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.settings import Settings
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.interface import Store
from hashrange.store.suspending import SuspendingStore
from tests.model.item_model import (
    Item,
    ModelTable,
    Native,
    Path,
    Refused,
    Test,
    item_bytes,
    item_from_wire,
    item_to_wire,
    order,
    project,
    to_wire,
    updated,
)
from tests.model.random_expressions import PATHS, Placeholders, any_value, random_condition, random_update

STEPS = 250
SHRINK_TRIES = 300
TABLE = "model"
KEYS: dict[str, list[Native]] = {
    "S": [("S", value) for value in ("a", "aa", "b", "ä", "\uffff", "\U0001f600")],
    "N": [("N", Decimal(value)) for value in ("-1000", "-1.5", "0", "0.05", "1", "1E+3")],
    "B": [("B", value) for value in (b"\x00", b"\x00\x00", b"\x01", b"\xff", b"\xff\x00", b"a")],
}
FILTER_PATHS: list[Path] = [path for path in PATHS if path[0] not in ("pk", "sk")]


def drive(coroutine: Coroutine[Any, Any, bytes]) -> bytes:
    """Run an operation to its end, whatever turns it gives away."""
    while True:
        try:
            waits_for = coroutine.send(None)
        except StopIteration as stop:
            body: bytes = stop.value
            return body
        assert waits_for is None


class World:
    """A table over a store, and its model."""

    def __init__(self, kind: str, data_dir: str | None, seed: int, key_types: tuple[str, ...]) -> None:
        self.kind = kind
        self.data_dir = data_dir
        self.seed = seed
        self.model = ModelTable(len(key_types) == 2)
        self.key_types = key_types
        self.open()
        names = self.model.key_names
        self.ask("CreateTable", {
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind} for name, kind in zip(names, key_types, strict=True)
            ],
            "KeySchema": [
                {"AttributeName": name, "KeyType": role} for name, role in zip(names, ("HASH", "RANGE"), strict=False)
            ],
            "BillingMode": "PAY_PER_REQUEST",
        })  # fmt: skip

    def open(self) -> None:
        self.embedded: EmbeddedStore = open_store(self.data_dir, SystemClock(), None)
        store: Store = self.embedded if self.kind == "embedded" else SuspendingStore(self.embedded, self.seed)
        self.scope = Scope("000000000000", "us-east-1", store, SystemClock(), Settings(port=0, data_dir=None))

    def restart(self) -> None:
        """Close and open again; a store in memory would be empty."""
        if self.data_dir is not None:
            self.embedded.close_now()
            self.open()

    def ask(self, name: str, members: dict[str, Any]) -> Any:
        """The reply of an operation; a refusal is raised."""
        operation = OPERATIONS[name]
        request = msgspec.convert({"TableName": TABLE} | members, operation.request)
        return msgspec.json.decode(drive(operation.run(self.scope, request)))

    def expect(self, name: str, members: dict[str, Any], outcome: Callable[[], Any]) -> Any:
        """The reply, or None where both refuse; fails when only one does, or for another reason."""
        try:
            expected = outcome()
        except Refused as refused:
            with pytest.raises(ApiError) as heard:
                self.ask(name, members)
            assert heard.value.message in refused.messages
            return None
        return self.ask(name, members), expected


Step = Callable[[World], None]


class Steps:
    """Random steps; each holds all its chances already."""

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
        """A ConditionExpression, now and then."""
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
                check_write(*told, returned=told[1][0])

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
                check_write(*told, returned=told[1][0])

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
                check_write(*told, returned=returned)

        return step

    def get(self) -> Step:
        key = self.key()
        to = Placeholders(self.chance)
        paths = self.chance.choice([None, [("a",), ("pk",)], [("m", "x"), ("l", 1)], [("l", 1), ("l", 0), ("m",)]])
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
        """All pages of a random query."""
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
            "Limit": self.chance.choice([None, 1, 2, 3, 5]), "ScanIndexForward": self.chance.choice([None, True, False]),
            "ReturnConsumedCapacity": "TOTAL", "ConsistentRead": True,
        }  # fmt: skip

    def filter(self, to: Placeholders, members: dict[str, Any]) -> Test:
        """A FilterExpression, now and then, put into `members`."""
        if self.chance.random() < 0.5:
            return lambda item: True
        members["FilterExpression"], test = random_condition(to, FILTER_PATHS)
        return test

    def scan(self) -> Step:
        """All pages of all segments."""
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


def check_write(reply: Any, change: tuple[Item | None, Item | None], returned: Item | None) -> None:
    """Attributes and capacity of a write's reply."""
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
    """Every page of a read that evaluates `found`, in this order."""
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


# --- walks --------------------------------------------------------------------------------------


def failure(steps: list[Step], make_world: Callable[[], World]) -> tuple[int, Exception] | None:
    """At which step a walk fails, and how; None when it does not."""
    world = make_world()
    try:
        for place, step in enumerate(steps):
            try:
                step(world)
            except Exception as error:
                return place, error
        return None
    finally:
        world.embedded.close_now()


def shrink(steps: list[Step], make_world: Callable[[], World]) -> list[Step]:
    """Fewer steps that still fail: parts are left out while that is so, smaller and smaller ones."""
    tries = 0
    width = len(steps) // 2
    while width and tries < SHRINK_TRIES:
        start = 0
        while start < len(steps) and tries < SHRINK_TRIES:
            shorter = steps[:start] + steps[start + width :]
            tries += 1
            found = failure(shorter, make_world)
            if found is None:
                start += width
            else:
                steps = shorter[: found[0] + 1]
        width //= 2
    return steps


def walk(seed: int, kind: str, data_dir: FilePath | None) -> None:
    chance = random.Random(seed)
    key_types = tuple(chance.choices("SNB", k=chance.choice([1, 2, 2])))
    maker = Steps(seed, key_types)
    steps = [maker.make() for _ in range(STEPS)]
    worlds = 0

    def make_world() -> World:
        nonlocal worlds
        worlds += 1
        folder = None if data_dir is None else str(data_dir / str(worlds))
        return World(kind, folder, seed, key_types)

    found = failure(steps, make_world)
    if found is not None:
        steps = shrink(steps[: found[0] + 1], make_world)
        told = "\n".join(describe(step) for step in steps)
        again = failure(steps, make_world)
        error = found[1] if again is None else again[1]
        raise AssertionError(f"seed {seed}, {kind} store, keys {key_types}, {len(steps)} steps:\n{told}") from error


def describe(step: Step) -> str:
    """A step's kind and what it sends."""
    held = {
        name: cell.cell_contents for name, cell in zip(step.__code__.co_freevars, step.__closure__ or (), strict=True)
    }
    return f"{step.__qualname__.split('.')[1]}: {held.get('members', '')}"


@pytest.mark.parametrize("seed", range(6))
def test_a_table_is_a_dictionary(seed: int) -> None:
    walk(seed, "embedded", None)


@pytest.mark.parametrize("seed", range(100, 103))
def test_a_table_is_a_dictionary_that_survives_restarts(tmp_path: FilePath, seed: int) -> None:
    walk(seed, "embedded", tmp_path)


@pytest.mark.parametrize("seed", range(200, 203))
def test_a_table_is_a_dictionary_over_a_store_that_suspends(seed: int) -> None:
    walk(seed, "suspending", None)


# --- many at once -------------------------------------------------------------------------------


def interleave(chance: random.Random, coroutines: list[Coroutine[Any, Any, bytes]]) -> list[bytes | ApiError]:
    """Run operations at once, each step of one at random; their replies and refusals in the order given."""
    results: dict[int, bytes | ApiError] = {}
    running = dict(enumerate(coroutines))
    while running:
        number = chance.choice(list(running))
        try:
            running[number].send(None)
        except StopIteration as stop:
            results[number] = stop.value
            del running[number]
        except ApiError as error:
            results[number] = error
            del running[number]
    return [results[number] for number in range(len(coroutines))]


@pytest.mark.parametrize("seed", range(3))
def test_concurrent_writes_of_one_item_do_not_lose_each_other(seed: int) -> None:
    chance = random.Random(seed)
    world = World("suspending", None, seed, ("S",))
    key = {"pk": {"S": "counter"}}
    operation = OPERATIONS["UpdateItem"]

    def run(**members: Any) -> Coroutine[Any, Any, bytes]:
        request = msgspec.convert({"TableName": TABLE, "Key": key} | members, operation.request)
        coroutine: Coroutine[Any, Any, bytes] = operation.run(world.scope, request)
        return coroutine

    one = {":one": to_wire(("N", Decimal(1)))}
    adds = [run(UpdateExpression="ADD n :one", ExpressionAttributeValues=one) for _ in range(20)]
    sets = [run(UpdateExpression="SET m = if_not_exists(m, :zero) + :one",
                ExpressionAttributeValues=one | {":zero": {"N": "0"}}) for _ in range(20)]  # fmt: skip
    firsts = [run(UpdateExpression="SET winner = :w", ConditionExpression="attribute_not_exists(winner)",
                  ExpressionAttributeValues={":w": {"N": str(number)}}) for number in range(10)]  # fmt: skip
    results = interleave(chance, adds + sets + firsts)
    won = [number for number, result in enumerate(results[40:]) if isinstance(result, bytes)]
    assert len(won) == 1
    item = world.ask("GetItem", {"Key": key, "ConsistentRead": True})["Item"]
    assert item == key | {"n": {"N": "20"}, "m": {"N": "20"}, "winner": {"N": str(won[0])}}
    world.embedded.close_now()
