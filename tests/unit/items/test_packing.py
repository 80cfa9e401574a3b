"""Packing of items whose JSON is far longer than their size: packed rows decode to the same item."""

from functools import cache
from random import Random
from typing import Any

import msgspec
import pytest

from hashrange.items import steps
from hashrange.items.packing import PACKED_AT_ONCE_BYTES, SUBSTITUTIONS_OF_FORMAT_7, pack, unpack, unpacked_bytes
from hashrange.items.row_layout import (
    ITEM,
    LAYOUT,
    NUMBER_SETS_VERSION,
    PACKED_NUMBER_SETS_VERSION,
    PACKED_OF_FORMAT_7_VERSION,
    PACKED_VERSION,
    PLAIN_VERSION,
    ROW_HEADER_BYTES,
    STATISTICS,
    is_same_item,
    row_difference,
    row_json,
    row_json_bytes,
    row_json_view,
    row_size_bytes,
    rows_json,
)
from hashrange.items.rows import PACKED_BYTES_MIN, attributes_reader, decode_attributes, decode_row, encode_row
from hashrange.items.types import Item, Row
from hashrange.items.values import check_item
from hashrange.limits import ITEM_SIZE_MAX_BYTES

ROOM_BYTES = ITEM_SIZE_MAX_BYTES - 1_000
NAMES = [f"{number:x}" for number in range(ROOM_BYTES // 8)]
DENSE: dict[str, Any] = {
    "nulls": {"L": [{"NULL": True}] * (ROOM_BYTES // 2)},
    "booleans": {"L": [{"BOOL": True}, {"BOOL": False}] * (ROOM_BYTES // 4)},
    "empty lists": {"L": [{"L": []}] * (ROOM_BYTES // 4)},
    "empty texts": {"L": [{"S": ""}] * (ROOM_BYTES // 2)},
    "digits": {"L": [{"N": "7"}] * (ROOM_BYTES // 3)},
    "map of nulls": {"M": {name: {"NULL": True} for name in NAMES}},
    "short lists": {"L": [{"L": [{"BOOL": False}]}] * (ROOM_BYTES // 6)},
    "numbers with many zeros": {"L": [{"N": "1E-130"}] * (ROOM_BYTES // 16)},
    "sets of such numbers": {
        "L": [
            {"NS": [f"{digit}E{exponent}" for digit in "123456789"]} for exponent in range(-130, -30) for _ in range(10)
        ]
    },
    "control characters": {"S": "".join([chr(code) for code in range(32)]) * (ROOM_BYTES // 32)},
}
RATIOS = {"map of nulls": 1.6, "numbers with many zeros": 4.0, "sets of such numbers": 5.0}
"""Item → upper bound of its stored bytes per byte of item size, for items where this exceeds 1.5."""


def made(value: Any) -> tuple[Item, int]:
    """A canonical item with the value as attribute `v`, and its size."""
    return check_item({"pk": {"S": "a"}, "v": value})


@cache
def dense(name: str) -> tuple[Item, int, Row]:
    """The item of this value, its size and its row: made once, because checking takes long."""
    item, size_bytes = made(DENSE[name])
    return item, size_bytes, encode_row(item, size_bytes)


@pytest.mark.parametrize("name", DENSE)
def test_a_dense_item_is_packed_and_comes_back(name: str) -> None:
    item, size_bytes, row = dense(name)
    text = msgspec.json.encode(item, order="sorted")
    assert row[0] == (PACKED_NUMBER_SETS_VERSION if name == "sets of such numbers" else PACKED_VERSION)
    assert len(row) < RATIOS.get(name, 1.5) * size_bytes < len(text)
    assert row_json_bytes(row) == len(text)
    assert row_size_bytes(row) == size_bytes
    assert (row_json(row), rows_json([row]), bytes(row_json_view(row))) == (text, [text], text)
    assert decode_row(row) == item
    assert decode_attributes(row, ("pk", "none")) == {"pk": {"S": "a"}}
    assert attributes_reader(("pk",))(row) == [b'{"S":"a"}']


def test_the_format() -> None:
    text = (
        (
            b'{"a":{"L":[{"NULL":true},{"BOOL":true},{"BOOL":false},{"S":""},{"B":""},{"L":[]},{"M":{}},{"N":"1"},'
            b'{"S":"x"},{"B":"eA=="},{"M":{"b":{"NS":["1","2"]}}},{"S":"\\u0001\\n\\u001f\\""},{"S":"\\b\\f"},{"N":"0.'
        )
        + b"0" * 47
        + b'1"}]}}'
    )
    packed = (
        b'{"a":\xfa\xc1,\xf5,\xf6,\x0d\xc0\xfa\xfe,\xfb\xff,\xf71\xfc,\xf8x\xfc,\xf9eA==\xfc,'
        b'\xfb"b":{"NS":["1\xfd2"\xfe\xff,\xf8\x01\\n\x1f\\"\xfc,\xf8\\b\\f\xfc,'
        b"\xf70.\x08\x09\x0a\x0c01\xfc\xfe}"
    )
    assert pack(text) == packed
    assert unpack(packed) == text


def test_items_that_are_hardly_longer_as_json_are_not_packed() -> None:
    for value in ({"S": "x" * ROOM_BYTES}, {"S": 'x"' * (ROOM_BYTES // 2)}, {"L": [{"NULL": True}] * 2_000}):
        item, size_bytes = made(value)
        row = encode_row(item, size_bytes)
        assert (row[0], row[ROW_HEADER_BYTES:]) == (PLAIN_VERSION, msgspec.json.encode(item, order="sorted"))
    assert len(row) < PACKED_BYTES_MIN


@pytest.mark.parametrize("seed", range(20))
def test_any_json_comes_back(seed: int) -> None:
    """Random texts of JSON fragments that packing replaces: whole, cut anywhere, and overlapping."""
    chance = Random(seed)
    parts = [
        '{"NULL":true},',
        '"},',
        '","',
        '{"S":"',
        "\\u0001",
        "\x01",
        "\x7f",
        "\\",
        '"',
        "\n",
        "é",
        "\U0001f600",
        "u000",
        "0" * 8,
        "0" * 32,
        "000",
        "\b",
        "\f",
        "{",
        ",",
    ]
    values = ["".join(chance.choices(parts, k=chance.randrange(400))) for _ in range(60)]
    text = msgspec.json.encode([{"S": value} for value in values])
    text = text[chance.randrange(40) :] * (2 + PACKED_AT_ONCE_BYTES // len(text))
    packed = pack(text)
    assert unpack(packed) == text
    assert unpacked_bytes(packed) == len(text)


def test_what_unpacking_takes_is_announced_before(monkeypatch: pytest.MonkeyPatch) -> None:
    announced: list[int] = []
    monkeypatch.setattr(steps, "_queue", announced.append)
    for row in [dense(name)[2] for name in DENSE]:
        announced.clear()
        text = row_json(row)
        assert announced == [len(text)]
    row = encode_row(*made({"S": "x" * ROOM_BYTES}))
    announced.clear()
    row_json(row)
    assert not announced


def packed_as_in_format_7(text: bytes) -> bytes:
    pieces = [text[start : start + PACKED_AT_ONCE_BYTES] for start in range(0, len(text), PACKED_AT_ONCE_BYTES)]
    for byte, word in SUBSTITUTIONS_OF_FORMAT_7.items():
        pieces = [piece.replace(word, byte) for piece in pieces]
    return b"".join(pieces)


@pytest.mark.parametrize("name", ["nulls", "control characters", "numbers with many zeros"])
@pytest.mark.parametrize("version", [PLAIN_VERSION, PACKED_OF_FORMAT_7_VERSION])
def test_a_row_of_an_older_format_holds_the_same_item(name: str, version: int) -> None:
    """Formats before 7 did not pack rows, and format 7 packed them with another substitution table."""
    item, size_bytes, row = dense(name)
    text = msgspec.json.encode(item, order="sorted")
    stored = text if version == PLAIN_VERSION else packed_as_in_format_7(text)
    older = Row(bytes((version,)) + row[1:ROW_HEADER_BYTES] + stored)
    other = encode_row(item | {"pk": {"S": "b"}}, size_bytes)
    assert row_size_bytes(other) == size_bytes
    assert decode_row(older) == item
    assert (row_json(older), row_json_bytes(older)) == (text, len(text))
    assert decode_attributes(older, ("pk",)) == {"pk": {"S": "a"}}
    assert is_same_item(older, row)
    assert is_same_item(row, older)
    assert row_difference(older, row) == LAYOUT
    assert not is_same_item(older, other)
    assert row_difference(other, older) == ITEM


def row_with(version: int, size_bytes: int, text: bytes) -> Row:
    return Row(bytes((version,)) + size_bytes.to_bytes(ROW_HEADER_BYTES - 1, "big") + text)


@pytest.mark.parametrize("other_version", [PLAIN_VERSION, NUMBER_SETS_VERSION])
@pytest.mark.parametrize("version", [PLAIN_VERSION, NUMBER_SETS_VERSION])
def test_how_two_rows_differ(version: int, other_version: int) -> None:
    row, changed = row_with(version, 9, b"one"), row_with(other_version, 9, b"two")
    assert row_difference(row, changed) == ITEM
    assert row_difference(row, row_with(other_version, 10, b"two")) == STATISTICS
    assert row_difference(row, None) == row_difference(None, row) == STATISTICS
    if version != other_version:
        assert row_difference(row, row_with(other_version, 9, b"one")) == LAYOUT
        assert row_difference(row, row_with(other_version, 10, b"one")) == STATISTICS
