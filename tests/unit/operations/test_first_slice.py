"""The first index entries, which UpdateTable writes itself: even with large rows,
nothing else runs between reading and commit.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.items.steps import PIECE_BYTES
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import EmbeddedStore, open_store
from tests.support.asking import run_operation
from tests.support.samples import finish, statistics_of, table_maker
from tests.support.scopes import scope_of
from tests.support.working import give_way_always

ITEMS = 5


@pytest.fixture
def scope() -> Iterator[Scope]:
    """A scope with a table of large items."""
    clock = SystemClock()
    store = open_store(None, clock, None)
    make = table_maker("orders")
    finish(
        store.catalog.create(lambda table_id: msgspec.structs.replace(make(table_id), billing_mode="PAY_PER_REQUEST"))
    )
    scope = scope_of(store, clock)
    for number in range(ITEMS):
        ask(scope, "PutItem", {"TableName": "orders", "Item": item(number, "old")})
    yield scope
    store.close_now()


def item(number: int, value: str) -> dict[str, Any]:
    return {"pk": {"S": str(number)}, "sk": {"S": "s"}, "v": {"S": value}, "text": {"S": "x" * PIECE_BYTES}}


def ask(scope: Scope, name: str, body: dict[str, Any]) -> Any:
    record = OPERATIONS[name]
    return finish(run_operation(scope, record, body))


def test_an_index_of_large_items_has_the_entries_of_all(scope: Scope) -> None:
    record = OPERATIONS["UpdateTable"]
    index = {
        "IndexName": "by-v",
        "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
    }
    body = {
        "TableName": "orders",
        "AttributeDefinitions": [{"AttributeName": "v", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": index}],
    }
    count = 0

    def write() -> None:
        nonlocal count
        count += 1
        ask(scope, "PutItem", {"TableName": "orders", "Item": item(count % ITEMS, f"new-{count}")})

    give_way_always(run_operation(scope, record, body), write)
    store = scope.store
    assert isinstance(store, EmbeddedStore)
    while store.maintenance.backfills():
        finish(store.maintenance.backfill(store.maintenance.backfills()[0].source_id, 100))
    (source,) = scope.tables["orders"].indexes
    assert statistics_of(store, source.source_id).item_count == ITEMS
    page = ask(scope, "Scan", {"TableName": "orders", "IndexName": "by-v"})
    table = ask(scope, "Scan", {"TableName": "orders", "ProjectionExpression": "pk, v"})
    assert sorted((one["pk"]["S"], one["v"]["S"]) for one in page["Items"]) == sorted(
        (one["pk"]["S"], one["v"]["S"]) for one in table["Items"]
    )
