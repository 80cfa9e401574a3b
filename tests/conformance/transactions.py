"""What the tests of transactions share: short forms of actions, and refusals with their reasons."""

from typing import Any

from tests.conformance.item_tables import DataTable, Item
from tests.support.raw_client import RawClient

NONE = {"Code": "None"}
FAILED = {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
TWICE = "Transaction request cannot include multiple operations on one item"
ONE_ACTION = "TransactItems can only contain one of Check, Put, Update or Delete"
SCHEMA = "The provided key element does not match the schema"
TOO_LARGE = (
    "Collection size of items exceeded, which can also be caused by the aggregate size of the items in the transaction"
    " exceeding the 4MB limit"
)


def put(table: DataTable, item: Item, **members: Any) -> Any:
    return {"Put": {"TableName": table.name, "Item": item} | members}


def update(table: DataTable, key: Item, expression: str = "SET a = :a", **members: Any) -> Any:
    """An Update action; sets `a` to 1 by default."""
    if expression == "SET a = :a" and "ExpressionAttributeValues" not in members:
        members["ExpressionAttributeValues"] = {":a": {"N": "1"}}
    return {"Update": {"TableName": table.name, "Key": key, "UpdateExpression": expression} | members}


def delete(table: DataTable, key: Item, **members: Any) -> Any:
    return {"Delete": {"TableName": table.name, "Key": key} | members}


def check(table: DataTable, key: Item, condition: str = "attribute_exists(pk)", **members: Any) -> Any:
    return {"ConditionCheck": {"TableName": table.name, "Key": key, "ConditionExpression": condition} | members}


def get(table: DataTable, key: Item, **members: Any) -> Any:
    return {"Get": {"TableName": table.name, "Key": key} | members}


def write(raw: RawClient, *actions: Any, **members: Any) -> Any:
    """The reply of a transaction, which must succeed."""
    reply = raw("TransactWriteItems", {"TransactItems": list(actions)} | members)
    assert reply.status == 200, reply.body
    return reply.json()


def read(raw: RawClient, *actions: Any, **members: Any) -> Any:
    """The reply of a TransactGetItems, which must succeed."""
    reply = raw("TransactGetItems", {"TransactItems": list(actions)} | members)
    assert reply.status == 200, reply.body
    return reply.json()


def reasons(raw: RawClient, *actions: Any, operation: str = "TransactWriteItems", **members: Any) -> list[Any]:
    """The CancellationReasons of a transaction, which must be cancelled; its message lists their codes."""
    reply = raw(operation, {"TransactItems": list(actions)} | members)
    body = reply.json()
    assert reply.status == 400, body
    assert body.keys() == {"__type", "Message", "CancellationReasons"}, body
    assert body["__type"] == "com.amazonaws.dynamodb.v20120810#TransactionCanceledException"
    found: list[Any] = body["CancellationReasons"]
    codes = ", ".join(reason["Code"] for reason in found)
    assert body["Message"] == (
        f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    )
    return found


def invalid(message: str) -> dict[str, str]:
    """The reason of a fault that is found at run time."""
    return {"Code": "ValidationError", "Message": message}
