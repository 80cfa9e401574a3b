"""Rows: canonical bytes, there and back, and what is said about bytes that are none."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from hashrange.errors import StorageCorruption, StorageFormatUnknown, ValidationException
from hashrange.items import canonical
from hashrange.items.canonical import LONG_MAP_NAMES, SURELY_QUICK_BYTES, encode_item
from hashrange.items.rows import ROW_HEADER_BYTES, decode_attributes, decode_row, encode_row, row_json, row_size_bytes
from hashrange.items.types import Item, Row
from hashrange.items.values import check_item
from hashrange.limits import ITEM_SIZE_MAX_BYTES, ROW_MAX_BYTES
from tests.unit.items.wire_values import SETTINGS, items


def reversed_order(value: Any) -> Any:
    """The same with the members of every map in the opposite order."""
    if isinstance(value, dict):
        return {name: reversed_order(value[name]) for name in reversed(value)}
    return [reversed_order(element) for element in value] if isinstance(value, list) else value


@given(items)
@settings(max_examples=60, **SETTINGS)
def test_items_come_back_and_equal_items_have_equal_rows(item: dict[str, Any]) -> None:
    canonical, size_bytes = check_item(item)
    row = encode_row(canonical, size_bytes)
    assert decode_row(row) == canonical
    assert row_size_bytes(row) == size_bytes
    assert msgspec.json.decode(row_json(row)) == canonical
    assert row == row[:ROW_HEADER_BYTES] + row_json(row)
    assert encode_row(reversed_order(canonical), size_bytes) == row


def test_the_format() -> None:
    row = encode_row({"b": {"M": {"d": {"S": "é"}, "c": {"NULL": True}}}, "a": {"NS": ["1", "2"]}}, 0x010203)
    assert row == b'\x01\x00\x01\x02\x03{"a":{"NS":["1","2"]},"b":{"M":{"c":{"NULL":true},"d":{"S":"\xc3\xa9"}}}}'


@pytest.mark.parametrize("row", [b"\x02\x00\x00\x00\x02{}", b"\x00\x00\x00\x00\x02{}", b"{}{}{}"])
def test_other_versions_are_not_guessed_at(row: bytes) -> None:
    with pytest.raises(StorageFormatUnknown, match="version"):
        decode_row(Row(row))


@pytest.mark.parametrize("row", [b"", b"\x02", b"\x01", b"\x01\x00\x00\x00\x02", b"\x01\x00\x00\x00\x02{", b"\x01\x00\x00\x00\x02[]",
                                 b'\x01\x00\x00\x00\x02{"a":1}', b'\x01\x00\x00\x00\x02{"a":{"S":"\xff"}}'])  # fmt: skip
def test_damage_is_told(row: bytes) -> None:
    with pytest.raises(StorageCorruption):
        decode_row(Row(row))


def test_a_large_item_is_sorted_as_a_small_one_is() -> None:
    names = ["pk", "sk", *[f"é{number:05d}" for number in range(300)], "\U0001f600", "￿", "Z", "a"]
    nested: Item = {name: {"N": "1"} for name in reversed(names)}
    item: Item = {name: {"M": nested} for name in ("b", "a")} | {"l": {"L": [{"M": nested}, {"S": "x" * 9000}]}}
    large, small = encode_row(item, 20_000), encode_row(item, 1)
    assert large[5:] == small[5:]


NAMES = [f"n{number:05d}" for number in range(LONG_MAP_NAMES + 1)]
LONG_MAP: Item = {name: {"N": "1"} for name in ["pk", *NAMES]}


@pytest.mark.parametrize(
    "item",
    [
        LONG_MAP,
        {"a": {"M": LONG_MAP}},
        {"a": {"L": [{"S": "x"}, {"M": {"b": {"L": [{"M": LONG_MAP}]}}}]}},
    ],
)
def test_long_maps_are_not_left_to_the_library(item: Item, monkeypatch: pytest.MonkeyPatch) -> None:
    """In some orders its sorting takes the square of a map's length."""
    expected = msgspec.json.encode(item, order="sorted")
    monkeypatch.setattr(canonical, "_encode_sorting", None)
    assert encode_item(item, SURELY_QUICK_BYTES + 1) == expected
    assert canonical.encode_canonically([item, "x", None, 1]) == b"[" + expected + b',"x",null,1]'


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "a\x00b", "é", "a.b", "__a", "a0", "\u2028", "\x7f", "S"])
@pytest.mark.parametrize("length", [10, 10_000])
def test_some_attributes_of_a_row(name: str, length: int) -> None:
    item: Item = {name: {"S": "x"}, "other": {"L": [{"S": "y" * length}]}, "n": {"N": "1"}}
    row = encode_row(*check_item(item))
    assert decode_attributes(row, (name, "n", "absent")) == {name: {"S": "x"}, "n": {"N": "1"}}
    assert list(decode_attributes(row, ("n", name))) == ["n", name]


def test_damage_is_told_of_parts_too() -> None:
    row = encode_row({"a": {"S": "x" * 10_000}}, 10_001)
    for damaged in (row[:-1], row[:-2] + b"]]", b""):
        with pytest.raises(StorageCorruption):
            decode_attributes(Row(damaged), ("b",))


def test_a_row_has_a_longest_length() -> None:
    """A number like 1E-130 weighs 3 bytes, and is written with 131 digits."""
    numbers = {"L": [{"N": "1E-130"}] * (ROW_MAX_BYTES // 141 - 1)}
    item, size_bytes = check_item({"l": numbers})
    assert size_bytes < ITEM_SIZE_MAX_BYTES
    assert len(encode_row(item, size_bytes)) <= ROW_MAX_BYTES
    item, size_bytes = check_item({"l": {"L": numbers["L"] + [{"N": "1E-130"}] * 2}})
    with pytest.raises(ValidationException, match="Item size has exceeded"):
        encode_row(item, size_bytes)
    with pytest.raises(ValidationException, match="other words"):
        encode_row(item, size_bytes, "other words")
    largest = {"l": {"L": [{"S": ""}] * (ITEM_SIZE_MAX_BYTES - 4)}}
    encode_row(*check_item(largest))
