"""TransactGetItems: items in the order of the request, faults reported before and among the reasons, capacity."""

from typing import Any

import pytest

from tests.conformance.item_tables import DataTable, fresh_key, number, text
from tests.conformance.tables import fault, validation
from tests.conformance.transactions import NONE, SCHEMA, TOO_LARGE, TWICE, get, invalid, read, reasons
from tests.support.raw_client import RawClient


def refusal(raw: RawClient, *actions: Any, **members: Any) -> str | None:
    """Message of a ValidationException for the whole request."""
    return validation(raw, "TransactGetItems", {"TransactItems": list(actions)} | members)


def test_items_come_in_the_order_asked_for(raw: RawClient, table: DataTable, sorted_table: DataTable) -> None:
    first, absent, second = fresh_key(), fresh_key(), fresh_key() | {"sk": text("s")}
    table.put(first | {"a": number("1.0")})
    sorted_table.put(second)
    assert read(raw, get(sorted_table, second), get(table, absent), get(table, first)) == {
        "Responses": [{"Item": second}, {}, {"Item": first | {"a": number(1)}}]
    }


def test_projections(raw: RawClient, table: DataTable) -> None:
    key, other = fresh_key(), fresh_key()
    table.put(key | {"a": {"M": {"b": text("x"), "c": text("y")}}, "n": number(1)})
    table.put(other)
    members = {"ProjectionExpression": "#a.b, n", "ExpressionAttributeNames": {"#a": "a"}}
    assert read(raw, get(table, key, **members), get(table, other, **members), get(table, fresh_key(), **members)) == {
        "Responses": [{"Item": {"a": {"M": {"b": text("x")}}, "n": number(1)}}, {}, {}]
    }


def test_a_hundred_items(raw: RawClient, table: DataTable) -> None:
    keys = [fresh_key() for _ in range(100)]
    table.put(keys[7])
    responses = read(raw, *[get(table, key) for key in keys])["Responses"]
    assert responses == [{"Item": key} if key == keys[7] else {} for key in keys]
    message = refusal(raw, *[get(table, fresh_key()) for _ in range(101)])
    assert message is not None
    assert message.endswith(
        "Value at 'TransactItems' failed to satisfy constraint: Member must have length less than or equal to 100"
    )


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (None, "Value null at 'transactItems' failed to satisfy constraint: Member must not be null"),
        (
            [],
            "Value at 'TransactItems' failed to satisfy constraint: Member must have length greater than or equal to 1",
        ),
        ([{}], "Value null at 'transactItems.1.member.get' failed to satisfy constraint: Member must not be null"),
        (
            [{"Get": {"TableName": "abc"}}],
            "Value null at 'transactItems.1.member.get.key' failed to satisfy constraint: Member must not be null",
        ),
    ],
)
def test_constraints(raw: RawClient, items: Any, message: str) -> None:
    assert validation(raw, "TransactGetItems", {"TransactItems": items}) == "1 validation error detected: " + message


def test_refused_up_front(raw: RawClient, table: DataTable) -> None:
    key = fresh_key()
    assert refusal(raw, get(table, key), get(table, key)) == TWICE
    assert refusal(raw, get(table, key), {"Get": {"TableName": table.arn, "Key": key}}) == TWICE
    assert refusal(raw, get(table, key, ProjectionExpression="a,,b")) == (
        'Invalid ProjectionExpression: Syntax error; token: ",", near: ",,b"'
    )
    assert refusal(raw, get(table, key, ExpressionAttributeNames={"#a": "a"})) == (
        "ExpressionAttributeNames can only be specified when using expressions"
    )
    assert refusal(raw, get(table, {"pk": {"N": "x"}})) == "The parameter cannot be converted to a numeric value: x"
    body = {"TransactItems": [get(table, key), {"Get": {"TableName": "no-such-table", "Key": key}}]}
    assert fault(raw, "TransactGetItems", body) == ("ResourceNotFoundException", "Requested resource not found")


def test_keys_that_do_not_fit_are_reasons(raw: RawClient, table: DataTable) -> None:
    found = reasons(raw, get(table, fresh_key()), get(table, {"pk": number(1)}), operation="TransactGetItems")
    assert found == [NONE, invalid(SCHEMA)]
    found = reasons(raw, get(table, fresh_key(), ProjectionExpression="pk.a"), operation="TransactGetItems")
    assert found == [
        invalid("Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: Key: pk")
    ]


def test_four_megabytes_are_the_most(raw: RawClient, table: DataTable) -> None:
    keys = [fresh_key() for _ in range(11)]
    for key in keys:
        table.put(key | {"a": text("x" * 399_000)})
    assert refusal(raw, *[get(table, key, ProjectionExpression="pk") for key in keys]) == TOO_LARGE
    assert len(read(raw, *[get(table, key) for key in keys[:10]])["Responses"]) == 10


def test_capacity_is_doubled(raw: RawClient, table: DataTable, sorted_table: DataTable) -> None:
    small, large, other = fresh_key(), fresh_key(), fresh_key() | {"sk": text("s")}
    table.put(small)
    table.put(large | {"a": text("x" * 4096)})
    actions = [get(table, small), get(table, large, ProjectionExpression="pk"), get(sorted_table, other)]
    assert "ConsumedCapacity" not in read(raw, *actions, ReturnConsumedCapacity="NONE")
    assert read(raw, *actions, ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"] == [
        {"TableName": table.name, "CapacityUnits": 6.0, "ReadCapacityUnits": 6.0},
        {"TableName": sorted_table.name, "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0},
    ]
    assert read(raw, actions[0], ReturnConsumedCapacity="INDEXES")["ConsumedCapacity"] == [
        {
            "TableName": table.name, "CapacityUnits": 2.0, "ReadCapacityUnits": 2.0,
            "Table": {"CapacityUnits": 2.0, "ReadCapacityUnits": 2.0},
        }
    ]  # fmt: skip
