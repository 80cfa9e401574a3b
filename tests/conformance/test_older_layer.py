"""Requests for single items that fall back to the older layer: those with values nested beyond 62 levels,
and those without a key.
"""

from typing import Any

import pytest

from tests.conformance.item_tables import ENVELOPE, INVALID, DataTable, Item, fresh_key, nested, number, text
from tests.conformance.tables import fault
from tests.support.raw_client import RawClient

TOO_DEEP = (
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit"
)
OLD_ONLY = "ReturnValues can only be ALL_OLD or NONE"
GENERAL = "Value '{value}' at '{place}' failed to satisfy constraint: Member must satisfy enum value set: [{values}]"
OPERATOR = GENERAL.format(value="XOR", place="conditionalOperator", values="OR, AND")
RETURN_VALUES = GENERAL.format(
    value="y", place="returnValues", values="ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW"
)
CAPACITY = GENERAL.format(value="x", place="returnConsumedCapacity", values="INDEXES, TOTAL, NONE")
NEWER_OPERATOR = "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]"


def deep_members(operation: str, levels: int) -> list[dict[str, Any]]:
    """Requests of an operation, each with a value of this many levels in another member."""
    deep = nested(levels)
    if operation == "GetItem":
        return [{"Key": fresh_key() | {"deep": deep}}]
    own = "Item" if operation == "PutItem" else "Key"
    requests: list[dict[str, Any]] = [
        {own: fresh_key() | {"deep": deep}},
        {own: fresh_key(), "Expected": {"a": {"Value": deep}}},
        {own: fresh_key(), "Expected": {"a": {"ComparisonOperator": "IN", "AttributeValueList": [text("a"), deep]}}},
    ]
    if operation == "UpdateItem":
        requests.append({own: fresh_key(), "AttributeUpdates": {"a": {"Value": deep}}})
    return requests


WRITES = ["PutItem", "UpdateItem", "DeleteItem"]


@pytest.mark.parametrize("operation", [*WRITES, "GetItem"])
def test_values_beyond_62_levels_are_refused_without_an_envelope(table: DataTable, operation: str) -> None:
    envelope = "" if operation == "GetItem" else ENVELOPE
    for levels, message in ((62, envelope + TOO_DEEP), (63, TOO_DEEP), (200, TOO_DEEP)):
        for members in deep_members(operation, levels):
            assert table.refusal(operation, **members) == message


@pytest.mark.parametrize("operation", WRITES)
def test_enumerations_are_told_together_in_general_sentences(table: DataTable, operation: str) -> None:
    enumerations = {"ConditionalOperator": "XOR", "ReturnValues": "y", "ReturnConsumedCapacity": "x"}
    told = [CAPACITY, OPERATOR, RETURN_VALUES] if operation == "PutItem" else [CAPACITY, RETURN_VALUES, OPERATOR]
    for members in deep_members(operation, 63):
        assert table.refusal(operation, **members, ConditionalOperator="XOR") == ENVELOPE + OPERATOR
        assert table.refusal(operation, **members, **enumerations) == "3 validation errors detected: " + "; ".join(told)
    for members in deep_members(operation, 62):
        assert table.refusal(operation, **members, **enumerations) == NEWER_OPERATOR


@pytest.mark.parametrize("operation", ["PutItem", "DeleteItem"])
def test_return_values_are_refused_without_an_envelope_and_before_the_depth(table: DataTable, operation: str) -> None:
    for members in deep_members(operation, 63):
        assert table.refusal(operation, **members, ReturnValues="ALL_NEW") == OLD_ONLY
    own, *conditions = deep_members(operation, 62)
    first = OLD_ONLY if operation == "DeleteItem" else TOO_DEEP  # DeleteItem reports it among the constraints
    assert table.refusal(operation, **own, ReturnValues="ALL_NEW") == ENVELOPE + first
    for members in conditions:
        assert table.refusal(operation, **members, ReturnValues="ALL_NEW") == ENVELOPE + OLD_ONLY


@pytest.mark.parametrize("operation", WRITES)
def test_a_value_of_an_expression_is_told_with_its_token(table: DataTable, operation: str) -> None:
    own = "Item" if operation == "PutItem" else "Key"
    named = f"ExpressionAttributeValues contains invalid value: {TOO_DEEP} for key :deep"
    for levels, message in ((62, ENVELOPE + TOO_DEEP), (63, named)):
        members = {"ConditionExpression": "a = :deep", "ExpressionAttributeValues": {":deep": nested(levels)}}
        assert table.refusal(operation, **{own: fresh_key()}, **members) == message
    members = {"ConditionExpression": "a = :deep", "ExpressionAttributeValues": {":a": {"SS": []}, ":deep": nested(63)}}
    assert table.refusal(operation, **{own: fresh_key()}, **members) == (
        f"ExpressionAttributeValues contains invalid value: {INVALID}An string set  may not be empty for key :a"
    )


@pytest.mark.parametrize("operation", WRITES)
def test_expressions_are_read_before_the_depth_is_told(table: DataTable, operation: str) -> None:
    syntax = 'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "="'
    own = "Item" if operation == "PutItem" else "Key"
    for levels, message in ((62, ENVELOPE + TOO_DEEP), (63, syntax)):
        members = {own: fresh_key() | {"deep": nested(levels)}, "ConditionExpression": "a ="}
        assert table.refusal(operation, **members) == message
    values = {"ExpressionAttributeValues": {":a": number(1)}}
    assert table.refusal(operation, **{own: fresh_key() | {"deep": nested(63)}}, **values) == (
        "ExpressionAttributeValues can only be specified when using expressions: "
        + (
            "UpdateExpression and ConditionExpression are null"
            if operation == "UpdateItem"
            else "ConditionExpression is null"
        )
    )


def test_a_projection_is_read_before_the_depth_is_told(table: DataTable) -> None:
    syntax = 'Invalid ProjectionExpression: Syntax error; token: ",", near: ",,b"'
    for levels, message in ((62, TOO_DEEP), (63, syntax)):
        key = fresh_key() | {"deep": nested(levels)}
        assert table.refusal("GetItem", Key=key, ProjectionExpression="a,,b") == message


def test_other_operations_have_one_layer(table: DataTable) -> None:
    deep: dict[str, Item] = {"ExclusiveStartKey": {"pk": nested(63)}}
    condition = {"KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": text("a")}}
    assert table.refusal("Query", **condition, **deep, ConditionalOperator="XOR") == NEWER_OPERATOR


@pytest.mark.parametrize("operation", ["UpdateItem", "DeleteItem"])
def test_without_a_key_all_members_are_told_in_general_sentences(raw: RawClient, operation: str) -> None:
    request = {"TableName": "", "ConditionalOperator": "XOR", "ReturnValues": "y", "ReturnConsumedCapacity": "x"}
    name = "Value '' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 1"
    key = "Value null at 'key' failed to satisfy constraint: Member must not be null"
    told = [CAPACITY, name, RETURN_VALUES, *((OPERATOR, key) if operation == "UpdateItem" else (key, OPERATOR))]
    assert fault(raw, operation, request) == (
        "ValidationException",
        "5 validation errors detected: " + "; ".join(told),
    )
