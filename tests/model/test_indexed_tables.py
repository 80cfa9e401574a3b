"""Random tables with random indexes, all kinds of writes and reads, delays, kills and restarts, against a simple model.

Entries of local indexes are written with their item; before a global index is read,
all its pending entries are written.
"""

import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hashrange.errors import ApiError
from tests.model.indexed_table import ATTRIBUTES, PLAIN, Index, Table
from tests.model.item_model import Item, Native, item_bytes, item_from_wire, item_to_wire, order, to_wire
from tests.support.seeds import seeds
from tests.unit.jobs.world import World

STEPS = 250
NAME = "indexed"
DELAYS_SECONDS = (0.0, 0.5, 2.0)
CONTENTS: dict[str, list[Any]] = {
    "S": ["x", "y", "xy", "é", "xé"],
    "N": [Decimal(0), Decimal(-2), Decimal("1.5"), Decimal(10), Decimal("-0.25")],
    "B": [b"\x00", b"\xff", b"\x00\xff", b"x"],
}
EMPTY: dict[str, Native] = {"S": ("S", ""), "B": ("B", b"")}
CODES = {"TransactWriteItems": "TransactionCanceledException"}
EMPTY_VALUE = "cannot contain an empty"
"""Message for an empty key value, which refuses a whole transaction and is never a cancellation reason."""


class Walk:
    """A world with a table of its own, and the model of it."""

    def __init__(self, data_dir: Path, seed: int, *, is_suspending: bool) -> None:
        self.chance = random.Random(seed)
        delay = random.Random(seed + 1)
        index_delay = (lambda: delay.choice(DELAYS_SECONDS)) if seed % 3 else None
        self.world = World(data_dir, is_suspending=is_suspending, index_delay=index_delay)
        self.table = table = Table(self.chance)
        self.refused = self.found = 0
        used = sorted({*table.key_names, *table.index_keys()})
        members: dict[str, Any] = {
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": table.types[name]} for name in used],
            "KeySchema": schema(table.key_names[:1], table.key_names[1:]),
            "BillingMode": "PAY_PER_REQUEST",
        }
        for index in table.indexes:
            kind = "Global" if index.is_global else "Local"
            members.setdefault(f"{kind}SecondaryIndexes", []).append(described(index, table))
        self.ask("CreateTable", **members)

    def ask(self, name: str, **members: Any) -> Any:
        return self.world.request(name, TableName=NAME, **members)

    def step(self) -> None:
        actions = {
            self.put: 25, self.update: 25, self.delete: 10, self.batch: 8, self.transact: 12,
            self.query: 40, self.scan: 8, self.describe: 4, self.restart: 1, self.kill: 1,
        }  # fmt: skip
        (action,) = self.chance.choices(list(actions), list(actions.values()))
        action()
        self.world.clock.advance(self.chance.choice((0.0, 0.2)))
        if self.chance.random() < 0.2:
            self.world.apply()

    # --- random parts ---------------------------------------------------------------------------

    def value(self, kind: str) -> Native:
        return kind, self.chance.choice(CONTENTS[kind])

    def key_item(self) -> Item:
        return {name: (self.table.types[name], self.chance.choice(CONTENTS[self.table.types[name]][:3]))
                for name in self.table.key_names}  # fmt: skip

    def attribute(self, name: str) -> Native:
        """A random value, usually one that an index accepts."""
        kind = self.table.types[name]
        if self.chance.random() < 0.04:
            return EMPTY.get(kind, ("BOOL", True))
        if self.chance.random() < 0.04:
            return self.value(self.chance.choice("SNB"))
        return self.value(kind)

    def plain(self) -> Native:
        return "S", "x" * self.chance.choice((1, 2, 1100, 2100))

    def item(self) -> Item:
        item = self.key_item()
        item |= {name: self.attribute(name) for name in ATTRIBUTES if self.chance.random() < 0.7}
        return item | {name: self.plain() for name in PLAIN if self.chance.random() < 0.5}

    def update_of(self) -> tuple[dict[str, Any], Item, Item | None, bool]:
        """Members of a random update, the key, the item afterwards, and whether the update must be accepted."""
        key = self.key_item()
        old = self.table.items.get(self.table.key_of(key))
        item = dict(old or key)
        name = self.chance.choice((*ATTRIBUTES, *PLAIN))
        members: dict[str, Any] = {"Key": item_to_wire(key), "ExpressionAttributeNames": {"#n": name}}
        kind = self.chance.choice(("set", "set", "set", "remove", "copy"))
        source = self.chance.choice(ATTRIBUTES)
        if kind == "remove":
            members["UpdateExpression"] = "REMOVE #n"
            item.pop(name, None)
            return members, key, None if old is None else item, True
        if kind == "copy" and source in item and source != name:
            members["UpdateExpression"] = "SET #n = #s"
            members["ExpressionAttributeNames"]["#s"] = source
            item[name] = item[source]
        else:
            item[name] = self.attribute(name) if name in ATTRIBUTES else self.plain()
            members["UpdateExpression"] = "SET #n = :v"
            members["ExpressionAttributeValues"] = {":v": to_wire(item[name])}
        return members, key, item, self.table.is_sound(item, {name})

    # --- writes ---------------------------------------------------------------------------------

    def written(self, name: str, members: dict[str, Any], is_sound: bool) -> Any:
        """The reply of a write, or None for one that must be refused."""
        if is_sound:
            return self.world.request(name, ReturnConsumedCapacity="INDEXES", **members)
        self.refused += 1
        try:
            reply = self.world.request(name, **members)
        except ApiError as error:
            is_empty_told = EMPTY_VALUE in str(error.message)
            assert error.code == ("ValidationException" if is_empty_told else CODES.get(name, "ValidationException")), (
                error
            )
            assert is_empty_told == (EMPTY_VALUE in str((error.message, error.members))), error
            return None
        raise AssertionError(f"{reply} instead of a refusal of {members}")

    def single(
        self, name: str, members: dict[str, Any], key: Item, item: Item | None, *, is_sound: bool = True
    ) -> None:
        reply = self.written(name, {"TableName": NAME} | members, is_sound)
        if reply is not None:
            units = self.table.put(self.table.key_of(key), item)
            assert arms(reply["ConsumedCapacity"]) == units

    def put(self) -> None:
        item = self.item()
        sound = self.table.is_sound(item, set(ATTRIBUTES))
        self.single("PutItem", {"Item": item_to_wire(item)}, item, item, is_sound=sound)

    def update(self) -> None:
        members, key, item, sound = self.update_of()
        self.single("UpdateItem", members, key, item, is_sound=sound)

    def delete(self) -> None:
        key = self.key_item()
        self.single("DeleteItem", {"Key": item_to_wire(key)}, key, None)

    def batch(self) -> None:
        requests: list[Any] = []
        changes: dict[Any, Item | None] = {}
        sound = True
        for _ in range(5):
            item = self.item()
            key = self.table.key_of(item)
            if key in changes:
                continue
            if self.chance.random() < 0.3:
                wire = item_to_wire({name: item[name] for name in self.table.key_names})
                requests.append({"DeleteRequest": {"Key": wire}})
                changes[key] = None
            else:
                requests.append({"PutRequest": {"Item": item_to_wire(item)}})
                changes[key] = item
                sound = sound and self.table.is_sound(item, set(ATTRIBUTES))
        self.many("BatchWriteItem", {"RequestItems": {NAME: requests}}, changes, sound)

    def transact(self) -> None:
        actions: list[Any] = []
        changes: dict[Any, Item | None] = {}
        sound = True
        for _ in range(4):
            members, key, item, is_sound = self.update_of()
            place = self.table.key_of(key)
            if place in changes:
                continue
            kind = self.chance.choice(("Update", "Put", "Delete"))
            if kind == "Update":
                changes[place] = item
                sound = sound and is_sound
            elif kind == "Put":
                changes[place] = put = self.item() | key
                members = {"Item": item_to_wire(put)}
                sound = sound and self.table.is_sound(put, set(ATTRIBUTES))
            else:
                changes[place] = None
                members = {"Key": members["Key"]}
            actions.append({kind: {"TableName": NAME} | members})
        self.many("TransactWriteItems", {"TransactItems": actions}, changes, sound)

    def many(self, name: str, members: dict[str, Any], changes: dict[Any, Item | None], sound: bool) -> None:
        reply = self.written(name, members, sound)
        if reply is not None:
            units: Counter[str] = Counter()
            for key, item in changes.items():
                units.update(self.table.put(key, item))
            assert arms(reply["ConsumedCapacity"][0]) == units

    def restart(self) -> None:
        self.world.restart()

    def kill(self) -> None:
        self.world.kill()

    # --- reads ----------------------------------------------------------------------------------

    def drain(self) -> None:
        self.world.clock.advance(max(DELAYS_SECONDS))
        assert self.world.apply() is None

    def some_index(self) -> Index:
        index = self.chance.choice(self.table.indexes)
        if index.is_global:
            self.drain()
        return index

    def query(self) -> None:
        index = self.some_index()
        entries = self.table.entries(index)
        example = self.chance.choice(entries)[0] if entries else {}
        names: dict[str, str] = {}
        values: dict[str, Any] = {}

        def operand(name: str, value: Native) -> str:
            names[f"#{name}"] = name
            values[f":v{len(values)}"] = to_wire(value)
            return f":v{len(values) - 1}"

        terms: list[str] = []
        count = self.chance.randint(0, len(index.range_names))
        for name in index.hash_names + index.range_names[:count]:
            held = example.get(name, self.value(self.table.types[name]))
            if name in index.range_names[count - 1 : count]:
                text, entries = self.range_term(name, held, entries, operand)
                terms.append(text)
                continue
            terms.append(f"#{name} = {operand(name, held)}")
            entries = [pair for pair in entries if pair[0][name] == held]
        self.chance.shuffle(terms)
        members = {
            "IndexName": index.name,
            "KeyConditionExpression": " AND ".join(terms),
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
        }
        self.read("Query", index, members, entries)

    def range_term(self, name: str, held: Native, entries: list[Any], operand: Any) -> tuple[str, list[Any]]:
        """A condition on a range key, and the entries that meet it."""
        low = order(held)
        operator = self.chance.choice(("=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"))
        if operator == "BETWEEN":
            ends = sorted((held, self.value(held[0])), key=order)
            text = f"#{name} BETWEEN {operand(name, ends[0])} AND {operand(name, ends[1])}"
            return text, [pair for pair in entries if order(ends[0]) <= order(pair[0][name]) <= order(ends[1])]
        if operator == "begins_with" and held[0] != "N":
            left = [pair for pair in entries if order(pair[0][name]).startswith(low)]
            return f"begins_with(#{name}, {operand(name, held)})", left
        operator = "=" if operator == "begins_with" else operator
        tests: dict[str, Any] = {
            "=": lambda value: value == low, "<": lambda value: value < low, "<=": lambda value: value <= low,
            ">": lambda value: value > low, ">=": lambda value: value >= low,
        }  # fmt: skip
        return (
            f"#{name} {operator} {operand(name, held)}",
            [pair for pair in entries if tests[operator](order(pair[0][name]))],
        )

    def scan(self) -> None:
        index = self.some_index()
        self.read("Scan", index, {"IndexName": index.name}, self.table.entries(index))
        total = self.chance.choice((2, 7))
        counts = [
            self.ask("Scan", IndexName=index.name, Segment=segment, TotalSegments=total)["Count"]
            for segment in range(total)
        ]
        assert sum(counts) == len(self.table.entries(index))

    def read(self, name: str, index: Index, members: dict[str, Any], entries: list[tuple[Item, Item]]) -> None:
        """Read everything at once, then in another way; compare both with the model."""
        members = members | {"ConsistentRead": not index.is_global}
        reply = self.ask(name, **members)
        found = [item_from_wire(item) for item in reply["Items"]]
        self.found += len(found)
        assert sorted(map(repr, map(sorted_item, found))) == sorted(repr(sorted_item(entry)) for entry, _ in entries)
        if name == "Query":
            assert [index.place(entry) for entry in found] == sorted(index.place(entry) for entry, _ in entries)
        by_key = {self.table.key_of(item): item for _, item in entries}
        pairs = [(entry, by_key[self.table.key_of(entry)]) for entry in found]
        if name == "Query" and self.chance.random() < 0.5:
            members["ScanIndexForward"] = False
            pairs.reverse()
        self.read_in_part(name, index, members, pairs)

    def read_in_part(self, name: str, index: Index, members: dict[str, Any], pairs: list[tuple[Item, Item]]) -> None:
        """Read page by page with a limit, a filter or a projection."""
        limit = self.chance.choice((None, 1, 2, 3))
        carried = index.projected or frozenset((*self.table.key_names, *ATTRIBUTES, *PLAIN))
        is_filtered = self.chance.random() < 0.4
        chosen: set[str] | None = None
        select = self.chance.choice((None, None, "COUNT", "ALL_PROJECTED_ATTRIBUTES", "ALL_ATTRIBUTES", "projection"))
        if is_filtered:
            members["FilterExpression"] = "attribute_exists(note)"
        if select == "projection":
            chosen = set(self.chance.sample((*self.table.key_names, *ATTRIBUTES, *PLAIN), 3))
            members["ProjectionExpression"] = ", ".join(sorted(chosen))
        elif select is not None:
            members["Select"] = select
        lacking = (chosen or set()) - carried
        wants_all = select == "ALL_ATTRIBUTES" and index.projected is not None
        if limit is not None:
            members["Limit"] = limit
        if index.is_global and (lacking or wants_all):
            with pytest.raises(ApiError):
                self.ask(name, **members)
            return
        fetches = not index.is_global and (wants_all or bool(lacking) or (is_filtered and "note" not in carried))
        place = 0
        while True:
            part = pairs[place:] if limit is None else pairs[place : place + limit]
            reply = self.ask(name, ReturnConsumedCapacity="INDEXES", **members)
            passed = [pair for pair in part if not is_filtered or "note" in pair[not index.is_global]]
            assert (reply["Count"], reply["ScannedCount"]) == (len(passed), len(part))
            expected = [self.returned(pair, chosen, wants_all) for pair in passed]
            assert select == "COUNT" or [item_from_wire(item) for item in reply["Items"]] == expected
            self.check_units(index, reply["ConsumedCapacity"], part, fetches)
            assert ("LastEvaluatedKey" in reply) == (limit is not None and len(part) == limit)
            if limit is None or len(part) < limit:
                return
            names = {*self.table.key_names, *index.hash_names, *index.range_names}
            assert item_from_wire(reply["LastEvaluatedKey"]) == {one: part[-1][0][one] for one in names}
            members["ExclusiveStartKey"] = reply["LastEvaluatedKey"]
            place += limit

    @staticmethod
    def returned(pair: tuple[Item, Item], chosen: set[str] | None, wants_all: bool) -> Item:
        entry, item = pair
        if chosen is not None:
            return {name: value for name, value in item.items() if name in chosen}
        return item if wants_all else entry

    @staticmethod
    def check_units(index: Index, consumed: Any, part: list[tuple[Item, Item]], fetches: bool) -> None:
        """Check capacity: entries are rounded up together, fetched items one by one; consistent reads cost double."""
        unit = 0.5 if index.is_global else 1.0
        entry_units = max(1, -(-sum(item_bytes(entry) for entry, _ in part) // 4096)) * unit
        fetched_units = sum(-(-item_bytes(item) // 4096) * unit for _, item in part) if fetches else 0
        assert arms(consumed) == {index.name: entry_units}
        assert consumed["Table"]["CapacityUnits"] == fetched_units

    def describe(self) -> None:
        self.drain()
        described_table = self.ask("DescribeTable")["Table"]
        found = described_table.get("GlobalSecondaryIndexes", []) + described_table.get("LocalSecondaryIndexes", [])
        for one in found:
            (index,) = (index for index in self.table.indexes if index.name == one["IndexName"])
            sizes = [item_bytes(entry) for entry, _ in self.table.entries(index)]
            assert (one["ItemCount"], one["IndexSizeBytes"]) == (len(sizes), sum(sizes))
        assert described_table["ItemCount"] == len(self.table.items)
        assert described_table["TableSizeBytes"] == sum(map(item_bytes, self.table.items.values()))


def schema(hash_names: tuple[str, ...], range_names: tuple[str, ...]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": "HASH"} for name in hash_names] + [
        {"AttributeName": name, "KeyType": "RANGE"} for name in range_names
    ]


def described(index: Index, table: Table) -> dict[str, Any]:
    """The index as CreateTable takes it."""
    keys = {*table.key_names, *index.hash_names, *index.range_names}
    projection: dict[str, Any] = {"ProjectionType": "ALL"}
    if index.projected is not None:
        extra = sorted(index.projected - keys)
        projection = (
            {"ProjectionType": "INCLUDE", "NonKeyAttributes": extra} if extra else {"ProjectionType": "KEYS_ONLY"}
        )
    return {
        "IndexName": index.name,
        "KeySchema": schema(index.hash_names, index.range_names),
        "Projection": projection,
    }


def arms(consumed: dict[str, Any]) -> dict[str, float]:
    """Capacity of each index."""
    both = consumed.get("GlobalSecondaryIndexes", {}) | consumed.get("LocalSecondaryIndexes", {})
    return {name: arm["CapacityUnits"] for name, arm in both.items()}


def sorted_item(item: Item) -> list[tuple[str, Native]]:
    return sorted(item.items())


@pytest.mark.parametrize("is_suspending", [False, True], ids=["embedded", "suspending"])
@pytest.mark.parametrize("seed", seeds(3, 8))
def test_indexes_hold_what_their_table_says(tmp_path: Path, seed: int, is_suspending: bool) -> None:
    walk = Walk(tmp_path / "data", seed, is_suspending=is_suspending)
    for _ in range(STEPS):
        walk.step()
    walk.describe()
    assert walk.found > 20, "hardly anything was ever found"
    assert walk.world.close() == []
