"""TransactWriteItems: all or nothing, cancellation reasons in order, faults that are reported before all reasons."""

from typing import Any

import pytest

from tests.conformance.item_tables import (
    INVALID,
    ITEM_MAX_BYTES,
    DataTable,
    fresh_key,
    make_table,
    number,
    text,
)
from tests.conformance.propagation import propagated
from tests.conformance.tables import fault, validation
from tests.conformance.transactions import (
    FAILED,
    NONE,
    ONE_ACTION,
    SCHEMA,
    TOO_LARGE,
    TWICE,
    check,
    delete,
    invalid,
    put,
    reasons,
    update,
    write,
)
from tests.support.raw_client import RawClient

ALL_OLD = {"ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
ABSENT = "attribute_not_exists(pk)"


def refusal(raw: RawClient, *actions: Any, **members: Any) -> str | None:
    """Message of a ValidationException for the whole request."""
    return validation(raw, "TransactWriteItems", {"TransactItems": list(actions)} | members)


# --- what it does ---------------------------------------------------------------------------------


def test_four_kinds_over_two_tables_take_place_together(
    raw: RawClient, table: DataTable, sorted_table: DataTable
) -> None:
    new, changed, removed, looked_at = (fresh_key() for _ in range(4))
    sorted_key = new | {"sk": text("s")}
    for key in (changed, removed, looked_at):
        table.put(key | {"a": number(0)})
    reply = write(
        raw,
        put(table, new | {"b": text("x")}),
        update(table, changed, "ADD a :a", ExpressionAttributeValues={":a": number(2)}),
        delete(table, removed),
        check(table, looked_at),
        put(sorted_table, sorted_key),
    )
    assert reply == {}
    assert table.get(new) == new | {"b": text("x")}
    assert table.get(changed) == changed | {"a": number(2)}
    assert table.get(removed) is None
    assert table.get(looked_at) == looked_at | {"a": number(0)}
    assert sorted_table.get(sorted_key) == sorted_key


def test_one_refusal_undoes_everything(raw: RawClient, table: DataTable) -> None:
    first, second, third = (fresh_key() for _ in range(3))
    table.put(second)
    found = reasons(
        raw, put(table, first), put(table, second | {"a": number(1)}, ConditionExpression=ABSENT), update(table, third)
    )
    assert found == [NONE, FAILED, NONE]
    assert table.get(first) is None
    assert table.get(second) == second
    assert table.get(third) is None


def test_all_refusals_are_told_in_order(raw: RawClient, table: DataTable) -> None:
    there, text_there, absent = fresh_key() | {}, fresh_key(), fresh_key()
    table.put(there)
    table.put(text_there | {"a": text("x")})
    found = reasons(
        raw,
        check(table, there, ABSENT, **ALL_OLD),
        update(table, text_there, "ADD a :a", ExpressionAttributeValues={":a": number(1)}),
        put(table, fresh_key()),
        delete(table, absent, ConditionExpression="attribute_exists(pk)", **ALL_OLD),
    )
    assert found == [
        FAILED | {"Item": there},
        invalid("An operand in the update expression has an incorrect data type"),
        NONE,
        FAILED,
    ]


@pytest.mark.parametrize("wanted", [None, "NONE", "ALL_OLD"])
def test_the_item_is_told_when_asked_for(raw: RawClient, table: DataTable, wanted: str | None) -> None:
    key = fresh_key()
    table.put(key | {"a": number(1)})
    members: dict[str, Any] = {"ConditionExpression": ABSENT, "ReturnValuesOnConditionCheckFailure": wanted}
    expected = [FAILED | ({"Item": key | {"a": number(1)}} if wanted == "ALL_OLD" else {})]
    assert reasons(raw, put(table, key, **members)) == expected
    assert reasons(raw, delete(table, key, **members)) == expected
    assert reasons(raw, update(table, key, **members)) == expected
    del members["ConditionExpression"]
    assert reasons(raw, check(table, key, ABSENT, **members)) == expected


def test_sdk_clients_see_the_reasons(client: Any, raw: RawClient, table: DataTable) -> None:
    key = fresh_key()
    with pytest.raises(client.exceptions.TransactionCanceledException) as caught:
        client.transact_write_items(TransactItems=[check(table, key), put(table, fresh_key())])
    assert caught.value.response["CancellationReasons"] == [FAILED, NONE]
    client.transact_write_items(TransactItems=[check(table, key, ABSENT)])


def test_a_table_may_be_named_by_its_arn(raw: RawClient, table: DataTable) -> None:
    key = fresh_key()
    write(raw, {"Put": {"TableName": table.arn, "Item": key}})
    assert table.get(key) == key
    assert refusal(raw, {"Put": {"TableName": table.arn, "Item": key}}, delete(table, key)) == TWICE


def test_a_hundred_actions(raw: RawClient, table: DataTable) -> None:
    keys = [fresh_key() for _ in range(100)]
    write(raw, *[put(table, key) for key in keys])
    assert all(table.get(key) for key in keys)


def test_index_entries_follow(raw: RawClient) -> None:
    indexed = make_table(
        raw,
        definitions={"g": "S"},
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-g",
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    first, second = fresh_key(), fresh_key()
    write(
        raw,
        put(indexed, first | {"g": text("x")}),
        update(indexed, second, "SET g = :g", ExpressionAttributeValues={":g": text("x")}),
    )
    members = {"IndexName": "by-g", "ExpressionAttributeValues": {":g": text("x")}}
    propagated(raw)
    assert indexed.query("g = :g", **members)["Count"] == 2
    mismatch = INVALID + "Type mismatch for Index Key g Expected: S Actual: N IndexName: by-g"
    assert reasons(raw, put(indexed, first | {"g": number(1)}), delete(indexed, second)) == [invalid(mismatch), NONE]
    write(raw, delete(indexed, first), delete(indexed, second))
    propagated(raw)
    assert indexed.query("g = :g", **members)["Count"] == 0


# --- refused up front, not in the reasons ----------------------------------------------------------


def test_an_element_has_exactly_one_action(raw: RawClient, table: DataTable) -> None:
    key = fresh_key()
    assert refusal(raw, put(table, key), put(table, fresh_key()) | delete(table, key)) == ONE_ACTION


def test_an_item_has_one_action(raw: RawClient, table: DataTable) -> None:
    key = fresh_key()
    assert refusal(raw, put(table, key), delete(table, key)) == TWICE
    assert refusal(raw, check(table, key), update(table, key)) == TWICE
    assert table.get(key) is None


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (None, "Value null at 'transactItems' failed to satisfy constraint: Member must not be null"),
        (
            [],
            "Value at 'TransactItems' failed to satisfy constraint: Member must have length greater than or equal to 1",
        ),
        (
            [{"Put": {"TableName": "abc"}}],
            "Value null at 'transactItems.1.member.put.item' failed to satisfy constraint: Member must not be null",
        ),
        (
            [{"ConditionCheck": {"TableName": "abc", "Key": {}}}],
            (
                "Value null at 'transactItems.1.member.conditionCheck.conditionExpression' failed to satisfy"
                " constraint: Member must not be null"
            ),
        ),
        (
            [{"Update": {"TableName": "abc", "Key": {}}}],
            (
                "Value null at 'transactItems.1.member.update.updateExpression' failed to satisfy constraint:"
                " Member must not be null"
            ),
        ),
    ],
)
def test_constraints(raw: RawClient, items: Any, message: str) -> None:
    assert validation(raw, "TransactWriteItems", {"TransactItems": items}) == "1 validation error detected: " + message


def test_both_enumerations_are_reported(raw: RawClient, table: DataTable) -> None:
    message = refusal(raw, put(table, fresh_key()), ReturnConsumedCapacity="x", ReturnItemCollectionMetrics="y")
    assert message == (
        "2 validation errors detected: Value 'x' at 'returnConsumedCapacity' failed to satisfy constraint:"
        " Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; Value 'y' at 'returnItemCollectionMetrics'"
        " failed to satisfy constraint: Member must satisfy enum value set: [SIZE, NONE]"
    )


def test_a_missing_table_refuses_the_request(raw: RawClient, table: DataTable) -> None:
    body = {"TransactItems": [put(table, fresh_key()), {"Put": {"TableName": "no-such-table", "Item": fresh_key()}}]}
    assert fault(raw, "TransactWriteItems", body) == ("ResourceNotFoundException", "Requested resource not found")


def test_expressions_are_checked_first(raw: RawClient, table: DataTable) -> None:
    key = fresh_key()
    assert refusal(raw, check(table, key, "a =")) == (
        'Invalid ConditionExpression: Syntax error; token: "<EOF>", near: "="'
    )
    assert refusal(
        raw, update(table, key, "SET a = :a", ExpressionAttributeValues={":a": number(1), ":b": number(2)})
    ) == ("Value provided in ExpressionAttributeValues unused in expressions: keys: {:b}")
    assert refusal(raw, put(table, key, ExpressionAttributeValues={":a": number(1)})) == (
        "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null"
    )
    assert refusal(raw, check(table, key, "a = :a", ExpressionAttributeValues={":a": {"SS": []}})) == (
        f"ExpressionAttributeValues contains invalid value: {INVALID}An string set  may not be empty for key :a"
    )


def test_a_put_too_large_refuses_the_request(raw: RawClient, table: DataTable) -> None:
    item = fresh_key() | {"a": text("x" * ITEM_MAX_BYTES)}
    assert refusal(raw, put(table, fresh_key()), put(table, item)) == "Item size has exceeded the maximum allowed size"


def test_four_megabytes_are_the_most(raw: RawClient, table: DataTable) -> None:
    items = [fresh_key() | {"a": text("x" * 399_000)} for _ in range(11)]
    assert refusal(raw, *[put(table, item) for item in items]) == TOO_LARGE
    assert table.get({"pk": items[0]["pk"]}) is None
    write(raw, *[put(table, item) for item in items[:10]])
    for item in items[10:]:
        table.put(item)
    updates = [
        update(table, {"pk": item["pk"]}, "SET b = :a", ExpressionAttributeValues={":a": number(1)}) for item in items
    ]
    assert refusal(raw, *updates) == TOO_LARGE


# --- in the reasons ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ({"pk": number(1)}, SCHEMA),
        ({"other": text("a")}, SCHEMA),
        ({"pk": text("a"), "more": text("b")}, SCHEMA),
    ],
)
def test_keys_that_do_not_fit(raw: RawClient, table: DataTable, key: Any, message: str) -> None:
    expected = [invalid(message), NONE]
    assert reasons(raw, update(table, key), put(table, fresh_key())) == expected
    assert reasons(raw, delete(table, key), put(table, fresh_key())) == expected
    assert reasons(raw, check(table, key), put(table, fresh_key())) == expected


def test_items_without_their_keys(raw: RawClient, table: DataTable) -> None:
    found = reasons(raw, put(table, {"a": number(1)}), put(table, {"pk": number(1)}), put(table, fresh_key()))
    assert found == [
        invalid(INVALID + "Missing the key pk in the item"),
        invalid(INVALID + "Type mismatch for key pk expected: S actual: N"),
        NONE,
    ]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("SET a = b", "The provided expression refers to an attribute that does not exist in the item"),
        ("SET a.b = :a", "The document path provided in the update expression is invalid for update"),
        ("SET a = a + :a", "The provided expression refers to an attribute that does not exist in the item"),
        ("SET pk = :a", INVALID + "Cannot update attribute pk. This attribute is part of the key"),
    ],
)
def test_updates_that_cannot_be_applied(raw: RawClient, table: DataTable, expression: str, message: str) -> None:
    values = {"ExpressionAttributeValues": {":a": number(1)}} if ":a" in expression else {}
    found = reasons(raw, put(table, fresh_key()), update(table, fresh_key(), expression, **values))
    assert found == [NONE, invalid(message)]


def test_an_update_too_large_is_a_reason(raw: RawClient, table: DataTable) -> None:
    key = fresh_key()
    table.put(key | {"a": text("x" * 400_000)})
    found = reasons(raw, update(table, key, "SET b = :b", ExpressionAttributeValues={":b": text("x" * 20_000)}))
    assert found == [invalid("Item size to update has exceeded the maximum allowed size")]


# --- figures ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def indexed(raw: RawClient) -> DataTable:
    """A table with a global and a local index."""
    return make_table(
        raw,
        "S",
        "S",
        definitions={"g": "S", "l": "S"},
        GlobalSecondaryIndexes=[
            {
                "IndexName": "global",
                "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        LocalSecondaryIndexes=[
            {
                "IndexName": "local",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
    )


def test_capacity_is_doubled_on_the_table_and_single_on_its_indexes(
    raw: RawClient, table: DataTable, indexed: DataTable
) -> None:
    key = fresh_key()
    first = key | {"sk": text("1"), "g": text("x"), "l": text("y"), "long": text("x" * 1500)}
    small, large = fresh_key(), fresh_key()
    table.put(large | {"a": text("x" * 2500)})
    actions = [
        put(indexed, first),
        put(indexed, key | {"sk": text("2")}),
        put(table, small),
        check(table, large),
        delete(table, fresh_key()),
    ]
    reply = write(raw, *actions, ReturnConsumedCapacity="INDEXES")
    assert reply["ConsumedCapacity"] == [
        {
            "TableName": indexed.name, "CapacityUnits": 9.0, "WriteCapacityUnits": 9.0,
            "Table": {"CapacityUnits": 6.0, "WriteCapacityUnits": 6.0},
            "GlobalSecondaryIndexes": {"global": {"CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}},
            "LocalSecondaryIndexes": {"local": {"CapacityUnits": 1.0, "WriteCapacityUnits": 1.0}},
        },
        {
            "TableName": table.name, "CapacityUnits": 10.0, "WriteCapacityUnits": 10.0,
            "Table": {"WriteCapacityUnits": 10.0, "CapacityUnits": 10.0},
        },
    ]  # fmt: skip
    reply = write(raw, put(table, small), ReturnConsumedCapacity="TOTAL")
    assert reply == {"ConsumedCapacity": [{"TableName": table.name, "CapacityUnits": 2.0, "WriteCapacityUnits": 2.0}]}
    assert write(raw, put(table, small), ReturnConsumedCapacity="NONE") == {}


def test_item_collection_metrics(raw: RawClient, table: DataTable, indexed: DataTable) -> None:
    key, other, checked = fresh_key(), fresh_key(), fresh_key()
    indexed.put(checked | {"sk": text("1")})
    reply = write(
        raw,
        put(indexed, key | {"sk": text("1")}),
        put(indexed, key | {"sk": text("2")}),
        update(indexed, other | {"sk": text("1")}),
        check(indexed, checked | {"sk": text("1")}),
        put(table, key),
        ReturnItemCollectionMetrics="SIZE",
    )
    assert reply == {
        "ItemCollectionMetrics": {
            indexed.name: [
                {"ItemCollectionKey": key, "SizeEstimateRangeGB": [0.0, 1.0]},
                {"ItemCollectionKey": other, "SizeEstimateRangeGB": [0.0, 1.0]},
            ]
        }
    }
    assert write(raw, put(table, key), ReturnItemCollectionMetrics="SIZE") == {}
