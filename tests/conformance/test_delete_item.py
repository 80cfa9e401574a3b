"""DeleteItem: absent items, ReturnValues, conditions."""

import pytest

from tests.conformance.item_tables import (
    CONDITION_FAILED,
    ENVELOPE,
    INVALID,
    DataTable,
    Item,
    fresh_key,
    nested,
    number,
)


def test_a_deleted_item_is_gone(table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"a": number(1)})
    assert table.ask("DeleteItem", Key=key) == {}
    assert table.get(key) is None


@pytest.mark.parametrize("wanted", [None, "NONE", "ALL_OLD"])
def test_an_absent_item_is_no_error(table: DataTable, wanted: str | None) -> None:
    assert table.ask("DeleteItem", Key=fresh_key(), ReturnValues=wanted) == {}


@pytest.mark.parametrize("wanted", [None, "NONE", "ALL_OLD"])
def test_the_old_item_is_returned(table: DataTable, wanted: str | None) -> None:
    key = fresh_key()
    table.put(key | {"a": number(1)})
    reply = table.ask("DeleteItem", Key=key, ReturnValues=wanted)
    assert reply == ({"Attributes": key | {"a": number(1)}} if wanted == "ALL_OLD" else {})


def test_a_condition_decides(table: DataTable) -> None:
    key = fresh_key()
    members = {"ConditionExpression": "a = :a", "ExpressionAttributeValues": {":a": number(1)}}
    assert table.fault("DeleteItem", Key=key, **members) == CONDITION_FAILED
    table.put(key | {"a": number(2)})
    assert table.fault("DeleteItem", Key=key, **members) == CONDITION_FAILED
    assert table.get(key) is not None
    table.put(key | {"a": number(1)})
    table.ask("DeleteItem", Key=key, **members)
    assert table.get(key) is None
    table.ask("DeleteItem", Key=key, ConditionExpression="attribute_not_exists(pk)")


def test_a_failed_condition_may_tell_the_item(table: DataTable) -> None:
    key = fresh_key()
    table.put(key)
    request = {
        "TableName": table.name, "Key": key, "ConditionExpression": "attribute_exists(x)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }  # fmt: skip
    assert table.raw("DeleteItem", request).json() == {
        "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "Item": key, "message": "The conditional request failed",
    }  # fmt: skip
    assert "Item" not in table.raw("DeleteItem", request | {"Key": fresh_key()}).json()


@pytest.mark.parametrize("wanted", ["ALL_NEW", "UPDATED_OLD", "UPDATED_NEW"])
def test_values_that_only_an_update_returns_are_refused_after_other_member_errors(
    table: DataTable, wanted: str
) -> None:
    refused = "ReturnValues can only be ALL_OLD or NONE"
    assert table.refusal("DeleteItem", Key=fresh_key(), ReturnValues=wanted) == ENVELOPE + refused
    assert table.refusal("DeleteItem", TableName="missing-table", Key=fresh_key(), ReturnValues=wanted) == (
        ENVELOPE + refused
    )
    bad_key: Item = {"a": {"SS": []}}
    assert table.refusal("DeleteItem", Key=bad_key, ReturnValues=wanted) == ENVELOPE + refused
    assert table.refusal("DeleteItem", TableName="ab", Key=bad_key, ReturnValues=wanted) == (
        (
            "2 validation errors detected: Value 'ab' at 'tableName' failed to satisfy constraint:"
            " Member must have length greater than or equal to 3; "
        )
        + refused
    )
    assert table.refusal("DeleteItem", Key=bad_key, ReturnValues="x").startswith(  # type: ignore[union-attr]
        ENVELOPE + "Failed to satisfy"
    )


def test_the_older_layer_refuses_them_alone(table: DataTable) -> None:
    deep = fresh_key() | {"deep": nested(63)}
    assert table.refusal("DeleteItem", Key=deep, ReturnValues="ALL_NEW") == "ReturnValues can only be ALL_OLD or NONE"
    assert table.refusal("DeleteItem", Key={"a": {"NULL": "no"}}, ReturnValues="ALL_NEW") == (
        INVALID + "Null attribute value types must have the value of true"
    )
