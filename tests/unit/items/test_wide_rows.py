"""Are the rows of items with very many attributes read in pieces, whatever names are asked for?

A decoder compares each attribute with each name that it looks for, and finds the beginnings of all members of a map in
one call: both took 50 to 150 ms for 100,000 attributes.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from hashrange.errors import StorageCorruption
from hashrange.items import large_json, rows, steps
from hashrange.items.large_json import find_end_of_value
from hashrange.items.row_layout import ROW_HEADER_BYTES
from hashrange.items.rows import attributes_reader, decode_attributes, decode_row, encode_row
from hashrange.items.steps import PIECE_BYTES
from hashrange.items.types import Item, Row
from hashrange.tables.expiry import number_reader
from tests.unit.items.test_rows import many, tricky_value

QUOTED = 'v"'
WIDE: Item = {f"a{number:05}": {"NULL": True} for number in range(60_000)}
NESTED = many({"M": {"a": {"N": "1"}, "b": {"N": "2"}}}, 2_000)
"""A value of more than PIECE_BYTES in which each place for a cut is wrong."""


def row_of(item: Item) -> Row:
    """The row of an item; its JSON is not packed, so that reading begins at once."""
    return encode_row(item, 2_000_000)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """A list that gets one element for each call of `steps._look`."""
    seen: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: seen.append(None))
    return seen


def ask_for_many(row: Row) -> None:
    absent = tuple(f"b{number:05}" for number in range(600))
    assert decode_attributes(row, (*absent, "a00001")) == {"a00001": {"NULL": True}}


def ask_for_some(row: Row) -> None:
    absent = tuple(f"b{number:05}" for number in range(200))
    assert decode_attributes(row, ("a00001", *absent)) == {"a00001": {"NULL": True}}


def ask_for_a_quoted_name(row: Row) -> None:
    assert decode_attributes(row, (QUOTED, "a00001")) == {"a00001": {"NULL": True}, QUOTED: {"N": "1"}}


def read_a_quoted_name(row: Row) -> None:
    assert attributes_reader((QUOTED, "a00001"))(row) == [b'{"N":"1"}', b'{"NULL":true}']


def read_a_quoted_number(row: Row) -> None:
    assert number_reader(QUOTED)(row) == "1"


def read_all(row: Row) -> None:
    assert decode_row(row) == msgspec.json.decode(row[ROW_HEADER_BYTES:])


READINGS = [ask_for_many, ask_for_some, ask_for_a_quoted_name, read_a_quoted_name, read_a_quoted_number, read_all]


@pytest.mark.parametrize("first", [{"S": "x"}, NESTED], ids=["short values", "a long value first"])
@pytest.mark.parametrize("read", READINGS)
def test_a_wide_row_is_read_in_pieces(
    read: Callable[[Row], None], first: Any, looks: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 0

    def outline(text: bytes) -> dict[str, msgspec.Raw]:
        nonlocal most
        found = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        most = max(most, len(found))
        return found

    monkeypatch.setattr(large_json, "_outline_attributes", outline)
    row = row_of({"a": first, QUOTED: {"N": "1"}} | WIDE)
    looks.clear()
    read(row)
    assert len(looks) >= len(row) // (2 * PIECE_BYTES)
    assert most <= large_json.OUTLINED_MEMBERS_MAX


@pytest.mark.parametrize("element", [{"N": "1"}, {"S": "},{"}])
def test_a_long_list_behind_a_long_element_is_read_in_pieces(element: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 0

    def outline(text: bytes) -> list[msgspec.Raw]:
        nonlocal most
        found = msgspec.json.decode(text, type=list[msgspec.Raw])
        most = max(most, len(found))
        return found

    monkeypatch.setattr(large_json, "_outline_elements", outline)
    item: Item = {"l": {"L": [NESTED, *[element] * 60_000]}}
    assert decode_row(row_of(item)) == item
    assert most <= large_json.OUTLINED_MEMBERS_MAX


INNER: Any = {"M": {"a": {"NULL": True}, "b": {"NULL": True}}}
LISTED: Any = {"L": [{"NULL": True}, {"S": '},{"}},"'}, {"L": [INNER, {"NULL": True}]}]}


@pytest.mark.parametrize("read", [read_a_quoted_name, read_a_quoted_number, read_all])
@pytest.mark.parametrize("element", [INNER, LISTED, {"L": [INNER]}], ids=["maps", "lists", "maps in lists"])
def test_nested_members_are_not_read_one_by_one(
    element: Any, read: Callable[[Row], None], looks: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place for a cut was looked for where a nested member ends. One by one, 30,000 maps took 150 to 340 ms."""
    alone: list[int] = []

    def find_end(text: memoryview, start: int, behind: bytes) -> int:
        alone.append(start)
        return find_end_of_value(text, start, behind)

    monkeypatch.setattr(large_json, "find_end_of_value", find_end)
    wide: Item = {f"n{number:05}": element for number in range(10_000)} | {"a00001": {"NULL": True}, QUOTED: {"N": "1"}}
    row = row_of(wide | {"l": {"L": [element] * 10_000}})
    looks.clear()
    read(row)
    assert len(alone) <= 4  # the list is longer than a piece
    assert len(looks) >= len(row) // (4 * PIECE_BYTES)


@pytest.mark.parametrize("depth", [1, 7, 8, 31])
def test_nested_members_are_read_at_any_depth(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_json, "OUTLINED_MEMBERS_MAX", 0)
    element: Any = {"NULL": True}
    for number in range(depth):
        element = {"L": [element, element]} if number < 2 else {"M": {'a"\\{': element, "b": {"S": "]}"}}}
    wide: Item = {f"a{number:05}": element for number in range(700)} | {"l": {"L": [element] * 700}}
    row = row_of(wide | {QUOTED: {"N": "1"}})
    assert msgspec.json.decode(row[ROW_HEADER_BYTES:]) == decode_row(row)
    assert number_reader(QUOTED)(row) == "1"


def test_no_decoder_is_made_for_very_many_names() -> None:
    """One for 4,096 names took 80 ms to make."""
    row = row_of({"a": {"S": "x" * 10_000}})
    made = len(rows._parts)
    assert decode_attributes(row, tuple(map(chr, range(0x4E00, 0x5E00)))) == {}
    assert len(rows._parts) == made


@pytest.mark.parametrize("outlined_max", [0, 1 << 20])
@pytest.mark.parametrize("cut_bytes", [1, 50, 2_000])
@pytest.mark.parametrize("seed", range(4))
def test_pieces_are_read_as_the_whole_is(
    seed: int, cut_bytes: int, outlined_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = Random(seed)
    item: Item = {draw.choice(['},"', "é\\", '"', "\n"]) + str(number): tricky_value(draw, 2) for number in range(60)}
    row = row_of(item | {"x": {"S": "x" * 10_000}, "l": many({"S": "},{"}, 4_000)})
    whole = msgspec.json.decode(row[ROW_HEADER_BYTES:])
    names = (*draw.sample(sorted(whole), 20), "absent", 'absent"')
    expected = {name: whole[name] for name in names if name in whole}
    monkeypatch.setattr(large_json, "CUT_BYTES", cut_bytes)
    monkeypatch.setattr(large_json, "OUTLINED_MEMBERS_MAX", outlined_max)
    assert decode_row(row) == whole
    assert decode_attributes(row, names) == expected
    read = attributes_reader(tuple(expected))(row)
    assert [msgspec.json.decode(text) for text in read] == list(expected.values())


@pytest.mark.parametrize("outlined_max", [0, 1 << 20])
@pytest.mark.parametrize("seed", range(30))
def test_damage_is_told(seed: int, outlined_max: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever of a damaged row is read is what the library reads."""
    draw = Random(seed)
    row = bytearray(row_of({"pk": {"S": "a"}, 'l"': NESTED, "z": NESTED}))
    for _ in range(3):
        row[draw.randrange(ROW_HEADER_BYTES, len(row))] = draw.choice(b'{}[],:"\\ LM1')
    monkeypatch.setattr(large_json, "OUTLINED_MEMBERS_MAX", outlined_max)
    try:
        expected = msgspec.json.decode(row[ROW_HEADER_BYTES:], type=Item)
    except msgspec.MsgspecError:
        with pytest.raises(StorageCorruption):
            decode_row(Row(bytes(row)))
    else:
        assert decode_row(Row(bytes(row))) == expected


@pytest.mark.parametrize("row", [b"\x01\0\0\0\2", b"\x01\0\0\0\2[]", b"\x01\0\0\0\2{", b'\x01\0\0\0\2{"a":{"S":"x"}}'])
def test_an_attribute_that_is_not_there_is_corruption(row: bytes) -> None:
    with pytest.raises(StorageCorruption):
        attributes_reader((QUOTED,))(Row(row))
