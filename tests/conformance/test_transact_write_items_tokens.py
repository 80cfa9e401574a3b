"""ClientRequestToken: the same request within ten minutes is not executed again."""

import json
from itertools import count
from typing import Any

import pytest

from tests.conformance.item_tables import DataTable, fresh_key, number, text
from tests.conformance.tables import fault, validation
from tests.conformance.transactions import FAILED, delete, put, reasons, update, write
from tests.support.raw_client import RawClient

_numbers = count(1)


def fresh_token() -> str:
    return f"token-{next(_numbers)}"


def add_one(table: DataTable, key: Any, **members: Any) -> Any:
    return update(table, key, "ADD n :one", ExpressionAttributeValues={":one": number(1)}, **members)


def test_a_replay_changes_nothing_and_succeeds(raw: RawClient, table: DataTable) -> None:
    key, token = fresh_key(), fresh_token()
    for _ in range(3):
        assert write(raw, add_one(table, key), ClientRequestToken=token) == {}
    assert table.get(key) == key | {"n": number(1)}
    write(raw, add_one(table, key), ClientRequestToken=fresh_token())
    assert table.get(key) == key | {"n": number(2)}


def test_a_replay_succeeds_whatever_has_happened_since(raw: RawClient, table: DataTable) -> None:
    key, token = fresh_key(), fresh_token()
    action = put(table, key, ConditionExpression="attribute_not_exists(pk)")
    write(raw, action, ClientRequestToken=token)
    write(raw, action, ClientRequestToken=token)
    table.ask("DeleteItem", Key=key)
    write(raw, action, ClientRequestToken=token)
    assert table.get(key) is None


def test_the_order_of_json_keys_does_not_count(raw: RawClient, table: DataTable) -> None:
    key, token = fresh_key(), fresh_token()
    item = key | {"a": number(1), "m": {"M": {"x": text("1"), "y": text("2")}}}
    body = {"TransactItems": [put(table, item)], "ClientRequestToken": token}
    assert raw("TransactWriteItems", json.dumps(body).encode()).status == 200
    turned = {"m": {"M": {"y": text("2"), "x": text("1")}}, "a": number(1)} | key
    other = {"ClientRequestToken": token, "TransactItems": [{"Put": {"Item": turned, "TableName": table.name}}]}
    assert raw("TransactWriteItems", json.dumps(other).encode()).status == 200


def test_the_order_of_sets_does_not_count(raw: RawClient, table: DataTable) -> None:
    """boto3 sends Python's sets in the order of their hashes, which differs between processes."""
    key, other, token = fresh_key(), fresh_key(), fresh_token()
    sets = {"s": {"SS": ["a", "b", "c"]}, "n": {"NS": ["1", "2", "10"]}, "b": {"BS": ["AQ==", "Ag=="]}}
    turned = {name: {kind: members[::-1] for kind, members in one.items()} for name, one in sets.items()}
    for attributes in (sets, turned):
        values = {":one": number(1), ":v": {"L": [{"M": attributes}]}}
        action = update(table, key, "ADD n :one SET v = :v", ExpressionAttributeValues=values)
        write(raw, action, put(table, other | attributes), ClientRequestToken=token)
    assert (table.get(key) or {})["n"] == number(1)
    longer = {"TransactItems": [put(table, other | {"s": {"SS": ["a", "b"]}})], "ClientRequestToken": token}
    assert fault(raw, "TransactWriteItems", longer)[0] == "IdempotentParameterMismatchException"


def test_a_list_in_another_order_is_another_content(raw: RawClient, table: DataTable) -> None:
    key, token = fresh_key(), fresh_token()
    for name, members in (("SS", [text("a"), text("b")]), ("l", [text("a"), text("b")])):
        write(raw, put(table, key | {"m": {"M": {name: {"L": members}}}}), ClientRequestToken=token + name)
        turned = put(table, key | {"m": {"M": {name: {"L": members[::-1]}}}})
        body = {"TransactItems": [turned], "ClientRequestToken": token + name}
        assert fault(raw, "TransactWriteItems", body)[0] == "IdempotentParameterMismatchException"


def test_a_token_counts_for_one_operation(raw: RawClient, table: DataTable) -> None:
    key, token = fresh_key(), fresh_token()
    statement = {
        "Statement": f'UPDATE "{table.name}" SET n = n + 1 WHERE pk = ?',
        "Parameters": list(key.values()),
    }
    write(raw, add_one(table, key), ClientRequestToken=token)
    for _ in range(2):
        body = {"TransactStatements": [statement], "ClientRequestToken": token}
        assert raw("ExecuteTransaction", body).status == 200
        write(raw, add_one(table, key), ClientRequestToken=token)
    assert (table.get(key) or {})["n"] == number(2)


def test_another_content_is_refused(raw: RawClient, table: DataTable) -> None:
    key, token = fresh_key(), fresh_token()
    write(raw, put(table, key), ClientRequestToken=token)
    body = {"TransactItems": [put(table, key | {"a": number(1)})], "ClientRequestToken": token}
    reply = raw("TransactWriteItems", body)
    assert reply.status == 400
    assert reply.json()["__type"].endswith("#IdempotentParameterMismatchException")
    assert "Message" in reply.json()
    assert fault(raw, "TransactWriteItems", body)[0] == "IdempotentParameterMismatchException"
    assert table.get(key) == key


def test_a_cancelled_transaction_leaves_its_token_free(raw: RawClient, table: DataTable) -> None:
    key, token = fresh_key(), fresh_token()
    action = add_one(table, key, ConditionExpression="attribute_exists(pk)")
    assert reasons(raw, action, ClientRequestToken=token) == [FAILED]
    table.put(key)
    write(raw, action, ClientRequestToken=token)
    assert table.get(key) == key | {"n": number(1)}


def test_a_replay_is_charged_as_reads(raw: RawClient, table: DataTable) -> None:
    small, large = fresh_key(), fresh_key()
    members = {"ClientRequestToken": fresh_token(), "ReturnConsumedCapacity": "INDEXES"}
    actions = [put(table, small), put(table, large | {"a": text("x" * 5000)})]
    (written,) = write(raw, *actions, **members)["ConsumedCapacity"]
    assert (written["CapacityUnits"], written["WriteCapacityUnits"]) == (12.0, 12.0)
    assert write(raw, *actions, **members)["ConsumedCapacity"] == [
        {
            "TableName": table.name, "CapacityUnits": 6.0, "ReadCapacityUnits": 6.0,
            "Table": {"CapacityUnits": 6.0, "ReadCapacityUnits": 6.0},
        }
    ]  # fmt: skip


@pytest.mark.parametrize("action", ["delete", "put", "update"])
def test_a_replay_is_charged_for_the_larger_image(raw: RawClient, table: DataTable, action: str) -> None:
    key = fresh_key()
    table.put(key | {"a": text("x" * 8_900)})
    shrinking = {"delete": delete(table, key), "put": put(table, key), "update": update(table, key, "REMOVE a")}[action]
    members = {"ClientRequestToken": fresh_token(), "ReturnConsumedCapacity": "TOTAL"}
    write(raw, shrinking, **members)
    (read,) = write(raw, shrinking, **members)["ConsumedCapacity"]
    assert (read["CapacityUnits"], read["ReadCapacityUnits"]) == (6.0, 6.0)


@pytest.mark.parametrize(
    ("token", "bound"), [("", "greater than or equal to 1"), ("x" * 37, "less than or equal to 36")]
)
def test_a_token_has_1_to_36_characters(raw: RawClient, table: DataTable, token: str, bound: str) -> None:
    body = {"TransactItems": [put(table, fresh_key())], "ClientRequestToken": token}
    assert validation(raw, "TransactWriteItems", body) == (
        "1 validation error detected: Value at 'ClientRequestToken' failed to satisfy constraint:"
        f" Member must have length {bound}"
    )
    write(raw, put(table, fresh_key()), ClientRequestToken=fresh_token().ljust(36, "y"))
