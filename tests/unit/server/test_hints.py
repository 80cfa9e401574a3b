"""Hints logged once for the operator: a table missing here that exists in another Region,
and features not supported yet.
"""

import logging
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.operations.operation import Scope
from hashrange.operations.registry import ALL_OPERATIONS, OPERATIONS
from hashrange.service.hints import Hints
from hashrange.store.embedded import EmbeddedStore, open_store
from tests.support.samples import finish, table_maker
from tests.support.scopes import scope_of
from tests.unit.server.harness import FrontEnd

KEY = {"pk": {"S": "a"}, "sk": {"S": "b"}}
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"


@pytest.fixture
def scope() -> Iterator[Scope]:
    """A scope in a Region without the table `orders`, which exists in us-east-1."""
    clock = SystemClock()
    store = open_store(None, clock, None)
    finish(store.catalog.create(table_maker("orders")))
    yield scope_of(store, clock, region="eu-west-1")
    store.close_now()


def names(operation: str, body: dict[str, Any]) -> Iterable[str]:
    """The table names in a request."""
    record = OPERATIONS[operation]
    return record.tables(msgspec.convert(body, record.request))


def update(name: str) -> dict[str, Any]:
    return {"Update": {"TableName": name, "Key": KEY, "UpdateExpression": "REMOVE a"}}


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("GetItem", {"TableName": "orders", "Key": KEY}),
        ("GetItem", {"TableName": ARN, "Key": KEY}),
        ("DescribeTable", {"TableName": "orders"}),
        ("ListTagsOfResource", {"ResourceArn": ARN}),
        ("GetResourcePolicy", {"ResourceArn": ARN + "/stream/2026-01-01T00:00:00.000"}),
        ("BatchGetItem", {"RequestItems": {"nothing": {"Keys": [KEY]}, "orders": {"Keys": [KEY]}}}),
        ("BatchGetItem", {"RequestItems": {ARN: {"Keys": [KEY]}}}),
        ("BatchWriteItem", {"RequestItems": {"orders": [{"PutRequest": {"Item": KEY}}]}}),
        ("TransactGetItems", {"TransactItems": [{"Get": {"TableName": "orders", "Key": KEY}}]}),
        ("ExecuteStatement", {"Statement": 'SELECT * FROM "orders" WHERE pk = ?', "Parameters": [{"S": "a"}]}),
        ("ExecuteTransaction", {"TransactStatements": [{"Statement": f"DELETE FROM \"{ARN}\" WHERE pk = 'a'"}]}),
        ("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "nothing", "Item": KEY}}, update("orders")]}),
    ],
)
def test_every_operation_hints_once(
    scope: Scope, caplog: pytest.LogCaptureFixture, operation: str, body: dict[str, Any]
) -> None:
    caplog.set_level(logging.WARNING)
    hints = Hints(scope.store.catalog)
    for _ in range(3):
        hints.table_not_found(scope, names(operation, body))
    (message,) = caplog.messages
    assert message.startswith("table orders does not exist in account 000000000000, Region eu-west-1, but in account")
    assert "Region us-east-1" in message


def test_a_table_that_is_here_as_well_is_not_what_is_missing(scope: Scope, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    assert isinstance(scope.store, EmbeddedStore)
    here = scope_of(scope.store, scope.clock)
    deletion = {"TableName": "orders", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "absent"}}]}
    Hints(scope.store.catalog).table_not_found(here, names("UpdateTable", deletion))
    table = table_maker("orders")(5)
    finish(
        scope.store.catalog.create(
            lambda table_id: msgspec.structs.replace(table, table_id=table_id, region="eu-west-1")
        )
    )
    Hints(scope.store.catalog).table_not_found(scope, names("UpdateTable", deletion))
    assert caplog.messages == []


def put_orders(scope: Scope, count: int) -> None:
    """Make tables `orders` in this many further accounts."""
    for number in range(1, count + 1):
        table = table_maker("orders")(5)
        finish(
            scope.store.catalog.create(
                lambda table_id, number=number, table=table: msgspec.structs.replace(  # type: ignore[misc]
                    table, table_id=table_id, account=f"{number:012}"
                )
            )
        )


def test_a_few_of_many_places_are_told(scope: Scope, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    put_orders(scope, 1006)
    Hints(scope.store.catalog).table_not_found(scope, ["orders"])
    (message,) = caplog.messages
    places = "; ".join(f"account {number:012}, Region us-east-1" for number in range(5))
    assert f"but in {places}; and 1,002 more; a request" in message


def test_a_table_that_is_nowhere_costs_no_look_at_every_place(scope: Scope) -> None:
    """Requests that named a hundred missing tables held everybody up, while thousands of accounts had tables."""
    hints = Hints(scope.store.catalog)

    def lines(missing: int) -> int:
        """Lines of Python that a request with missing tables takes."""
        names, count = [f"missing{number}" for number in range(missing)], 0

        def trace(*_: Any) -> Any:
            nonlocal count
            count += 1
            return trace

        former = sys.gettrace()
        sys.settrace(trace)
        try:
            hints.table_not_found(scope, names)
        finally:
            sys.settrace(former)
        return count

    few = lines(10)
    put_orders(scope, 100)
    assert lines(10) == few


def test_an_operation_that_is_not_supported_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    front = FrontEnd(operations=ALL_OPERATIONS)
    for operation in ("CreateGlobalTable", "UpdateGlobalTable", "CreateGlobalTable"):
        assert b"UnsupportedOperationException" in front.ask(front.request(b"{}", operation))
    assert [message.partition(" docs/")[0] for message in caplog.messages] == [
        f"{name} was refused with UnsupportedOperationException: Hashrange does not support {name} yet."
        for name in ("CreateGlobalTable", "UpdateGlobalTable")
    ]
