"""Which of two faults is reported when both are found after the table look-up?
The pairs that need indexes, or a statement of 400 KB.

Source: the service's order of checks, steps 13 to 16 (captures to October 2026).
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.raw_client import RawClient

TABLE = "late-checks"
GLOBAL = {
    "IndexName": "by-status",
    "KeySchema": [{"AttributeName": "state", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}
HEAVY = {"L": [{"S": "x" * 1000}] * 500}


@pytest.fixture(scope="module")
def late(raw: RawClient) -> Iterator[RawClient]:
    reply = raw(
        "CreateTable",
        {
            "TableName": TABLE,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "state")],
            "KeySchema": [
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            "GlobalSecondaryIndexes": [GLOBAL],
        },
    )
    assert reply.status == 200, reply.body
    yield raw
    raw("DeleteTable", {"TableName": TABLE})


def message(raw: RawClient, operation: str, body: dict[str, Any]) -> str:
    reply = raw(operation, {"TableName": TABLE} | body)
    assert reply.status == 400, reply.body
    return str(reply.json()["message"])


QUERY = {
    "KeyConditionExpression": "#s = :s",
    "ExpressionAttributeNames": {"#s": "state"},
    "ExpressionAttributeValues": {":s": {"S": "open"}},
}
BAD_START = {"ExclusiveStartKey": {"other": {"S": "a"}}}


@pytest.mark.parametrize(
    ("body", "heard"),
    [
        pytest.param(
            {"IndexName": "missing", "ConsistentRead": True} | BAD_START,
            "The table does not have the specified index: missing",
            id="index, start key",
        ),
        pytest.param(
            {"IndexName": "by-status", "ConsistentRead": True} | BAD_START,
            "Consistent reads are not supported on global secondary indexes",
            id="consistent read of a global index, start key",
        ),
        pytest.param(
            {"IndexName": "by-status", "KeyConditionExpression": "sk = :s", "ExpressionAttributeNames": None}
            | BAD_START,
            "The provided starting key is invalid",
            id="start key, key condition",
        ),
        pytest.param(
            {
                "IndexName": "by-status",
                "KeyConditionExpression": "sk = :s",
                "ExpressionAttributeNames": None,
                "FilterExpression": "sk = :s",
            },
            "Query condition missed key schema element: state",
            id="key condition, filter on a key",
        ),
        pytest.param(
            {"IndexName": "by-status", "FilterExpression": "#s = :s", "Select": "SPECIFIC_ATTRIBUTES"},
            "Filter Expression can only contain non-primary key attributes: Primary key attribute: state",
            id="filter on a key, Select",
        ),
        pytest.param(
            {"IndexName": "by-status", "Select": "SPECIFIC_ATTRIBUTES"},
            "1 validation error detected: Must specify the AttributesToGet or ProjectionExpression when choosing to get"
            " SPECIFIC_ATTRIBUTES",
            id="Select",
        ),
    ],
)
def test_query_of_an_index(late: RawClient, body: dict[str, Any], heard: str) -> None:
    complete = {name: value for name, value in (QUERY | body).items() if value is not None}
    assert message(late, "Query", complete) == heard


KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}
SIZE = "Item size to update has exceeded the maximum allowed size"


@pytest.mark.parametrize(
    ("expression", "condition", "values", "heard"),
    [
        pytest.param(
            "SET pk = :h", None, {":h": HEAVY}, "Cannot update attribute pk. This attribute is part of the key",
            id="update of a key, statement size",
        ),
        pytest.param(
            "SET #s = :n, a = :h", None, {":n": {"N": "1"}, ":h": HEAVY},
            "Type mismatch for Index Key state Expected: S Actual: N IndexName: by-status",
            id="type of an index key, statement size",
        ),
        pytest.param(
            "SET a = :h", "attribute_exists(absent)", {":h": HEAVY}, SIZE,
            id="statement size, condition",
        ),
        pytest.param(
            "SET a = absent", "attribute_exists(absent)", {}, "The conditional request failed",
            id="condition, application",
        ),
    ],
)  # fmt: skip
def test_update_item(
    late: RawClient, expression: str, condition: str | None, values: dict[str, Any], heard: str
) -> None:
    body: dict[str, Any] = {"Key": KEY, "UpdateExpression": expression}
    if condition is not None:
        body["ConditionExpression"] = condition
    if values:
        body["ExpressionAttributeValues"] = values
    if "#s" in expression:
        body["ExpressionAttributeNames"] = {"#s": "state"}
    assert message(late, "UpdateItem", body).endswith(heard)


def test_create_table_hears_its_limits_before_the_name_that_is_taken(late: RawClient) -> None:
    many = [GLOBAL | {"IndexName": f"index-{number}"} for number in range(21)]
    body: dict[str, Any] = {
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "state")],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "GlobalSecondaryIndexes": many,
    }
    assert message(late, "CreateTable", body).endswith("GlobalSecondaryIndex count exceeds the per-table limit of 20")
    assert message(late, "CreateTable", body | {"GlobalSecondaryIndexes": many[:1]}) == f"Table already exists: {TABLE}"
