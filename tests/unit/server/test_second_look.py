"""Tables created, changed or deleted through another server: what was not found is looked up, and the operation runs
once more.
"""

import random
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
from hashrange.settings import Settings
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

    def __init__(self, state_delay_seconds: float | None = None) -> None:
        self.inner: EmbeddedStore = open_store(None, SystemClock(), None)
        self.stores = [LateCatalogStore(self.inner, seed) for seed in (1, 2)]
        settings = None if state_delay_seconds is None else Settings(table_state_delay_seconds=state_delay_seconds)
        self.fronts = [
            FrontEnd(operations=ALL_OPERATIONS, real_store=store, settings=settings) for store in self.stores
        ]
        for server in (0, 1):
            self.ask(server, "ListTables", {})  # this request gives the server its view

    def ask(self, server: int, operation: str, body: dict[str, Any]) -> Any:
        """The reply, or the error code of a refusal under `__type`."""
        front = self.fronts[server]
        answer = reply(front.ask(front.request(msgspec.json.encode(body), operation)))
        return msgspec.json.decode(answer.body or b"{}")

    def advance(self, seconds: float) -> None:
        for front in self.fronts:
            front.clock.advance_all(seconds)

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


READS_OF_TABLES = {"DescribeTable", "DescribeTimeToLive", "DescribeContinuousBackups"}
"""They answer from the view, as if they had been begun before the change."""


@pytest.mark.parametrize(("operation", "body"), [one for one in REQUESTS if one[0] not in READS_OF_TABLES])
def test_a_table_deleted_by_another_server_is_not_found(pair: Pair, operation: str, body: dict[str, Any]) -> None:
    pair.ask(0, "CreateTable", SCHEMA)
    pair.ask(1, "PutItem", {"TableName": "orders", "Item": KEY})
    pair.ask(0, "DeleteTable", {"TableName": "orders"})
    answer = pair.ask(1, operation, body)
    assert answer == pair.ask(0, operation, body)
    assert "ResourceNotFound" in str(answer)


@pytest.mark.parametrize(("operation", "body"), REQUESTS)
def test_a_table_made_anew_is_the_one_that_is_served(pair: Pair, operation: str, body: dict[str, Any]) -> None:
    pair.ask(0, "CreateTable", SCHEMA)
    pair.ask(1, "PutItem", {"TableName": "orders", "Item": KEY})
    pair.ask(0, "DeleteTable", {"TableName": "orders"})
    pair.ask(0, "CreateTable", SCHEMA)
    if operation not in READS_OF_TABLES:
        assert "ResourceNotFound" not in str(pair.ask(1, operation, body))
    assert pair.ask(1, "Scan", {"TableName": "orders"}) == pair.ask(0, "Scan", {"TableName": "orders"})


INDEXED = SCHEMA | {
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "g")],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-g",
            "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
}
QUERY = {"IndexName": "by-g", "KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": {"S": "g"}}}
DROP = {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "by-g"}}]}


def test_an_index_deleted_by_another_server_is_not_found(pair: Pair) -> None:
    pair.ask(0, "CreateTable", INDEXED)
    pair.ask(1, "PutItem", {"TableName": "orders", "Item": KEY | {"g": {"S": "g"}}})
    assert pair.ask(1, "Query", QUERY | {"TableName": "orders"})["Count"] == 1
    pair.ask(0, "UpdateTable", {"TableName": "orders"} | DROP)
    assert "by-g" not in str(pair.ask(0, "DescribeTable", {"TableName": "orders"}))
    answer = pair.ask(1, "Query", QUERY | {"TableName": "orders"})
    assert answer == pair.ask(0, "Query", QUERY | {"TableName": "orders"})
    assert "does not have the specified index" in answer["message"]


Requests = list[tuple[str, dict[str, Any]]]


def changes_of(table: dict[str, Any]) -> Requests:
    return [
        *[("CreateTable", schema | table) for schema in (SCHEMA, INDEXED)],
        ("DeleteTable", table),
        ("UpdateTable", table | DROP),
    ]


def writes_of(table: dict[str, Any], item: dict[str, Any]) -> Requests:
    put = table | {"Item": item}
    return [
        ("PutItem", put),
        ("BatchWriteItem", {"RequestItems": {table["TableName"]: [{"PutRequest": {"Item": item}}]}}),
        ("TransactWriteItems", {"TransactItems": [{"Put": put}]}),
    ]


def reads_of(table: dict[str, Any], key: dict[str, Any]) -> Requests:
    statement = f"SELECT * FROM {table['TableName']} WHERE pk = '1'"
    return [
        ("GetItem", table | {"Key": key}),
        ("Scan", table),
        ("Query", table | QUERY),
        ("BatchGetItem", {"RequestItems": {table["TableName"]: {"Keys": [key]}}}),
        ("TransactGetItems", {"TransactItems": [{"Get": table | {"Key": key}}]}),
        ("BatchExecuteStatement", {"Statements": [{"Statement": statement}]}),
    ]


@pytest.mark.parametrize("seed", range(6))
def test_late_servers_answer_as_one_that_never_is(pair: Pair, seed: int) -> None:
    rng = random.Random(seed)
    pair.fronts.append(FrontEnd(operations=ALL_OPERATIONS, real_store=pair.inner))
    for number in range(400):
        server, table = rng.randrange(2), {"TableName": rng.choice(["orders", "others"])}
        key = {"pk": {"S": str(rng.randrange(3))}}
        item = key | {"g": {"S": "g"}, "n": {"N": str(number)}}
        exists, step = table["TableName"] in pair.tables(2), rng.random()
        if step < 0.2:
            operation, body = rng.choice(changes_of(table))
            answer = pair.ask(server, operation, body)
            if operation != "UpdateTable":
                assert ("TableDescription" in answer) is (exists == (operation == "DeleteTable")), answer
        elif step < 0.6:
            answer = pair.ask(server, *rng.choice(writes_of(table, item)))
            assert ("ResourceNotFound" in str(answer)) is not exists, answer
            expected = {"Item": item} if exists else answer
            assert pair.ask(2, "GetItem", table | {"Key": key}) == expected
        else:
            read = rng.choice(reads_of(table, key))
            assert pair.ask(server, *read) == pair.ask(2, *read), read


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


def test_a_table_that_another_server_was_first_to_remove_may_be_there_anew() -> None:
    """It was deleted, and is gone by time in both views; one server has removed it and made another one."""
    pair = Pair(state_delay_seconds=10.0)
    pair.ask(1, "CreateTable", SCHEMA)
    pair.advance(20.0)
    assert pair.ask(1, "DeleteTable", {"TableName": "orders"})["TableDescription"]["TableStatus"] == "DELETING"
    pair.advance(20.0)
    assert pair.ask(0, "CreateTable", SCHEMA)["TableDescription"]["TableStatus"] == "CREATING"
    assert pair.ask(1, "DescribeTable", {"TableName": "orders"})["Table"]["TableStatus"] == "CREATING"
    pair.inner.close_now()


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
