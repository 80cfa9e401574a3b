"""Batches give way between their items: large ones yield the loop, and tables may change meanwhile."""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Operation
from hashrange.clock import SystemClock
from hashrange.errors import ResourceNotFoundException, StorageBusy, TransactionConflictException, ValidationException
from hashrange.items import steps
from hashrange.operations.items import batch_get_item, batch_write_item, scan
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.partiql import batch_execute_statement
from hashrange.operations.transactions import transact_get_items
from hashrange.soon import settled
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Index, IndexProjection, KeySchema
from tests.support.asking import run_operation, run_to_json
from tests.support.samples import finish, statistics_of, table_maker
from tests.support.scopes import scope_of
from tests.support.working import give_way_always
from tests.support.wrapped_stores.faulty import FaultyStore, StoreMethod

LARGE = "x" * 409_000
Step = Callable[[], None]


@pytest.fixture
def scope() -> Iterator[Scope]:
    """A scope over a store in memory with the table `orders`."""
    clock = SystemClock()
    store = open_store(None, clock, None)
    finish(store.catalog.create(table_maker("orders")))
    yield scope_of(store, clock)
    store.close_now()


def key(place: int) -> dict[str, Any]:
    return {"pk": {"S": str(place)}, "sk": {"S": "s"}}


def writes(text: str, count: int = 25) -> dict[str, Any]:
    requests = [{"PutRequest": {"Item": key(place) | {"text": {"S": text}}}} for place in range(count)]
    return {"RequestItems": {"orders": requests}}


def started(scope: Scope, operation: Operation[JsonWire], body: dict[str, Any]) -> Coroutine[Any, Any, Any]:
    return run_operation(scope, operation, body)


def current(scope: Scope) -> tuple[EmbeddedStore, OpenTable]:
    assert isinstance(scope.store, EmbeddedStore)
    return scope.store, scope.tables["orders"]


# --- giving way -----------------------------------------------------------------------------------


def test_small_batches_do_not_suspend(scope: Scope) -> None:
    finish(started(scope, batch_write_item.OPERATION, writes("small")))
    asked = {"RequestItems": {"orders": {"Keys": [key(place) for place in range(100)], "ProjectionExpression": "pk"}}}
    finish(started(scope, batch_get_item.OPERATION, asked))


def test_large_batches_give_way_at_every_item(scope: Scope) -> None:
    assert give_way_always(started(scope, batch_write_item.OPERATION, writes(LARGE)))[0] >= 25
    keys = [key(place) for place in range(25)]
    for projection in ({}, {"ProjectionExpression": "pk"}):
        asked = {"RequestItems": {"orders": {"Keys": keys} | projection}}
        assert give_way_always(started(scope, batch_get_item.OPERATION, asked))[0] >= 25


def test_a_reply_holds_so_much_json_and_leaves_the_rest(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items of tiny values have far more JSON than bytes of item size."""
    nulls = {"L": [{"NULL": True}] * 1_000}
    requests = [{"PutRequest": {"Item": key(place) | {"nulls": nulls}}} for place in range(20)]
    finish(started(scope, batch_write_item.OPERATION, {"RequestItems": {"orders": requests}}))
    monkeypatch.setattr(batch_get_item, "REPLY_JSON_MAX_BYTES", 50_000)
    asked = {"RequestItems": {"orders": {"Keys": [key(place) for place in range(20)]}}}
    reply = finish(started(scope, batch_get_item.OPERATION, asked))
    found, left = reply["Responses"]["orders"], reply["UnprocessedKeys"]["orders"]["Keys"]
    assert (len(found), len(left)) == (4, 16)
    assert left == [key(place) for place in range(4, 20)]


def test_large_replies_are_made_one_after_the_other(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty replies of 30 MB each at the same time would exhaust the memory of a machine."""
    finish(started(scope, batch_write_item.OPERATION, writes("x" * 40_000)))
    monkeypatch.setattr(steps, "REPLY_BYTES", 300_000)
    held: list[int] = []
    monkeypatch.setattr(steps, "_queue", held.append)
    keys = [key(place) for place in range(25)]
    statements = [{"Statement": f"SELECT * FROM orders WHERE pk='{one['pk']['S']}' AND sk='s'"} for one in keys]
    requests: list[tuple[Operation[JsonWire], dict[str, Any]]] = [
        (batch_get_item.OPERATION, {"RequestItems": {"orders": {"Keys": keys}}}),
        (scan.OPERATION, {"TableName": "orders"}),
        (batch_execute_statement.OPERATION, {"Statements": statements}),
        (
            transact_get_items.OPERATION,
            {"TransactItems": [{"Get": {"TableName": "orders", "Key": one}} for one in keys]},
        ),
    ]
    for operation, body in requests:
        held.clear()
        finish(run_to_json(scope, operation, body))
        assert steps.REPLY_ALONE_BYTES in held, operation.name


def test_large_maps_as_keys_are_refused_at_once(scope: Scope) -> None:
    large = {name: {"S": "x"} for name in ("pk", "sk", *[f"a{place:06}" for place in range(100_000)])}
    asked = {"RequestItems": {"orders": {"Keys": [large, key(1)]}}}
    with pytest.raises(ValidationException, match="does not match the schema"):
        finish(started(scope, batch_get_item.OPERATION, asked))


# --- tables that change meanwhile -----------------------------------------------------------------


def test_a_table_deleted_between_two_writes_takes_no_more(scope: Scope) -> None:
    store, table = current(scope)

    def delete() -> None:
        if statistics_of(store, table.source_id).item_count and "orders" in scope.tables:
            finish(store.catalog.delete(table.schema))

    with pytest.raises(ResourceNotFoundException):
        give_way_always(started(scope, batch_write_item.OPERATION, writes(LARGE)), delete)
    assert statistics_of(store, table.source_id).item_count == 0


def test_a_table_of_the_same_name_is_another_table(scope: Scope) -> None:
    store, table = current(scope)

    def replace() -> None:
        if statistics_of(store, table.source_id).item_count:
            finish(store.catalog.delete(table.schema))
            finish(store.catalog.create(table_maker("orders")))

    with pytest.raises(ResourceNotFoundException):
        give_way_always(started(scope, batch_write_item.OPERATION, writes(LARGE)), replace)
    assert statistics_of(store, scope.tables["orders"].source_id).item_count == 0


def test_an_index_made_between_two_writes_gets_the_later_items(scope: Scope) -> None:
    store, table = current(scope)
    index = Index(1, "by-sk", True, KeySchema(("sk",), ("S",)), IndexProjection("KEYS_ONLY"))
    indexed = msgspec.structs.replace(table.schema, indexes=(index,))
    before: list[int] = []

    def add_index() -> None:
        count = statistics_of(store, table.source_id).item_count
        if count and not before:
            before.append(count)
            assert finish(store.catalog.replace(table.schema, indexed))

    give_way_always(started(scope, batch_write_item.OPERATION, writes(LARGE)), add_index)
    (source,) = scope.tables["orders"].indexes
    assert statistics_of(store, source.source_id).item_count == 25 - before[0] > 0


# --- the commit barrier ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "expected"),
    [((None,), True), ((False, None), True), ((True,), False), ((None, True), False), ((True, True), False)],
)
def test_a_read_waits_for_nothing_only_when_no_table_is_read_consistently(
    asked: tuple[bool | None, ...], expected: bool
) -> None:
    entries = {f"table-{place}": {"Keys": [key(1)], "ConsistentRead": one} for place, one in enumerate(asked)}
    request = msgspec.convert({"RequestItems": entries}, batch_get_item.BatchGetItemRequest)
    assert batch_get_item.OPERATION.is_eventual is not None
    assert batch_get_item.OPERATION.is_eventual(request) is expected


def test_a_write_always_waits() -> None:
    assert batch_write_item.OPERATION.is_eventual is None


def test_what_a_transaction_stands_in_the_way_of_is_left_over(scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    store, _ = current(scope)
    mutate = store.mutate
    calls = 0

    async def refused_once(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise TransactionConflictException("Transaction is ongoing for the item")
        return await settled(mutate(*arguments))

    monkeypatch.setattr(store, "mutate", refused_once)
    reply = finish(started(scope, batch_write_item.OPERATION, writes("a", 3)))
    item = key(1) | {"text": {"S": "a"}}
    assert reply["UnprocessedItems"] == {"orders": [{"PutRequest": {"Item": item}}]}
    assert statistics_of(store, scope.tables["orders"].source_id).item_count == 2


# --- stalls longer than any retry -----------------------------------------------------------------


def stall(scope: Scope, method: StoreMethod, done: int) -> FaultyStore:
    """Let a method of the scope's store raise StorageBusy after `done` calls."""
    faulty = FaultyStore(current(scope)[0])
    faulty.fail(method, StorageBusy("The engine is catching up."), after_calls=done)
    scope.store = faulty
    return faulty


def test_a_stall_leaves_over_what_was_not_written(scope: Scope) -> None:
    faulty = stall(scope, "mutate", 2)
    asked = writes("a", 4) | {"ReturnConsumedCapacity": "TOTAL"}
    asked["RequestItems"]["orders"].append({"DeleteRequest": {"Key": key(9)}})
    reply = finish(started(scope, batch_write_item.OPERATION, asked))
    assert reply["UnprocessedItems"] == {"orders": asked["RequestItems"]["orders"][2:]}
    assert reply["ConsumedCapacity"] == [{"TableName": "orders", "CapacityUnits": 2.0}]
    assert faulty.calls["mutate"] == 3, "patience is at an end for all that follow"
    assert statistics_of(faulty, scope.tables["orders"].source_id).item_count == 2


def test_a_stall_before_the_first_write_fails_the_batch(scope: Scope) -> None:
    faulty = stall(scope, "mutate", 0)
    with pytest.raises(StorageBusy):
        finish(started(scope, batch_write_item.OPERATION, writes("a", 3)))
    assert faulty.calls["mutate"] == 1


def test_a_stall_leaves_keys_unread(scope: Scope) -> None:
    finish(started(scope, batch_write_item.OPERATION, writes("a", 2)))
    finish(scope.store.catalog.create(table_maker("others")))
    faulty = stall(scope, "get", 2)
    keys = [key(place) for place in range(4)]
    entry = {"Keys": keys, "ConsistentRead": True}
    asked = {"RequestItems": {"orders": entry, "others": entry}, "ReturnConsumedCapacity": "TOTAL"}
    reply = finish(started(scope, batch_get_item.OPERATION, asked))
    assert len(reply["Responses"]["orders"]) == 2
    assert reply["Responses"]["others"] == []
    assert reply["UnprocessedKeys"] == {"orders": entry | {"Keys": keys[2:]}, "others": entry}
    assert reply["ConsumedCapacity"] == [{"TableName": "orders", "CapacityUnits": 2.0}]
    assert faulty.calls["get"] == 3


def test_a_stall_before_the_first_read_fails_the_batch(scope: Scope) -> None:
    stall(scope, "get", 0)
    with pytest.raises(StorageBusy):
        finish(started(scope, batch_get_item.OPERATION, {"RequestItems": {"orders": {"Keys": [key(1), key(2)]}}}))
