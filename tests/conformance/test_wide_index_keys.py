"""Indexes with several key attributes: key conditions on them, and the size limit of their values together."""

from typing import Any

import pytest

from tests.conformance.item_tables import DataTable, Value, fresh_key, make_table, number, text
from tests.support.raw_client import RawClient

START_KEY = "The provided starting key is invalid: "
RANGE_ORDER = (
    "RANGE key attributes {} must have equality conditions specified in the query because a condition is present on key"
    " attribute {}"
)


@pytest.fixture(scope="module")
def wide(raw: RawClient) -> DataTable:
    """A table with an index of two partition and three sort key attributes."""
    schema = [{"AttributeName": name, "KeyType": "HASH" if name in "ab" else "RANGE"} for name in "abcde"]
    return make_table(
        raw, "S", definitions={"a": "S", "b": "N", "c": "S", "d": "N", "e": "S"},
        GlobalSecondaryIndexes=[{"IndexName": "wide", "KeySchema": schema, "Projection": {"ProjectionType": "ALL"}}],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("sort_conditions", "names", "later"),
    [
        ("c > :s AND d = :n AND e = :s", "c", "d"),
        ("c > :s AND e = :s", "c, d", "e"),
        ("d = :n", "c", "d"),
        ("c = :s AND e = :s", "d", "e"),
        ("d > :n AND e = :s", "c", "d"),
        ("e = :s", "c, d", "e"),
        ("c = :s AND d > :n AND e > :s", "d", "e"),
    ],
)
def test_sort_key_attributes_are_narrowed_from_left_to_right(
    wide: DataTable, sort_conditions: str, names: str, later: str
) -> None:
    values = {":s": text("x"), ":n": number(1)}
    members: dict[str, Any] = {
        "IndexName": "wide",
        "KeyConditionExpression": "a = :s AND b = :n AND " + sort_conditions,
        "ExpressionAttributeValues": values,
    }
    assert wide.refusal("Query", **members) == RANGE_ORDER.format(names, later)


def test_all_attributes_of_an_index_key_count_for_its_size(wide: DataTable) -> None:
    key = fresh_key()
    sound = key | {"a": text("x" * 2046), "b": number(1), "c": text("x" * 1000), "d": number(1), "e": text("x" * 22)}
    wide.put(sound)
    for longer in ({"a": text("x" * 2047)}, {"e": text("x" * 23)}, {"d": number(123)}):
        assert "has exceeded the" in (wide.refusal("PutItem", Item=sound | longer) or "")
        ((name, value),) = longer.items()
        members: dict[str, Any] = {"UpdateExpression": f"SET {name} = :v", "ExpressionAttributeValues": {":v": value}}
        assert "beyond allowed size limits" in (wide.refusal("UpdateItem", Key=key, **members) or "")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            text(""),
            (
                "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an"
                " empty string value. Key: a"
            ),
        ),
        (
            text("x" * 2049),
            (
                "One or more parameter values were invalid: Size of hashkey has exceeded the"
                " maximum size limit of2048 bytes"
            ),
        ),
    ],
)
def test_a_start_key_of_an_index_holds_key_values(wide: DataTable, value: Value, message: str) -> None:
    start = fresh_key() | {"a": value, "b": number(1), "c": text("x"), "d": number(1), "e": text("x")}
    query: dict[str, Any] = {
        "KeyConditionExpression": "a = :s AND b = :n",
        "ExpressionAttributeValues": {":s": text("x"), ":n": number(1)},
    }
    assert wide.refusal("Query", IndexName="wide", ExclusiveStartKey=start, **query) == message
    assert wide.refusal("Scan", IndexName="wide", ExclusiveStartKey=start) == START_KEY + message
