"""Tables created through another server: a name missing in the local view is looked up,
and the operation runs once more.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.errors import ResourceNotFoundException
from hashrange.operations.meter import Meter, Usage
from hashrange.operations.operation import Scope
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.operations.reply import Reply
from hashrange.service.second_look import with_second_look
from hashrange.store.embedded import EmbeddedStore, open_store
from tests.support.samples import finish
from tests.support.wrapped_stores.late_catalog import LateCatalogStore
from tests.unit.server.harness import FrontEnd, reply

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
KEY = {"pk": {"S": "p"}}
SCHEMA = {
    "TableName": "orders",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
INSERT = {"Statement": "INSERT INTO orders VALUE {'pk': 'q'}"}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("PutItem", {"TableName": "orders", "Item": KEY}),
    ("UpdateItem", {"TableName": ARN, "Key": KEY}),
    ("GetItem", {"TableName": "orders", "Key": KEY}),
    ("Scan", {"TableName": "orders"}),
    ("BatchWriteItem", {"RequestItems": {"orders": [{"PutRequest": {"Item": KEY}}]}}),
    ("BatchGetItem", {"RequestItems": {ARN: {"Keys": [KEY]}}}),
    ("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "orders", "Item": KEY}}]}),
    ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "orders", "Key": KEY}}]}),
    ("ExecuteStatement", INSERT),
    ("ExecuteTransaction", {"TransactStatements": [INSERT]}),
    ("BatchExecuteStatement", {"Statements": [INSERT, {"Statement": "no statement"}]}),
    ("DescribeTable", {"TableName": "orders"}),
    ("UpdateTable", {"TableName": "orders", "DeletionProtectionEnabled": True}),
    ("DescribeTimeToLive", {"TableName": "orders"}),
    (
        "UpdateTimeToLive",
        {"TableName": "orders", "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires"}},
    ),
    ("DescribeContinuousBackups", {"TableName": "orders"}),
    ("TagResource", {"ResourceArn": ARN, "Tags": [{"Key": "a", "Value": "b"}]}),
    ("DeleteTable", {"TableName": "orders"}),
]


class Pair:
    """Two servers that share one store."""

    def __init__(self) -> None:
        self.inner: EmbeddedStore = open_store(None, SystemClock(), None)
        self.stores = [LateCatalogStore(self.inner, seed) for seed in (1, 2)]
        self.fronts = [FrontEnd(operations=ALL_OPERATIONS, real_store=store) for store in self.stores]
        for server in (0, 1):
            self.ask(server, "ListTables", {})  # this request gives the server its view

    def ask(self, server: int, operation: str, body: dict[str, Any]) -> Any:
        """The reply, or the error code of a refusal under `__type`."""
        front = self.fronts[server]
        answer = reply(front.ask(front.request(msgspec.json.encode(body), operation)))
        return msgspec.json.decode(answer.body or b"{}")

    def tables(self, server: int) -> list[str]:
        names: list[str] = self.ask(server, "ListTables", {})["TableNames"]
        return names

    def look_ups(self, server: int) -> int:
        return self.stores[server].catalog.look_ups


@pytest.fixture
def pair() -> Iterator[Pair]:
    pair = Pair()
    yield pair
    pair.inner.close_now()


@pytest.mark.parametrize(("operation", "body"), REQUESTS)
def test_a_table_made_by_another_server_is_found(pair: Pair, operation: str, body: dict[str, Any]) -> None:
    pair.ask(0, "CreateTable", SCHEMA)
    assert (pair.tables(0), pair.tables(1)) == (["orders"], [])
    answer = pair.ask(1, operation, body)
    assert "__type" not in answer, answer
    if operation == "BatchExecuteStatement":
        assert [one.get("Error", {}).get("Code") for one in answer["Responses"]] == [None, "ValidationError"]
    assert (pair.look_ups(0), pair.look_ups(1)) == (0, 1)
    if operation != "DeleteTable":
        pair.ask(1, "PutItem", {"TableName": "orders", "Item": KEY})
        assert pair.look_ups(1) == 1, "what was found stays found"


def test_what_exists_nowhere_is_looked_up_once_and_refused(pair: Pair) -> None:
    answer = pair.ask(1, "PutItem", {"TableName": "nothing", "Item": KEY})
    assert answer["__type"].endswith("#ResourceNotFoundException")
    assert pair.look_ups(1) == 1


def test_other_refusals_are_not_looked_into(pair: Pair) -> None:
    pair.ask(0, "CreateTable", SCHEMA)
    answer = pair.ask(1, "PutItem", {"TableName": "orders", "Item": {"pk": {"N": "1x"}}})
    assert answer["__type"].endswith("#ValidationException")
    assert pair.look_ups(1) == 0


def test_a_table_made_anew_by_another_server_takes_items(pair: Pair) -> None:
    pair.ask(0, "CreateTable", SCHEMA)
    pair.ask(1, "DescribeTable", {"TableName": "orders"})
    pair.ask(0, "DeleteTable", {"TableName": "orders"})
    pair.ask(0, "CreateTable", SCHEMA)
    assert "__type" not in pair.ask(1, "PutItem", {"TableName": "orders", "Item": KEY})
    assert pair.ask(0, "GetItem", {"TableName": "orders", "Key": KEY}) == {"Item": KEY}


def test_a_change_that_another_server_was_first_with_is_made_to_what_is_stored(pair: Pair) -> None:
    pair.ask(0, "CreateTable", SCHEMA)
    pair.ask(1, "DescribeTable", {"TableName": "orders"})
    pair.ask(0, "UpdateTable", {"TableName": "orders", "DeletionProtectionEnabled": True})
    pair.ask(1, "TagResource", {"ResourceArn": ARN, "Tags": [{"Key": "a", "Value": "b"}]})
    (table,) = pair.inner.catalog.all_tables()
    assert (table.schema.is_deletion_protected, table.schema.tags) == (True, {"a": "b"})


def test_a_name_that_another_server_took_is_taken(pair: Pair) -> None:
    pair.ask(0, "CreateTable", SCHEMA)
    assert pair.ask(1, "CreateTable", SCHEMA)["__type"].endswith("#ResourceInUseException")
    assert pair.tables(1) == ["orders"]


def test_news_come_by_themselves(pair: Pair) -> None:
    pair.ask(1, "CreateTable", SCHEMA | {"TableName": "other"})
    pair.ask(0, "CreateTable", SCHEMA)
    calls = 0
    while pair.tables(1) == ["other"]:
        pair.ask(1, "GetItem", {"TableName": "other", "Key": KEY})
        calls += 1
    assert (calls > 1, pair.look_ups(1), pair.tables(1)) == (True, 0, ["orders", "other"])


def test_a_second_run_tells_its_own_units_only(pair: Pair) -> None:
    """A batch may write before it finds a table missing; the second run writes everything again, and only its units
    count."""
    pair.ask(0, "CreateTable", SCHEMA)
    pair.ask(1, "CreateTable", SCHEMA | {"TableName": "other"})
    (other,) = (table for table in pair.inner.catalog.all_tables() if table.schema.name == "other")

    async def run(scope: Scope, request: Any, meter: Meter) -> Reply:
        meter.append(Usage(other, "other", 2.0, is_write=True))
        if "orders" not in scope.tables:
            raise ResourceNotFoundException("not yet")
        return {}

    front = pair.fronts[1]
    batch = msgspec.structs.replace(ALL_OPERATIONS["BatchWriteItem"], run=run)
    front.service.operations = with_second_look(ALL_OPERATIONS | {"BatchWriteItem": batch}, pair.stores[1].catalog)
    front.connections.incoming._handle = front.front().handle
    items = {"RequestItems": {"orders": [{"PutRequest": {"Item": KEY}}]}, "ReturnConsumedCapacity": "TOTAL"}
    answer = pair.ask(1, "BatchWriteItem", items)
    assert answer == {"ConsumedCapacity": [{"TableName": "other", "CapacityUnits": 2.0}]}
    assert pair.look_ups(1) == 1


def test_where_no_view_is_late_operations_are_run_as_they_are(pair: Pair) -> None:
    assert with_second_look(ALL_OPERATIONS, pair.inner.catalog) is ALL_OPERATIONS
    assert finish(pair.inner.catalog.look_up("000000000000", "us-east-1", ["orders"])) is False
