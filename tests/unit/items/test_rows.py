"""Rows: canonical encoding, decoding, and errors for invalid bytes."""

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from hashrange.errors import StorageCorruption, StorageFormatUnknown, ValidationException
from hashrange.items import canonical, large_json, rows
from hashrange.items.canonical import SORTED_NAMES_MAX, SURELY_QUICK_BYTES, encode_item
from hashrange.items.member_decoders import NAMES_LENGTH_MAX
from hashrange.items.row_layout import (
    PLAIN_VERSION,
    ROW_HEADER_BYTES,
    is_same_item,
    row_json,
    row_json_bytes,
    row_size_bytes,
)
from hashrange.items.rows import EMPTY_PART, decode_attributes, decode_row, encode_row, part_row
from hashrange.items.steps import PIECE_BYTES
from hashrange.items.types import Item, Row
from hashrange.items.values import check_item
from hashrange.limits import ITEM_SIZE_MAX_BYTES, ROW_MAX_BYTES
from tests.unit.items.wire_values import SETTINGS, items


def reversed_order(value: Any) -> Any:
    """The same value with the members of every map in reverse order."""
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


@given(items)
@settings(max_examples=60, **SETTINGS)
def test_the_length_of_an_items_json_is_known_without_it_and_no_item_is_larger(item: dict[str, Any]) -> None:
    row = encode_row(*check_item(item))
    assert row_json_bytes(row) == len(row_json(row)) >= row_size_bytes(row)


@given(items)
@settings(max_examples=30, **SETTINGS)
def test_part_of_an_item_is_a_row_for_replies(item: dict[str, Any]) -> None:
    part = part_row(item)
    assert row_json(part) == msgspec.json.encode(item)
    assert decode_row(part) == item
    assert row_size_bytes(part) == 0
    assert (part == EMPTY_PART) == (not item)
    assert part_row({}) == EMPTY_PART


def test_the_format() -> None:
    row = encode_row({"b": {"M": {"d": {"S": "é"}, "c": {"NULL": True}}}, "a": {"SS": ["1", "2"]}}, 0x010203)
    assert row == b'\x01\x00\x01\x02\x03{"a":{"SS":["1","2"]},"b":{"M":{"c":{"NULL":true},"d":{"S":"\xc3\xa9"}}}}'


@pytest.mark.parametrize("row", [b"{}{}{}", *[b"%c\0\0\0\x02{}" % version for version in (0, 2, 4, 6, 8, 10, 11)]])
def test_other_versions_are_not_guessed_at(row: bytes) -> None:
    with pytest.raises(StorageFormatUnknown, match="version"):
        decode_row(Row(row))


@pytest.mark.parametrize("row", [b"", b"\x02", b"\x03", b"\x03\x00\x00\x00\x02{\xff", b"\x01", b"\x01\x00\x00\x00\x02",
                                 b"\x01\x00\x00\x00\x02{", b"\x01\x00\x00\x00\x02[]",
                                 b'\x01\x00\x00\x00\x02{"a":1}',
                                 b'\x01\x00\x00\x00\x02{"a":{"S":"\xff"}}'])  # fmt: skip
def test_damage_is_told(row: bytes) -> None:
    with pytest.raises(StorageCorruption):
        decode_row(Row(row))


def test_a_large_item_is_sorted_as_a_small_one_is() -> None:
    names = ["pk", "sk", *[f"é{number:05d}" for number in range(300)], "\U0001f600", "￿", "Z", "a"]
    nested: Item = {name: {"N": "1"} for name in reversed(names)}
    item: Item = {name: {"M": nested} for name in ("b", "a")} | {"l": {"L": [{"M": nested}, {"S": "x" * 9000}]}}
    large, small = encode_row(item, 20_000), encode_row(item, 1)
    assert large[5:] == small[5:]


NAMES = [f"n{number:05d}" for number in range(SORTED_NAMES_MAX + 1)]
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
    """The library's sorting of a map's names takes quadratic time for some orders."""
    expected = msgspec.json.encode(item, order="sorted")
    encode = canonical._encode_sorting

    def encode_short(value: Any) -> bytes:
        assert longest_map(value) <= SORTED_NAMES_MAX
        return encode(value)

    monkeypatch.setattr(canonical, "_encode_sorting", encode_short)
    assert encode_item(item, SURELY_QUICK_BYTES + 1) == expected
    assert canonical.encode_canonically([item, "x", None, 1]) == b"[" + expected + b',"x",null,1]'


def longest_map(value: Any) -> int:
    """The number of members of the longest map in the value."""
    if not isinstance(value, dict | list | tuple):
        return 0
    inner = max((longest_map(member) for member in (value.values() if isinstance(value, dict) else value)), default=0)
    return max(inner, len(value)) if isinstance(value, dict) else inner


def tricky_value(draw: Random, depth: int) -> Any:
    """A random value with texts that look like cut positions, and nested containers, long and short."""
    kind = draw.random()
    if depth > 4 or kind < 0.5:
        text = draw.choice(["},{", '},"a":{', '\\"},{"', "]},", "x" * draw.randrange(300), "é"])
        return draw.choice(
            [{"S": text}, {"N": "1"}, {"NULL": True}, {"BOOL": False}, {"SS": ["a", text]}, {"L": []}, {"M": {}}]
        )
    count = draw.randrange(80 if depth < 2 else 6)
    if kind < 0.75:
        return {"L": [tricky_value(draw, depth + 1) for _ in range(count)]}
    names = [draw.choice(['},"', "a", '"', "é"]) + str(number) for number in range(count)]
    return {"M": {name: tricky_value(draw, depth + 1) for name in names}}


def many(value: Any, count: int) -> Any:
    return {"L": [value] * count}


LARGE_VALUES = [
    many({"S": ""}, 100_000),
    many({"S": "},{"}, 20_000),
    many({"M": {"b": {"N": "2"}, "a": {"S": "},{"}}}, 10_000),
    many(many({"N": "1"}, 3), 10_000),
    many(many({"N": "1"}, 20_000), 3),
    {"M": {f"n{number}": {"S": '},"'} for number in reversed(range(20_000))}},
    {"M": {f"n{number}": many({"NULL": True}, 5_000) for number in range(6)}},
    {"NS": [str(number) for number in range(60_000)]},
    {"S": "},{" * 50_000},
]


@pytest.mark.parametrize("value", LARGE_VALUES)
@pytest.mark.parametrize("others", [{"pk": {"S": "a"}}, {"a": {"S": "y"}, "zz": {"S": "z" * 70_000}}])
def test_large_items_are_written_and_read_as_small_ones_are(value: Any, others: Item) -> None:
    item: Item = {"l": value} | others
    row = encode_row(item, 300_000)
    assert row_json(row) == msgspec.json.encode(item, order="sorted")
    assert decode_row(row) == item


@pytest.mark.parametrize("seed", range(8))
def test_tricky_items_come_back(seed: int) -> None:
    draw = Random(seed)
    item: Item = {f"{number}" + "},": tricky_value(draw, 0) for number in range(12)}
    row = encode_row(item, SURELY_QUICK_BYTES + 1)
    assert row_json(row) == msgspec.json.encode(item, order="sorted")
    assert decode_row(row) == item


@pytest.mark.parametrize("seed", range(30))
def test_damage_of_large_rows_is_told_or_reads_as_the_library_reads_it(seed: int) -> None:
    draw = Random(seed)
    row = bytearray(encode_row({"pk": {"S": "a"}, "l": many({"M": {"a": {"N": "1"}}}, 5_000)}, 300_000))
    for _ in range(3):
        row[draw.randrange(ROW_HEADER_BYTES, len(row))] = draw.choice(b'{}[],:"\\ LM1')
    try:
        expected = msgspec.json.decode(row[ROW_HEADER_BYTES:], type=Item)
    except msgspec.MsgspecError:
        with pytest.raises(StorageCorruption):
            decode_row(Row(bytes(row)))
    else:
        assert decode_row(Row(bytes(row))) == expected


def test_large_items_give_way_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """No single call of the JSON library reads or writes more than about 64 KB, whatever the item contains."""
    lengths = []

    def spied(function: Callable[[Any], Any], measured: Callable[[Any, Any], int]) -> Callable[[Any], Any]:
        def call(argument: Any) -> Any:
            result = function(argument)
            lengths.append(measured(argument, result))
            return result

        return call

    for name in ("_decode_attributes", "_decode_elements", "_decode_value"):
        monkeypatch.setattr(large_json, name, spied(getattr(large_json, name), lambda text, _: len(text)))
    for name in ("_encode", "_encode_sorting"):
        monkeypatch.setattr(canonical, name, spied(getattr(canonical, name), lambda _, text: len(text)))
    for value in LARGE_VALUES[:-2]:
        item: Item = {"pk": {"S": "a"}, "l": value}
        assert decode_row(encode_row(item, 300_000)) == item
    assert len(lengths) > 100
    assert max(lengths) <= 2 * PIECE_BYTES + 2


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
    """A number such as 1E-130 counts 3 bytes of item size, but is stored with 131 digits."""
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


def test_rows_of_the_same_item() -> None:
    one, other = encode_row({"a": {"S": "x"}}, 2), encode_row({"a": {"S": "y"}}, 2)
    with_set = encode_row({"a": {"NS": ["1"]}}, 3)
    older = Row(bytes((PLAIN_VERSION,)) + with_set[1:])
    same = [(None, None), (one, one), (older, with_set), (with_set, older)]
    assert all(is_same_item(*pair) for pair in same)
    different = [(None, one), (older, None), (one, other), (with_set, one), (one, older)]
    assert not any(is_same_item(*pair) for pair in different)


def test_long_names_of_a_large_item_are_not_kept() -> None:
    """256 requests with 200 names of 65,000 characters each left 3 GB behind, and each row looked at all of them."""
    row = encode_row({"a": {"S": "x" * 10_000}, "b": {"N": "1"}}, 10_010)
    before = len(rows._parts)
    for number in range(10):
        names = ("b", *(f"{number}{place}".rjust(NAMES_LENGTH_MAX, "n") for place in range(3)))
        assert decode_attributes(row, names) == {"b": {"N": "1"}}
    assert len(rows._parts) == before
