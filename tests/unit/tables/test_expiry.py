"""At which second does an item expire? Never, if its attribute is no number or out of the range of possible times."""

from typing import Any

import pytest

from hashrange.errors import StorageCorruption
from hashrange.items.rows import encode_row
from hashrange.items.types import Row
from hashrange.items.values import check_item
from hashrange.limits import EXPIRY_AGE_MAX_SECONDS
from hashrange.tables.expiry import expiry_seconds, is_too_old, number_of_item, number_reader

NAMES = ["ttl", "a b", "Ablauf-Zeit", "größe", 'with"quote', "back\\slash", "new\nline", "\U0001f550", ".", "N"]


@pytest.mark.parametrize(
    ("number", "seconds"),
    [
        (None, None),
        ("0", 0),
        ("1800000000", 1_800_000_000),
        ("999999999999", 999_999_999_999),
        ("1000000000000", 10**12),
        ("1800000000.5", 1_800_000_001),
        ("1800000000.0000000000000000000000000001", 1_800_000_001),
        ("0.000001", 1),
        ("-1", None),
        ("-0.5", None),
        (str(2**64 - 1), 2**64 - 1),
        (str(2**64), None),
        (f"{2**64 - 1}.5", None),
        ("9" * 38, None),
        ("1" + "0" * 125, None),
        ("1E+125", None),
        ("1E+3", 1000),
        ("1E-130", 1),
        ("0." + "0" * 129 + "1", 1),
    ],
)
def test_the_second_of_a_number(number: str | None, seconds: int | None) -> None:
    assert expiry_seconds(number) == seconds


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("value", "number"),
    [
        ({"N": "5"}, "5"),
        ({"S": "5"}, None),
        ({"NULL": True}, None),
        ({"BOOL": False}, None),
        ({"NS": ["5"]}, None),
        ({"B": "NQ=="}, None),
        ({"L": [{"N": "5"}]}, None),
        ({"M": {"N": {"N": "5"}}}, None),
        ({"M": {"ttl": {"N": "5"}}}, None),
        (None, None),
    ],
)
def test_only_a_number_of_its_own_counts(name: str, value: Any, number: str | None) -> None:
    item = {"id": {"S": name}, "other": {"M": {name: {"N": "7"}}}}
    if value is not None:
        item[name] = value
    canonical, size_bytes = check_item(item)
    assert number_of_item(canonical, name) == number
    assert number_reader(name)(encode_row(canonical, size_bytes)) == number


@pytest.mark.parametrize("name", ["ttl", 'with"quote'])
def test_a_row_that_cannot_be_read(name: str) -> None:
    with pytest.raises(StorageCorruption, match="cannot be read"):
        number_reader(name)(Row(b"\x01\0\0\0\x05{"))


def test_what_expired_more_than_five_years_ago_is_ignored() -> None:
    now_seconds = 1_800_000_000.5
    assert is_too_old(1_800_000_000 - EXPIRY_AGE_MAX_SECONDS, now_seconds)
    assert not is_too_old(1_800_000_001 - EXPIRY_AGE_MAX_SECONDS, now_seconds)
