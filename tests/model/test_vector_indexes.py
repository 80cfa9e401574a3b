"""Random items with vectors in a table whose vector indexes come and go, with all kinds of writes, kills and restarts,
against a simple model: which items are in an index, what their entries hold, what writes are charged for, and what
searches in memory find.
"""

import random
import struct
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hashrange.errors import ApiError
from hashrange.items.rows import decode_row
from hashrange.items.types import Row
from hashrange.store.embedded import part_loading, saved_parts, stored_part, vector_parts, vector_search
from hashrange.store.embedded.vector_parts import VectorParts
from hashrange.tables.source_id import key_in_source, make_source_id
from tests.conformance.vectors import charged
from tests.support.seeds import seeds
from tests.unit.jobs.world import World

STEPS = 200
ROUNDS_MAX = 10
NAME = "near"
DIMENSIONS = 3
TEXTS = ("x", "y", "long" * 300)
NUMBERS = ("0", "1", "-0.1", "16777217", "3.4028235e38", "1e-130")
BAD_VECTORS: list[Any] = [{"S": "text"}, {"L": []}, {"L": [{"N": "1"}] * 4}, {"L": [{"N": "1e39"}] * 3}]
Item = dict[str, dict[str, Any]]


class VectorIndex:
    """A vector index as dictionaries."""

    def __init__(self, chance: random.Random, name: str) -> None:
        self.name = name
        self.has_hash, self.has_filter = chance.random() < 0.5, chance.random() < 0.5
        self.kind = chance.choice(["ALL", "KEYS_ONLY", "INCLUDE"])

    @property
    def members(self) -> dict[str, Any]:
        """Members of the request that creates the index."""
        schema = [{"AttributeName": "tenant", "SearchSchemaElementType": "HASH"}] * self.has_hash
        schema += [{"AttributeName": "rank", "SearchSchemaElementType": "INLINE_FILTER"}] * self.has_filter
        projection: dict[str, Any] = {"ProjectionType": self.kind}
        if self.kind == "INCLUDE":
            projection["NonKeyAttributes"] = ["note"]
        created: dict[str, Any] = {
            "IndexName": self.name,
            "VectorAttribute": {"AttributeName": "v"},
            "Dimensions": DIMENSIONS,
            "DistanceFunction": "COSINE",
            "Projection": projection,
        }
        if schema:
            created["SearchSchema"] = schema
        definitions = [{"AttributeName": "tenant", "AttributeType": "S"}] * self.has_hash
        definitions += [{"AttributeName": "rank", "AttributeType": "N"}] * self.has_filter
        return {"VectorIndexUpdates": [{"Create": created}], "AttributeDefinitions": definitions}

    def refuses(self, item: Item) -> bool:
        """True if the index keeps an item with these attributes from being written."""
        tenant, rank = item.get("tenant"), item.get("rank")
        return (
            ("v" in item and packed(item["v"]) is None)
            or (self.has_hash and tenant is not None and not tenant.get("S"))
            or (self.has_filter and rank is not None and "N" not in rank)
        )

    def entry(self, item: Item | None) -> Item | None:
        """The entry of an item, with the vector as bytes."""
        if item is None or "v" not in item or self.refuses(item) or (self.has_hash and "tenant" not in item):
            return None
        also = {"tenant": self.has_hash, "rank": self.has_filter, "note": self.kind == "INCLUDE"}
        kept = {"id", "v", *[name for name, is_kept in also.items() if is_kept]}
        entry = {name: value for name, value in item.items() if self.kind == "ALL" or name in kept}
        return entry | {"v": {"B": packed(item["v"])}}

    def bytes_of(self, old: Item | None, new: Item | None) -> float:
        """The bytes that a write is charged for."""
        before, after = self.entry(old), self.entry(new)
        if before == after:
            return 0
        sizes = [0 if one is None else max(1024, size_bytes(one)) for one in (before, after)]
        is_moved = before is not None and after is not None and self.has_hash and before["tenant"] != after["tenant"]
        return sum(sizes) if is_moved else max(sizes)


def packed(value: dict[str, Any]) -> str | None:
    """The vector as an entry holds it; None if it is no valid vector."""
    elements = value.get("L", [])
    if len(elements) != DIMENSIONS or any("N" not in one for one in elements):
        return None
    try:
        return b64encode(struct.pack("<3f", *[float(one["N"]) for one in elements])).decode()
    except OverflowError:
        return None


def size_bytes(entry: Item) -> int:
    """The size of an entry whose numbers have one digit."""
    sizes: dict[str, Callable[[Any], int]] = {
        "S": len,
        "N": lambda text: 1 if text == "0" else 2,
        "B": lambda _: 4 * DIMENSIONS,
    }
    return sum(len(name) + sizes[kind](content) for name, value in entry.items() for kind, content in value.items())


class VectorWalk:
    """A world with a table of its own, and the model of it."""

    def __init__(self, data_dir: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        index_delay = (lambda: self.chance.choice((0.0, 2.0))) if seed % 3 == 0 else None
        self.world = World(data_dir, is_suspending=bool(seed % 2), index_delay=index_delay)
        self.items: dict[str, Item] = {}
        self.indexes: dict[str, VectorIndex] = {}
        self.made = self.refused = self.entries_seen = self.searched = self.loaded = self.saved = 0
        self.world.request(
            "CreateTable",
            TableName=NAME,
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("id", "note")],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by-note",
                    "KeySchema": [{"AttributeName": "note", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )

    @property
    def has_seen_all(self) -> bool:
        """True if each kind of thing has been seen that is looked for."""
        return all((self.refused, self.entries_seen, self.searched, self.loaded, self.saved))

    def ask(self, name: str, **members: Any) -> Any:
        return self.world.request(name, **({"TableName": NAME} | members))

    def step(self) -> None:
        actions = {
            self.put: 30, self.update: 30, self.delete: 10, self.batch: 10, self.transact: 10,
            self.create_index: 4, self.delete_index: 3, self.restart: 4, self.kill: 2, self.compare: 8,
            self.search: 60,
        }  # fmt: skip
        (action,) = self.chance.choices(list(actions), list(actions.values()))
        action()
        self.world.clock.advance(self.chance.choice((0.0, 1.0, 3.0)))
        if self.chance.random() < 0.5:
            self.world.slice()
            self.world.apply()

    # --- random parts ---------------------------------------------------------------------------

    def attribute(self, name: str) -> dict[str, Any]:
        is_bad = self.chance.random() < 0.15
        match name:
            case "v":
                good = {"L": [{"N": self.chance.choice(NUMBERS)} for _ in range(DIMENSIONS)]}
                return self.chance.choice(BAD_VECTORS) if is_bad else good
            case "tenant":
                return self.chance.choice([{"S": ""}, {"N": "1"}]) if is_bad else {"S": self.chance.choice("tu")}
            case "rank":
                return {"S": "x"} if is_bad else {"N": self.chance.choice("012")}
            case _:
                return {"S": self.chance.choice(TEXTS)}

    def key(self) -> str:
        return self.chance.choice("abcdefghij")

    def item(self) -> Item:
        names = [name for name in ("v", "tenant", "rank", "note", "more") if self.chance.random() < 0.7]
        return {"id": {"S": self.key()}} | {name: self.attribute(name) for name in names}

    # --- writes ---------------------------------------------------------------------------------

    def written(self, name: str, changes: dict[str, Item | None], checked: list[Item], **members: Any) -> None:
        """Send a write of these items; `checked`: what each gives or changes, which the indexes may refuse."""
        if any(index.refuses(item) for index in self.indexes.values() for item in checked):
            self.refused += 1
            with pytest.raises(ApiError):
                self.ask(name, **members)
            return
        reply = self.ask(name, ReturnConsumedCapacity="INDEXES", **members)["ConsumedCapacity"]
        (told,) = reply if isinstance(reply, list) else [reply]
        expected: dict[str, float] = {}
        for index in self.indexes.values():
            total = sum(index.bytes_of(self.items.get(key), item) for key, item in changes.items())
            if total:
                expected[index.name] = total
        assert charged(told) == expected
        for key, item in changes.items():
            self.items.pop(key, None)
            if item is not None:
                self.items[key] = item

    def put(self) -> None:
        item = self.item()
        self.written("PutItem", {item["id"]["S"]: item}, [item], Item=item)

    def update_of(self) -> tuple[str, Item, Item, dict[str, Any]]:
        """Key, new item, what the update gives, and the members of an update of one attribute."""
        key, name = self.key(), self.chance.choice(("v", "tenant", "rank", "note", "more"))
        value = self.attribute(name)
        item = self.items.get(key, {"id": {"S": key}}) | {name: value}
        members = {"ExpressionAttributeNames": {"#n": name}, "ExpressionAttributeValues": {":v": value}}
        return key, item, {name: value}, members | {"Key": {"id": {"S": key}}, "UpdateExpression": "SET #n = :v"}

    def update(self) -> None:
        key, item, given, members = self.update_of()
        self.written("UpdateItem", {key: item}, [given], **members)

    def delete(self) -> None:
        key = self.key()
        self.written("DeleteItem", {key: None}, [], Key={"id": {"S": key}})

    def batch(self) -> None:
        items = {item["id"]["S"]: item for item in (self.item() for _ in range(4))}
        requests = {NAME: [{"PutRequest": {"Item": item}} for item in items.values()]}
        self.written("BatchWriteItem", dict(items), list(items.values()), TableName=None, RequestItems=requests)

    def transact(self) -> None:
        changes: dict[str, Item | None] = {}
        checked, actions = [], []
        for _ in range(3):
            key, item, given, members = self.update_of()
            if key not in changes:
                changes[key] = item
                checked.append(given)
                actions.append({"Update": {"TableName": NAME} | members})
        self.written("TransactWriteItems", changes, checked, TableName=None, TransactItems=actions)

    # --- searches -------------------------------------------------------------------------------

    def search(self) -> None:
        """Search an index, in memory; all pages give the same. Some searches change the table where they give way."""
        if not self.indexes:
            return
        index = self.chance.choice(list(self.indexes.values()))
        conditions, values = [], {}
        if index.has_hash:
            values[":t"] = {"S": self.chance.choice("tu")}
            conditions.append("tenant = :t")
        if index.has_filter and self.chance.random() < 0.5:
            values[":r"] = {"N": self.chance.choice("012")}
            conditions.append("#r = :r")
        members: dict[str, Any] = {"IndexName": index.name, "TopK": self.chance.choice((1, 3, 100))}
        members["SearchVector"] = [{"N": self.chance.choice(NUMBERS)} for _ in range(DIMENSIONS)]
        if conditions:
            members |= {"SearchConditionExpression": " AND ".join(conditions), "ExpressionAttributeValues": values}
        if ":r" in values:
            members["ExpressionAttributeNames"] = {"#r": "rank"}
        parts = self.world.embedded.site.vector_parts
        parts.limit_bytes = self.chance.choice((10**9, 10**9, 3_000))
        try:
            found = self.ask("SearchVectors", ReturnConsumedCapacity="TOTAL", **members)
        except ApiError as error:
            assert "backfilling" in str(error) or "does not have the specified index" in str(error)
            return
        self.searched += len(found["SearchResults"])
        self.loaded += len(parts)
        searches = self.world.embedded.vector_searches
        searches.may_load = False
        with suspended_parts(parts):
            assert self.ask("SearchVectors", ReturnConsumedCapacity="TOTAL", **members) == found
        searches.may_load = True
        matching = [
            entry
            for item in self.items.values()
            if (entry := index.entry(item)) is not None
            and values.get(":t", entry.get("tenant")) == entry.get("tenant")
            and (":r" not in values or entry.get("rank") == values[":r"])
        ]
        assert len(found["SearchResults"]) == min(members["TopK"], len(matching))

    # --- indexes, restarts and what is there ------------------------------------------------------

    def settle(self) -> None:
        """Let the creation of an index end."""
        self.world.clock.advance(20.0)
        self.world.finish()

    def create_index(self) -> None:
        if len(self.indexes) == 3:
            return
        self.settle()
        self.made += 1
        index = VectorIndex(self.chance, f"index{self.made}")
        self.ask("UpdateTable", **index.members)
        self.indexes[index.name] = index
        self.settle()

    def delete_index(self) -> None:
        if self.indexes:
            self.settle()
            name = self.chance.choice(list(self.indexes))
            del self.indexes[name]
            self.ask("UpdateTable", VectorIndexUpdates=[{"Delete": {"IndexName": name}}])

    def restart(self) -> None:
        for _ in range(3):
            self.search()
        self.world.restart()
        self.saved += len(self.world.embedded.site.vector_parts.saved)

    def kill(self) -> None:
        self.world.kill()

    def compare(self) -> None:
        described = self.ask("DescribeTable")["Table"].get("VectorIndexes", [])
        shown = {one["IndexName"]: (one["ItemCount"], one["IndexSizeBytes"]) for one in described}
        entries = {
            name: [entry for item in self.items.values() if (entry := index.entry(item)) is not None]
            for name, index in self.indexes.items()
        }
        assert shown == {name: (len(held), sum(map(size_bytes, held))) for name, held in entries.items()}
        table = self.world.store.catalog.find(self.world.scope.account, self.world.scope.region, NAME)
        assert table is not None
        for index in table.schema.vector_indexes:
            source_id = make_source_id(table.table_id, index.index_id)
            found = []
            for engine_key, row in self.world.embedded.engine.items(from_key=source_id):
                if not engine_key.startswith(source_id):
                    break
                entry = decode_row(Row(row))
                found.append(entry)
                item_key = table.item_key(entry)
                assert key_in_source(engine_key).endswith(item_key)
                assert self.indexes[index.name].has_hash is (len(key_in_source(engine_key)) > len(item_key))
            assert sorted(map(repr, map(sorted_entry, found))) == sorted(
                map(repr, map(sorted_entry, entries[index.name]))
            )
            self.entries_seen += len(found)


@contextmanager
def suspended_parts(parts: VectorParts) -> Iterator[None]:
    """Meanwhile no search finds a part, and parts are followed as always."""
    find, parts.find = parts.find, lambda prefix: None  # type: ignore[method-assign]
    yield
    parts.find = find  # type: ignore[method-assign]


def sorted_entry(entry: Item) -> Any:
    return sorted(entry.items())


@pytest.mark.parametrize("seed", seeds(4, 200))
def test_random_histories(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_search, "LOADED_ENTRIES_MIN", 1)
    monkeypatch.setattr(stored_part, "SLICE_ROWS", 2)
    monkeypatch.setattr(part_loading, "SLICE_ROWS", 1)
    monkeypatch.setattr(vector_parts, "SAVED_ENTRIES_MIN", 1)
    monkeypatch.setattr(saved_parts, "SPARE_DISK_BYTES", 0)
    walk = VectorWalk(tmp_path / "data", seed)
    for _ in range(ROUNDS_MAX):
        for _ in range(STEPS):
            walk.step()
        walk.settle()
        walk.compare()
        if walk.has_seen_all:
            break
    assert walk.has_seen_all
    assert walk.world.close() == []
