"""Every write and every transaction passes its own request id to the store, so that its outcome can be looked up."""

from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.clock import SystemClock
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import open_store
from hashrange.store.request_ids import REQUEST_ID_BYTES
from tests.support.asking import run_operation
from tests.support.samples import finish, table_maker
from tests.support.scopes import scope_of

KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}
OTHER = {"pk": {"S": "p"}, "sk": {"S": "t"}}
INSERT = "INSERT INTO orders VALUE {{'pk': 'p', 'sk': '{}'}}"
WRITES: list[tuple[str, dict[str, Any], int]] = [
    ("PutItem", {"TableName": "orders", "Item": KEY}, 1),
    ("UpdateItem", {"TableName": "orders", "Key": KEY}, 1),
    ("DeleteItem", {"TableName": "orders", "Key": KEY}, 1),
    ("BatchWriteItem", {"RequestItems": {"orders": [{"PutRequest": {"Item": one}} for one in (KEY, OTHER)]}}, 2),
    ("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "orders", "Item": KEY}}]}, 1),
    ("ExecuteStatement", {"Statement": INSERT.format("u")}, 1),
    ("BatchExecuteStatement", {"Statements": [{"Statement": INSERT.format(name)} for name in "vw"]}, 2),
    ("ExecuteTransaction", {"TransactStatements": [{"Statement": INSERT.format("x")}]}, 1),
]


class Recorder:
    """Wraps a method and records one argument of each call."""

    def __init__(self, method: Any, position: int, ids: list[Any]) -> None:
        self.method, self.position, self.ids = method, position, ids

    def __call__(self, *arguments: Any) -> Any:
        self.ids.append(arguments[self.position])
        return self.method(*arguments)


@pytest.fixture
def recorded() -> Iterator[tuple[Scope, list[Any]]]:
    """A scope with the table `orders`, and the request ids that its store received."""
    clock = SystemClock()
    store = open_store(None, clock, None)
    finish(store.catalog.create(table_maker("orders")))
    ids: list[Any] = []
    fields: Any = store
    fields.mutate = Recorder(store.mutate, 3, ids)
    fields.transact = Recorder(store.transact, 2, ids)
    yield scope_of(store, clock), ids
    store.close_now()


def test_each_write_has_its_own(recorded: tuple[Scope, list[Any]]) -> None:
    scope, ids = recorded
    for name, body, count in WRITES:
        before = len(ids)
        operation = OPERATIONS[name]
        finish(run_operation(scope, operation, body))
        assert len(ids) == before + count, name
    assert {len(one) for one in ids} == {REQUEST_ID_BYTES}
    assert len(set(ids)) == len(ids)
