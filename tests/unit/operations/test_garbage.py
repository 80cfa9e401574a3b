"""Requests leave no reference cycles: everything is freed by reference counts, because the garbage
collector would stop all requests.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hashrange.clock import SystemClock
from hashrange.errors import ApiError
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import open_store
from tests.support.asking import run_operation
from tests.support.garbage import garbage_made
from tests.support.samples import finish
from tests.support.scopes import scope_of

pytestmark = pytest.mark.usefixtures("only_new_garbage")

TABLE = {"TableName": "orders"}
KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}
ITEM = KEY | {"a": {"S": "x"}, "l": {"L": [{"N": "1"}] * 3}}
INDEXES = 3
ATTRIBUTES = ("pk", "sk", *(f"a{number}" for number in range(INDEXES)))
PROJECTION = {"ProjectionType": "ALL"}
NAMES = {"#a": "a"}
CREATE = {
    **TABLE,
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ATTRIBUTES],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    "GlobalSecondaryIndexes": [
        {"IndexName": f"by-{name}", "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}], "Projection": PROJECTION}
        for name in ATTRIBUTES[2:]
    ],
}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("CreateTable", CREATE),
    ("DescribeTable", TABLE),
    ("PutItem", {**TABLE, "Item": ITEM}),
    ("PutItem", {**TABLE, "Item": ITEM, "ConditionExpression": "attribute_not_exists(pk)"}),
    ("GetItem", {**TABLE, "Key": KEY, "ProjectionExpression": "#a, l[0]", "ExpressionAttributeNames": NAMES}),
    (
        "UpdateItem",
        {**TABLE, "Key": KEY, "UpdateExpression": "SET a0 = :v", "ExpressionAttributeValues": {":v": {"S": "v"}}},
    ),
    (
        "Query",
        {
            **TABLE,
            "IndexName": "by-a0",
            "KeyConditionExpression": "a0 = :v",
            "ExpressionAttributeValues": {":v": {"S": "v"}},
        },
    ),
    ("Scan", {**TABLE, "FilterExpression": "size(l) > :n", "ExpressionAttributeValues": {":n": {"N": "1"}}}),
    ("BatchGetItem", {"RequestItems": {"orders": {"Keys": [KEY]}}}),
    ("BatchWriteItem", {"RequestItems": {"orders": [{"PutRequest": {"Item": ITEM}}]}}),
    ("TransactWriteItems", {"TransactItems": [{"Put": {**TABLE, "Item": ITEM}}], "ClientRequestToken": "token"}),
    ("TransactGetItems", {"TransactItems": [{"Get": {**TABLE, "Key": KEY}}]}),
    ("ExecuteStatement", {"Statement": "SELECT * FROM orders WHERE pk = 'p' AND sk = 's'"}),
    ("ExecuteStatement", {"Statement": "INSERT INTO orders VALUE {'pk': 'p', 'sk': 's'}"}),
    ("DeleteItem", {**TABLE, "Key": KEY}),
    ("UpdateTable", {**TABLE, "StreamSpecification": {"StreamEnabled": False}}),
    ("DeleteTable", TABLE),
]


@pytest.fixture
def scope() -> Iterator[Scope]:
    clock = SystemClock()
    store = open_store(None, clock, None)
    yield scope_of(store, clock)
    store.close_now()


def ask_all(scope: Scope, garbage: Callable[[], list[object]] | None = None) -> dict[str, set[str]]:
    """Run all requests. Returns, by operation name, the qualified names of our `garbage` that each leaves."""
    leavings = {}
    for name, members in REQUESTS:
        try:
            finish(run_operation(scope, OPERATIONS[name], members))
        except ApiError as refusal:
            assert "Condition" in refusal.code or "Duplicate" in refusal.code
        found = {
            getattr(one, "__qualname__", type(one).__qualname__)
            for one in (garbage() if garbage else ())
            if str(getattr(one, "__module__", "")).startswith("hashrange")
        }
        if found:
            leavings[name] = found
    return leavings


def test_no_request_leaves_anything_to_the_collector(scope: Scope) -> None:
    ask_all(scope)
    with garbage_made() as garbage:
        assert ask_all(scope, garbage) == {}
