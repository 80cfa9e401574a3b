"""Keys of secondary indexes in writes: absent or valid; wrong types, empty and long ones are
refused before any index is read.
"""

import base64
from typing import Any

import pytest

from tests.conformance.item_tables import (
    CONDITION_FAILED,
    INVALID,
    DataTable,
    Item,
    Value,
    fresh_key,
    make_table,
    number,
    text,
)
from tests.support.raw_client import RawClient

VALUES: dict[str, Value] = {":1": number(1), ":s": text("new")}


def used(expression: str) -> dict[str, Any]:
    """The ExpressionAttributeValues that the expression uses, or nothing."""
    tokens = {token: value for token, value in VALUES.items() if token in expression.split()}
    return {"ExpressionAttributeValues": tokens} if tokens else {}


def update(table: DataTable, key: Item, expression: str) -> Any:
    return table.update(key, expression, **used(expression))


def refusal(table: DataTable, key: Item, expression: str) -> str | None:
    return table.refusal("UpdateItem", Key=key, UpdateExpression=expression, **used(expression))


@pytest.fixture(scope="module")
def indexed(raw: RawClient) -> DataTable:
    """A table with a global index by `g` (S) and `n` (N), and a local one by `b` (B)."""
    schema = [{"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "n", "KeyType": "RANGE"}]
    local = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "b", "KeyType": "RANGE"}]
    everything = {"ProjectionType": "ALL"}
    return make_table(
        raw, "S", "S", definitions={"g": "S", "n": "N", "b": "B"},
        GlobalSecondaryIndexes=[{"IndexName": "global", "KeySchema": schema, "Projection": everything}],
        LocalSecondaryIndexes=[{"IndexName": "local", "KeySchema": local, "Projection": everything}],
    )  # fmt: skip


def sorted_key() -> Item:
    return fresh_key() | {"sk": text("a")}


def test_index_keys_may_be_absent_or_sound(indexed: DataTable) -> None:
    key = sorted_key()
    indexed.put(key | {"g": text("g" * 2048), "n": number("9" * 38), "b": {"B": "AAAA"}})
    update(indexed, key, "SET g = :s ADD n :1 REMOVE b")
    assert indexed.get(key) == key | {"g": text("new"), "n": number("1" + "0" * 38)}
    indexed.put(key)


MISMATCH = INVALID + "Type mismatch for Index Key {} Expected: {} Actual: {} IndexName: {}"


@pytest.mark.parametrize(
    ("name", "value", "expected", "index"),
    [("g", number(1), "S", "global"), ("n", text("a"), "N", "global"), ("b", text("a"), "B", "local"),
     ("g", {"NULL": True}, "S", "global"), ("n", {"NS": ["1"]}, "N", "global"), ("b", {"M": {}}, "B", "local")],
)  # fmt: skip
def test_index_keys_have_their_types(indexed: DataTable, name: str, value: Value, expected: str, index: str) -> None:
    key = sorted_key()
    message = MISMATCH.format(name, expected, next(iter(value)), index)
    assert indexed.refusal("PutItem", Item=key | {name: value}) == message
    members: dict[str, Any] = {"UpdateExpression": f"SET {name} = :v", "ExpressionAttributeValues": {":v": value}}
    assert indexed.refusal("UpdateItem", Key=key, ConditionExpression="attribute_exists(pk)", **members) == message
    assert indexed.refusal("UpdateItem", Key=key, AttributeUpdates={name: {"Value": value}}) == message


@pytest.mark.parametrize("expression", ["SET g = n", "SET g = if_not_exists(x, n)", "SET n = g", "SET b = l[0]"])
def test_a_computed_index_key_has_its_type(indexed: DataTable, expression: str) -> None:
    key = sorted_key()
    indexed.put(key | {"g": text("g"), "n": number(1), "l": {"L": [text("a")]}})
    message = "The update expression attempted to update the secondary index key to unsupported type"
    assert refusal(indexed, key, expression) == message


def test_index_keys_are_not_empty(indexed: DataTable) -> None:
    key = sorted_key()
    for name, value, noun, index in (("g", text(""), "string", "global"), ("b", {"B": ""}, "binary", "local")):
        start = "One or more parameter values are not valid. "
        assert indexed.refusal("PutItem", Item=key | {name: value}) == (
            f"{start}A value specified for a secondary index key is not supported."
            f" The AttributeValue for a key attribute cannot contain an empty {noun} value. IndexName:"
            f" {index}, IndexKey: {name}"
        )
        members: dict[str, Any] = {"UpdateExpression": f"SET {name} = :v", "ExpressionAttributeValues": {":v": value}}
        assert indexed.refusal("UpdateItem", Key=key, **members) == (
            f"{start}The update expression attempted to update a secondary index key to a value that is not supported."
            f" The AttributeValue for a key attribute cannot contain an empty {noun} value."
        )


def test_index_keys_have_a_longest_size(indexed: DataTable) -> None:
    key = sorted_key()
    for name, value in (("g", text("x" * 2049)), ("b", {"B": base64.b64encode(b"x" * 1025).decode()})):
        assert "has exceeded the" in (indexed.refusal("PutItem", Item=key | {name: value}) or "")
        members: dict[str, Any] = {"UpdateExpression": f"SET {name} = :v", "ExpressionAttributeValues": {":v": value}}
        assert indexed.refusal("UpdateItem", Key=key, **members) == (
            "The update expression attempted to update the secondary index key beyond allowed size limits."
        )


def test_nothing_looks_into_an_index_key(indexed: DataTable) -> None:
    message = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: IndexKey: g"
    key = sorted_key()
    assert refusal(indexed, key, "SET g.a = :1") == message
    assert indexed.refusal("PutItem", Item=key, ConditionExpression="attribute_exists(g[0])") == message
    assert indexed.refusal("GetItem", Key=key, ProjectionExpression="g.a") == message


def test_the_order_of_refusals(indexed: DataTable) -> None:
    """Order: types of index keys, updates of the table's own keys, the condition, size and emptiness of index keys."""
    values: dict[str, Value] = {":n": number(1), ":e": text(""), ":s": text("s")}

    def heard(expression: str, condition: str | None = None) -> tuple[str, str | None]:
        words = f"{expression} {condition or ''}".replace(",", " ").split()
        given = {token: value for token, value in values.items() if token in words}
        return indexed.fault("UpdateItem", Key=sorted_key(), UpdateExpression=expression, ConditionExpression=condition,
                             ExpressionAttributeValues=given)  # fmt: skip

    exists = "attribute_exists(pk)"
    mismatch = ("ValidationException", MISMATCH.format("g", "S", "N", "global"))
    own_key = ("ValidationException", INVALID + "Cannot update attribute sk. This attribute is part of the key")
    assert heard("SET g = :n, sk = :s", exists) == mismatch
    assert heard("SET g = :e, sk = :s", exists) == own_key
    assert heard("SET g = :e", exists) == CONDITION_FAILED
    assert "secondary index key to a value that is not supported" in (heard("SET g = :e")[1] or "")
