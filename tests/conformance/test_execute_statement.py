"""ExecuteStatement: SELECT as lookup, Query and Scan; order, paging, capacity."""

from typing import Any

import pytest

from tests.conformance.item_tables import NOT_FOUND, DataTable, Value, fresh_key, number, text
from tests.conformance.partiql import failure, items

LETTERS = ["a", "ab", "abc", "b", "ba", "c", "z"]


@pytest.fixture(scope="module")
def letters(sorted_table: DataTable) -> Value:
    """The partition key of one item per letter group; `n` counts them, `even` is on every second."""
    partition = fresh_key()["pk"]
    for place, sort in enumerate(LETTERS):
        item = {"pk": partition, "sk": text(sort), "n": number(place), "m": {"M": {"x": number(place), "y": text("y")}}}
        sorted_table.put(item | ({"even": {"BOOL": True}} if place % 2 == 0 else {}))
    return partition


def sort_keys(found: Any) -> list[str]:
    return [item["sk"]["S"] for item in found]


def test_a_full_key_gives_its_item(sorted_table: DataTable, letters: Value) -> None:
    found = items(sorted_table, "SELECT * FROM {t} WHERE pk = ? AND sk = 'b'", letters)
    assert found == [sorted_table.get({"pk": letters, "sk": text("b")})]
    assert items(sorted_table, "SELECT * FROM {t} WHERE pk = ? AND sk = 'bb'", letters) == []
    assert items(sorted_table, "SELECT * FROM {t} WHERE pk = ? AND sk = 'b' AND n = 3", letters) == found
    assert items(sorted_table, "SELECT * FROM {t} WHERE pk = ? AND sk = 'b' AND n = 4", letters) == []


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("", LETTERS),
        ("AND sk = 'b'", ["b"]),
        ("AND sk < 'b'", ["a", "ab", "abc"]),
        ("AND 'b' <= sk", ["b", "ba", "c", "z"]),
        ("AND sk BETWEEN 'ab' AND 'b'", ["ab", "abc", "b"]),
        ("AND begins_with(sk, 'ab')", ["ab", "abc"]),
        ("AND sk IN ['z', 'a', 'a', 'q']", ["a", "z"]),
        ("AND sk <> 'b' AND NOT sk > 'c'", ["a", "ab", "abc", "ba", "c"]),
        ("AND even IS MISSING", ["ab", "b", "c"]),
        ("AND (n < 2 OR n >= 5)", ["a", "ab", "c", "z"]),
        ("AND m.x = 3", ["b"]),
        ("ORDER BY sk DESC", LETTERS[::-1]),
        ("AND sk > 'b' ORDER BY pk, sk DESC", ["z", "c", "ba"]),
    ],
)
def test_a_partition_key_gives_its_items(
    sorted_table: DataTable, letters: Value, condition: str, expected: list[str]
) -> None:
    assert sort_keys(items(sorted_table, f"SELECT * FROM {{t}} WHERE pk = ? {condition}", letters)) == expected


def test_a_missing_table_is_not_found(table: DataTable) -> None:
    assert failure(table, "SELECT * FROM nowhere WHERE pk = 'a'") == NOT_FOUND
    assert failure(table, 'SELECT * FROM "a b"') == NOT_FOUND
