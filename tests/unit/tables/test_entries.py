"""Index entries: only the projected attributes of a stored item are decoded, with the same result as decoding all."""

import random
from typing import Any, Literal

import pytest

from hashrange.items.rows import decode_attributes, encode_row
from hashrange.items.sizes import item_size_bytes
from hashrange.items.types import Item, Key, Row
from hashrange.tables.entries import derive_entry, derive_stored_entry
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Index, IndexProjection, KeySchema, Table

KEYS = KeySchema(("pk",), ("S",), ("sk",), ("N",))
INDEX_KEYS = KeySchema(("g", 'na"me'), ("S", "S"), ("h",), ("N",))


def opened(kind: Literal["ALL", "KEYS_ONLY", "INCLUDE"]) -> OpenTable:
    names = ("x", "\u00e9") if kind == "INCLUDE" else ()
    index = Index(1, "by-g", True, INDEX_KEYS, IndexProjection(kind, names))
    types: Any = {"pk": "S", "sk": "N", "g": "S", 'na"me': "S", "h": "N"}
    return OpenTable(Table(1, "uuid", "000000000000", "us-east-1", "t", KEYS, types, 0.0, 0.0, indexes=(index,)))


def row_of(item: Item) -> Row:
    return encode_row(item, item_size_bytes(item))


@pytest.mark.parametrize("kind", ["ALL", "KEYS_ONLY", "INCLUDE"])
def test_a_stored_items_entry_is_the_same(kind: Literal["ALL", "KEYS_ONLY", "INCLUDE"]) -> None:
    table = opened(kind)
    (source,) = table.indexes
    chance = random.Random(1)
    found = 0
    for number in range(300):
        item: Item = {"pk": {"S": str(number)}, "sk": {"N": str(number)}}
        for name, value in (("g", {"S": "a"}), ('na"me', {"S": "b"}), ("h", chance.choice([{"N": "1"}, {"S": "x"}]))):
            if chance.random() < 0.9:
                item[name] = value
        item |= {"x": {"L": [{"NULL": True}] * chance.choice([1, 5_000])}} if chance.random() < 0.5 else {}
        item |= {"\u00e9": {"S": "\u00e9"}} if chance.random() < 0.5 else {}
        key, row = table.item_key(item), row_of(item)
        expected = derive_entry(source, key, item, row)
        assert derive_stored_entry(source, key, row) == expected
        found += expected is not None
    assert 50 < found < 300


@pytest.mark.parametrize("kind", ["ALL", "KEYS_ONLY", "INCLUDE"])
def test_an_entry_holds_the_attributes_that_the_index_projects(kind: Literal["ALL", "KEYS_ONLY", "INCLUDE"]) -> None:
    """Whether the item has more attributes than the projection, or fewer."""
    (source,) = opened(kind).indexes
    key_names = {"pk", "sk", *INDEX_KEYS.names}
    chance = random.Random(2)
    for number in range(300):
        item: Item = {"pk": {"S": str(number)}, "sk": {"N": str(number)}, "g": {"S": "a"}, 'na"me': {"S": "b"}}
        item["h"] = {"N": "1"}
        others = ["x", "\u00e9", *(f"a{other}" for other in range(chance.choice([0, 3, 40])))]
        item |= {name: {"NS": ["1", "10"]} for name in others if chance.random() < 0.6}
        shuffled = dict(chance.sample(sorted(item.items()), len(item)))
        kept = {
            name: value
            for name, value in shuffled.items()
            if kind == "ALL" or name in key_names or (kind == "INCLUDE" and name in {"x", "\u00e9"})
        }
        entry = derive_entry(source, Key(b"key"), shuffled, row_of(shuffled))
        assert entry is not None
        assert entry.row == row_of(kept)


def test_of_an_index_with_all_only_the_keys_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoding a list of 199,000 nulls would take 60 ms."""
    asked: list[tuple[str, ...]] = []

    def note(row: Row, names: tuple[str, ...]) -> Item:
        asked.append(names)
        return decode_attributes(row, names)

    monkeypatch.setattr("hashrange.tables.entries.decode_attributes", note)
    table = opened("ALL")
    item: Item = {"pk": {"S": "a"}, "sk": {"N": "1"}, "d": {"L": [{"NULL": True}] * 9}}
    assert derive_stored_entry(table.indexes[0], table.item_key(item), row_of(item)) is None
    assert asked == [("g", 'na"me', "h")]
