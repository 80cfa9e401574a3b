"""PutItem: replacing, ReturnValues, conditions, keys."""

from typing import Any

import pytest

from tests.conformance.item_tables import (
    CONDITION_FAILED,
    ENVELOPE,
    INVALID,
    NOT_FOUND,
    NOT_VALID,
    DataTable,
    fresh_key,
    make_table,
    number,
    text,
)
from tests.support.raw_client import RawClient

PUT_ENUM = (
    "Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD,"
    " ALL_NEW, UPDATE_NEW, NONE]"
)


def test_an_item_is_replaced_whole(table: DataTable) -> None:
    key = fresh_key()
    assert table.put(key | {"a": text("1"), "b": text("2")}) == {}
    assert table.put(key | {"c": text("3")}) == {}
    assert table.get(key) == key | {"c": text("3")}


@pytest.mark.parametrize("wanted", [None, "NONE"])
def test_nothing_is_returned_by_default(table: DataTable, wanted: str | None) -> None:
    key = fresh_key()
    assert table.put(key, ReturnValues=wanted) == {}
    assert table.put(key, ReturnValues=wanted) == {}


def test_the_old_item_is_returned(table: DataTable) -> None:
    key = fresh_key()
    assert table.put(key | {"a": number(1)}, ReturnValues="ALL_OLD") == {}
    assert table.put(key, ReturnValues="ALL_OLD") == {"Attributes": key | {"a": number(1)}}
    assert table.put(key, ReturnValues="ALL_OLD") == {"Attributes": key}


@pytest.mark.parametrize("wanted", ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
def test_other_return_values_are_refused(table: DataTable, wanted: str) -> None:
    message = ENVELOPE + "ReturnValues can only be ALL_OLD or NONE"
    assert table.refusal("PutItem", Item=fresh_key(), ReturnValues=wanted) == message
    assert table.refusal("DeleteItem", Key=fresh_key(), ReturnValues=wanted) == message


def test_a_condition_decides(table: DataTable) -> None:
    key = fresh_key()
    absent: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(pk)"}
    table.put(key | {"a": number(1)}, **absent)
    assert table.fault("PutItem", Item=key, **absent) == CONDITION_FAILED
    assert table.get(key) == key | {"a": number(1)}
    present = {"ConditionExpression": "#a = :a", "ExpressionAttributeNames": {"#a": "a"}}
    table.put(key | {"a": number(2)}, ExpressionAttributeValues={":a": number("1.0")}, **present)
    assert table.fault("PutItem", Item=key, ExpressionAttributeValues={":a": number(1)}, **present) == CONDITION_FAILED


@pytest.mark.parametrize("wanted", [None, "NONE", "ALL_OLD"])
def test_a_failed_condition_may_tell_the_item(table: DataTable, wanted: str | None) -> None:
    key = fresh_key()
    item = key | {"a": number(1)}
    table.put(item)
    request = {
        "TableName": table.name, "Item": key, "ConditionExpression": "attribute_exists(x)",
        "ReturnValuesOnConditionCheckFailure": wanted,
    }  # fmt: skip
    body = table.raw("PutItem", request).json()
    assert body.get("Item") == (item if wanted == "ALL_OLD" else None)
    body = table.raw("PutItem", request | {"Item": fresh_key()}).json()
    assert body["__type"].endswith("#ConditionalCheckFailedException")
    assert "Item" not in body


def test_a_missing_item_is_empty_to_conditions(table: DataTable) -> None:
    values = {":v": text("a")}
    assert table.fault("PutItem", Item=fresh_key(), ConditionExpression="a = :v", ExpressionAttributeValues=values) == (
        CONDITION_FAILED
    )
    table.put(fresh_key(), ConditionExpression="a <> :v", ExpressionAttributeValues=values)
    table.put(fresh_key(), ConditionExpression="NOT a = :v", ExpressionAttributeValues=values)


def test_keys_may_be_scalars_only_in_conditions(sorted_table: DataTable) -> None:
    item = fresh_key() | {"sk": text("a")}
    for path, name in (("pk.a", "pk"), ("sk[0]", "sk"), ("pk[1].b", "pk")):
        message = (
            f"Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: {name}"
        )
        assert sorted_table.refusal("PutItem", Item=item, ConditionExpression=f"attribute_exists({path})") == message


def test_an_item_needs_its_keys(sorted_table: DataTable) -> None:
    assert sorted_table.refusal("PutItem", Item=fresh_key()) == INVALID + "Missing the key sk in the item"
    assert sorted_table.refusal("PutItem", Item={"sk": text("a")}) == INVALID + "Missing the key pk in the item"
    assert sorted_table.refusal("PutItem", Item={}) == INVALID + "Missing the key pk in the item"


@pytest.mark.parametrize(
    ("value", "actual"),
    [({"N": "1"}, "N"), ({"B": "AA=="}, "B"), ({"BOOL": True}, "BOOL"), ({"NULL": True}, "NULL"), ({"L": []}, "L"),
     ({"M": {}}, "M"), ({"SS": ["a"]}, "SS"), ({"NS": ["1"]}, "NS"), ({"BS": ["AA=="]}, "BS")],
)  # fmt: skip
def test_keys_have_their_types(sorted_table: DataTable, value: dict[str, Any], actual: str) -> None:
    message = INVALID + "Type mismatch for key {} expected: S actual: {}"
    item = {"pk": value, "sk": value}
    assert sorted_table.refusal("PutItem", Item=item) == message.format("pk", actual)
    assert sorted_table.refusal("PutItem", Item=fresh_key() | {"sk": value}) == message.format("sk", actual)


def test_keys_are_not_empty(raw: RawClient, sorted_table: DataTable) -> None:
    empty = NOT_VALID + "The AttributeValue for a key attribute cannot contain an empty {} value. Key: {}"
    assert sorted_table.refusal("PutItem", Item={"pk": text(""), "sk": text("")}) == empty.format("string", "pk")
    assert sorted_table.refusal("PutItem", Item=fresh_key() | {"sk": text("")}) == empty.format("string", "sk")
    binary = make_table(raw, "B", "B")
    assert binary.refusal("PutItem", Item={"pk": {"B": ""}, "sk": {"B": ""}}) == empty.format("binary", "pk")
    assert binary.refusal("PutItem", Item={"pk": {"B": "AA=="}, "sk": {"B": ""}}) == empty.format("binary", "sk")
    assert binary.refusal("GetItem", Key={"pk": {"B": "AA=="}, "sk": {"B": ""}}) == empty.format("binary", "sk")


@pytest.mark.parametrize("fill", ["x", "ä", "\u20ac", "\U0001f600"])
def test_keys_have_a_longest_size(sorted_table: DataTable, fill: str) -> None:
    width = len(fill.encode())
    for name, limit, message in (
        ("pk", 2048, INVALID + "Size of hashkey has exceeded the maximum size limit of2048 bytes"),
        ("sk", 1024, INVALID + "Aggregated size of all range keys has exceeded the size limit of 1024 bytes"),
    ):
        longest = fill * (limit // width) + "x" * (limit % width)
        key = fresh_key() | {"sk": text("a")} | {name: text(longest)}
        sorted_table.put(key)
        assert sorted_table.get(key) == key
        key[name] = text(longest + "x")
        assert sorted_table.refusal("PutItem", Item=key) == message
        for operation in ("GetItem", "DeleteItem", "UpdateItem"):
            assert sorted_table.refusal(operation, Key=key) == message


def test_a_table_goes_by_its_arn(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"a": number(1)}, TableName=table.arn)
    assert table.get(key) == table.get(key, TableName=table.arn) == key | {"a": number(1)}
    absent = table.arn + "-absent"
    assert table.fault("PutItem", Item=key, TableName=absent) == NOT_FOUND
    assert table.fault("PutItem", Item=key, TableName="absent-table") == NOT_FOUND
    assert table.fault("PutItem", Item=key, TableName="abs") == NOT_FOUND


def test_numbers_are_one_key_however_written(raw: RawClient) -> None:
    table = make_table(raw, "N", "N")
    table.put({"pk": number("1.0"), "sk": number("1e2"), "a": text("a")})
    assert table.get({"pk": number("01"), "sk": number("100")}) == {"pk": number(1), "sk": number(100), "a": text("a")}
    table.put({"pk": number("+1"), "sk": number("100.00")})
    assert table.ask("Scan", Select="COUNT")["Count"] == 1


@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem"])
def test_constraints_are_collected(table: DataTable, operation: str) -> None:
    refusal = table.refusal(
        operation, Item=fresh_key(), Key=fresh_key(), TableName="a&b", ReturnValues="x", ReturnConsumedCapacity="x",
        ReturnItemCollectionMetrics="x",
    )  # fmt: skip
    assert refusal is not None
    assert refusal.startswith("4 validation errors detected: ")
    assert PUT_ENUM in refusal


def test_an_unknown_value_of_the_newest_member(table: DataTable) -> None:
    assert table.refusal("PutItem", Item=fresh_key(), ReturnValuesOnConditionCheckFailure="x") == (
        "1 validation error detected: Value 'x' at 'returnValuesOnConditionCheckFailure' failed to satisfy constraint:"
        " Member must satisfy enum value set: [ALL_OLD, NONE]"
    )


def test_an_empty_table_name(table: DataTable) -> None:
    message = (
        ENVELOPE
        + "Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1"
    )
    assert table.refusal("PutItem", Item=fresh_key(), TableName="") == message
    null = ENVELOPE + "Value null at 'tableName' failed to satisfy constraint: Member must not be null"
    assert table.refusal("PutItem", Item=fresh_key(), TableName=None) == null
