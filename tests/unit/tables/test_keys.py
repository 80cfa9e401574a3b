"""Validation of keys in key maps and items: lengths and key attributes;
`tests/scripts/keys.case` lists each refusal.
"""

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given, settings

from hashrange.errors import RequestFault, ValidationException
from hashrange.items.keys import encode_partition_key, encode_sort
from hashrange.items.numbers import normalize_number, number_order
from hashrange.items.values import check_item
from hashrange.messages.keys import PARTITION_KEY_TOO_LONG, SORT_KEY_TOO_LONG
from hashrange.tables.keys import check_key_value, key_of
from tests.unit.items.wire_values import SETTINGS, numbers
from tests.unit.tables.key_tables import key_table

LIMITS = [("pk", 2048, PARTITION_KEY_TOO_LONG), ("sk", 1024, SORT_KEY_TOO_LONG)]


def scalar_of(type_name: str, size_bytes: int, letter: str = "a") -> str:
    return letter * (size_bytes // len(letter.encode())) if type_name == "S" else b64encode(b"a" * size_bytes).decode()


@pytest.mark.parametrize("type_name", ["S", "B"])
@pytest.mark.parametrize(("name", "limit_bytes", "message"), LIMITS)
def test_lengths_of_key_values(type_name: str, name: str, limit_bytes: int, message: str) -> None:
    table = key_table(type_name, type_name)
    key = {"pk": {type_name: "YQ=="}, "sk": {type_name: "YQ=="}}
    longest = key | {name: {type_name: scalar_of(type_name, limit_bytes)}}
    too_long = key | {name: {type_name: scalar_of(type_name, limit_bytes + 1)}}
    for make in (table.lookup_key, table.item_key):
        assert len(make(longest)) > limit_bytes
        with pytest.raises(ValidationException) as caught:
            make(too_long)
        assert caught.value.message == message
        assert not isinstance(caught.value, RequestFault)
    is_partition = name == "pk"
    check_key_value(name, "S", scalar_of("S", limit_bytes, "é"), is_partition=is_partition)
    with pytest.raises(ValidationException):
        check_key_value(name, "S", scalar_of("S", limit_bytes + 2, "é"), is_partition=is_partition)


def test_the_partition_key_is_looked_at_first() -> None:
    table = key_table("S", "S")
    with pytest.raises(ValidationException) as caught:
        table.lookup_key({"sk": {"S": "a" * 1025}, "pk": {"S": "a" * 2049}})
    assert caught.value.message == PARTITION_KEY_TOO_LONG


def test_the_longest_numbers_are_keys() -> None:
    table = key_table("N", "N")
    for text in ("-1E-130", "-9.9999999999999999999999999999999999999E125", "0"):
        scalar = normalize_number(text)
        key = {"pk": {"N": scalar}, "sk": {"N": scalar}}
        assert (
            table.lookup_key(key) == table.item_key(key) == encode_partition_key("N", scalar) + encode_sort("N", scalar)
        )


@given(numbers, numbers)
@settings(max_examples=100, **SETTINGS)
def test_items_of_one_collection_sort_by_number(left: str, right: str) -> None:
    table = key_table("S", "N")
    left, right = normalize_number(left), normalize_number(right)
    left_key, right_key = (table.lookup_key({"pk": {"S": "a"}, "sk": {"N": text}}) for text in (left, right))
    assert (left_key < right_key) == (number_order(left) < number_order(right))


def test_key_attributes_alone() -> None:
    item = {"other": {"S": "x"}, "sk": {"N": "1"}, "pk": {"S": "a"}}
    assert key_of(key_table("S").keys, item) == {"pk": {"S": "a"}}
    table = key_table("S", "N")
    assert key_of(table.keys, item) == {"pk": {"S": "a"}, "sk": {"N": "1"}}
    assert table.item_key(item) == table.lookup_key(key_of(table.keys, item))


@pytest.mark.parametrize("sort_type", [None, "S", "N"])
def test_a_usual_key_is_the_key_that_the_careful_way_finds(sort_type: str | None) -> None:
    table = key_table("S", sort_type)
    texts = ["a", "Zürich", "", "x" * 256, "x" * 257, "x" * 1_025, "k\x00k"]
    values: list[Any] = [{"S": text} for text in texts] + [{"N": "1"}, {"S": "a", "N": "1"}, {}, {"S": 1}, "a", None]
    values += [1, True, [], ["S"], {"S": None}, {"S": ["a"]}, {"S": {"S": "a"}}]
    usual = 0
    for value in values:
        for sort_value in values if sort_type is not None else [None]:
            key_map = {"pk": value} if sort_type is None else {"pk": value, "sk": sort_value}
            key = table.usual_key(key_map)
            if key is not None:
                usual += 1
                assert key == table.lookup_key(check_item(key_map)[0])
            assert table.usual_key(key_map | {"more": {"S": "x"}}) is None
    assert usual == {None: 4, "S": 16, "N": 0}[sort_type]
    assert key_table("B", None).usual_key({"pk": {"S": "a"}}) is None
