"""Rows know whether they have number sets, and a reply lists these in hash order."""

from typing import Any

import msgspec
import pytest

from hashrange.items import steps
from hashrange.items.number_set_order import find_number_set, hash_ordered_json, hash_ordered_row
from hashrange.items.row_layout import (
    NUMBER_SETS_VERSION,
    PACKED_NUMBER_SETS_VERSION,
    PLAIN_VERSION,
    is_packed,
    is_same_item,
    row_json,
)
from hashrange.items.rows import decode_row, encode_row, part_row
from hashrange.items.steps import PIECE_BYTES
from hashrange.items.types import Item, Row
from hashrange.items.values import check_item

WITH_SETS: Item = {
    "pk": {"S": "a"},
    "deep": {"L": [{"M": {"NS": {"NS": ["1", "2", "3"]}}}, {"NS": ["-1", "0.5"]}]},
    "one": {"NS": ["7"]},
}
IN_HASH_ORDER = WITH_SETS | {"deep": {"L": [{"M": {"NS": {"NS": ["3", "2", "1"]}}}, {"NS": ["0.5", "-1"]}]}}
LIKE_SETS = [
    {"pk": {"S": '{"NS":["1","2"]}'}},
    {"pk": {"S": '"NS":["1"'}, "NS": {"L": [{"S": "1"}]}},
    {'"NS":["': {"S": "NS"}, "NS": {"SS": ["1", "2"]}},
    {"NS": {"L": [{"L": [{"S": '["'}]}]}},
]


def row_of(item: Item) -> Row:
    return encode_row(*check_item(item))


def test_an_item_with_number_sets_is_reordered_at_every_level() -> None:
    row = row_of(WITH_SETS)
    assert row[0] == NUMBER_SETS_VERSION
    assert decode_row(row) == WITH_SETS
    assert msgspec.json.decode(hash_ordered_json(row)) == IN_HASH_ORDER
    assert decode_row(hash_ordered_row(row)) == IN_HASH_ORDER
    part = part_row({"one": {"NS": ["7"]}, "deep": WITH_SETS["deep"]})
    assert msgspec.json.decode(hash_ordered_json(part)) == {name: IN_HASH_ORDER[name] for name in ("one", "deep")}


@pytest.mark.parametrize("item", LIKE_SETS)
def test_what_only_looks_like_a_number_set_is_none(item: Item) -> None:
    for row in (row_of(item), part_row(item)):
        assert row[0] == PLAIN_VERSION
        assert hash_ordered_row(row) is row
        both = row_of(item | {"z": {"NS": ["1", "2"]}})
        assert msgspec.json.decode(hash_ordered_json(both)) == item | {"z": {"NS": ["2", "1"]}}


def test_a_row_of_an_older_format_is_the_same_item_and_is_told_by_value() -> None:
    row = row_of(WITH_SETS)
    older = Row(bytes((PLAIN_VERSION,)) + row[1:])
    assert is_same_item(older, row)
    assert hash_ordered_row(older) is older


def test_a_packed_row_stays_packed() -> None:
    numbers = [f"1E-{exponent}" for exponent in range(1, 131)] + ["1", "2", "3"]
    value: dict[str, Any] = {"L": [{"NS": numbers}, {"S": "x"}, {"NS": ["3", "2", "1"]}] * 20}
    row = row_of({"pk": {"S": "a"}, "v": value})
    assert (row[0], is_packed(row)) == (PACKED_NUMBER_SETS_VERSION, True)
    ordered = hash_ordered_row(row)
    assert is_packed(ordered)
    assert len(ordered) < len(row_json(row)) / 4
    assert row_json(ordered) == hash_ordered_json(row)
    assert decode_row(ordered)["v"]["L"][2] == {"NS": ["3", "2", "1"]}
    assert decode_row(row)["v"]["L"][2] == {"NS": ["1", "2", "3"]}


@pytest.mark.parametrize("before", [*range(PIECE_BYTES - 20, PIECE_BYTES + 1), 2 * PIECE_BYTES - 10])
def test_a_set_is_found_wherever_it_begins(before: int) -> None:
    text = b" " * before + b'"NS":["1"]' + b" " * PIECE_BYTES
    assert (find_number_set(text), find_number_set(text, before), find_number_set(text, before + 1)) == (
        before,
        before,
        -1,
    )


def test_a_large_set_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    row = row_of({"pk": {"S": "a"}, "v": {"NS": [str(number) for number in range(60_000)]}})
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    text = hash_ordered_json(row)
    assert len(looks) >= 600
    assert sorted(map(int, msgspec.json.decode(text)["v"]["NS"])) == list(range(60_000))
