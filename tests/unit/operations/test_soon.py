"""Operations on one item return without a coroutine when the store answers at once;
with a store that waits, the reply is the same.
"""

from collections.abc import Coroutine
from typing import Any

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.errors import ApiError
from hashrange.operations.meter import Meter
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.operations.reply import Structure, plain_values
from hashrange.soon import settled
from hashrange.store.embedded import open_store
from tests.support.samples import finish, table_maker
from tests.support.scopes import scope_of
from tests.support.wrapped_stores.suspending import SuspendingStore
from tests.unit.jobs.world import drive

KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}
TABLE = {"TableName": "orders"}
WHERE = "WHERE pk = 'p' AND sk = 's'"
ITEM = {**TABLE, "Item": KEY | {"n": {"N": "1"}}}
SINGLE: list[tuple[str, dict[str, Any]]] = [
    ("PutItem", ITEM | {"ReturnValues": "ALL_OLD"}),
    ("GetItem", {**TABLE, "Key": KEY}),
    ("GetItem", {**TABLE, "Key": KEY, "ProjectionExpression": "n", "ConsistentRead": True}),
    ("GetItem", {**TABLE, "Key": KEY | {"sk": {"S": "other"}}}),
    ("PutItem", {**TABLE, "Item": KEY, "ConditionExpression": "attribute_not_exists(pk)"}),
    (
        "UpdateItem",
        {
            **TABLE,
            "Key": KEY,
            "UpdateExpression": "ADD n :n",
            "ExpressionAttributeValues": {":n": {"N": "1"}},
            "ReturnValues": "UPDATED_NEW",
        },
    ),
    ("UpdateItem", {**TABLE, "Key": KEY, "ConditionExpression": "n = n.m"}),
    ("Query", {**TABLE, "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": KEY["pk"]}}),
    ("Query", {**TABLE, "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": KEY["sk"]}}),
    (
        "Query",
        {
            **TABLE,
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": KEY["pk"]},
            "Limit": 1,
            "Select": "COUNT",
        },
    ),
    ("Scan", TABLE),
    ("ExecuteStatement", {"Statement": f"SELECT * FROM orders {WHERE}"}),
    ("ExecuteStatement", {"Statement": f"SELECT n FROM orders {WHERE} AND n > 5", "ConsistentRead": True}),
    ("ExecuteStatement", {"Statement": f"UPDATE orders SET n = n + 1 {WHERE} RETURNING ALL NEW *"}),
    ("ExecuteStatement", {"Statement": "INSERT INTO orders VALUE {'pk': 'p', 'sk': 's'}"}),
    ("DeleteItem", {**TABLE, "Key": KEY, "ReturnItemCollectionMetrics": "SIZE", "ReturnValues": "ALL_OLD"}),
]


def asked(scope: Scope, name: str, members: dict[str, Any]) -> tuple[Any, Meter]:
    operation = OPERATIONS[name]
    meter = Meter()
    try:
        return operation.run(scope, msgspec.convert(members, operation.request), meter), meter
    except ApiError as refusal:
        return refusal, meter


def ended(soon: Any) -> Any:
    """The reply as plain values, or the error code of a refusal."""
    try:
        reply = drive(soon)
    except ApiError as refusal:
        return refusal.code
    return reply.code if isinstance(reply, ApiError) else plain_values(Structure(reply))


def used(meter: Meter) -> list[tuple[str, float, bool, bool]]:
    return [(usage.name, usage.table_units, usage.is_write, usage.took_effect) for usage in meter]


def test_single_items_are_read_and_written_at_once_or_later_to_the_same_effect() -> None:
    clock = SystemClock()
    at_once, inner = open_store(None, clock, None), open_store(None, clock, None)
    later = SuspendingStore(inner, 1)
    for store in (at_once, inner):
        finish(store.catalog.create(table_maker("orders")))
    scopes = scope_of(at_once, clock), scope_of(later, clock)
    for name, members in SINGLE:
        (now, now_meter), (coming, coming_meter) = (asked(scope, name, members) for scope in scopes)
        if "ReturnItemCollectionMetrics" not in members:
            assert not isinstance(now, Coroutine), name
        assert isinstance(coming, Coroutine), name
        assert ended(now) == ended(coming), name
        assert used(now_meter) == used(coming_meter) != [], name
    at_once.close_now()
    inner.close_now()


@pytest.mark.parametrize("value", [None, b"row", {"Item": b""}])
def test_settled_takes_both(value: Any) -> None:
    async def bring() -> Any:
        return value

    assert finish(settled(value)) is value
    assert finish(settled(bring())) is value
