"""ItemCollectionMetrics of collections too large to fill in a test: the size range is given in whole gigabytes."""

from typing import Any

import msgspec
import pytest

from hashrange.clock import SystemClock
from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import layout
from hashrange.tables.source_id import partition_prefix
from tests.support.asking import run_operation
from tests.support.samples import finish
from tests.support.scopes import scope_of
from tests.unit.store.collections_world import Collections, item

GB = 1024**3
ADDED_BYTES = 50


def metrics(world: Collections, operation: str, **members: Any) -> Any:
    scope = scope_of(world.store, SystemClock())
    request: Any = msgspec.convert(members | {"ReturnItemCollectionMetrics": "SIZE"}, OPERATIONS[operation].request)
    return finish(run_operation(scope, OPERATIONS[operation], request))["ItemCollectionMetrics"]


@pytest.mark.parametrize(
    ("size_bytes", "bounds"),
    [
        (ADDED_BYTES, [0.0, 1.0]),
        (GB - 1, [0.0, 1.0]),
        (GB, [1.0, 2.0]),
        (9 * GB + 5, [9.0, 10.0]),
        (10 * GB, [10.0, 11.0]),
    ],
)
def test_the_range_of_a_size(size_bytes: int, bounds: list[float]) -> None:
    world = Collections()
    world.store.close_now()
    world.open(limit_bytes=10 * GB)
    table = world.created("orders", world.table.schema.indexes)
    new = item("a", ADDED_BYTES)
    row_key = layout.collection_key(table.source_id, partition_prefix(world.key(new)))
    if size_bytes > ADDED_BYTES:
        world.store.engine.put(row_key, layout.encode_counter(size_bytes - ADDED_BYTES))
    expected = {"ItemCollectionKey": {"pk": {"S": "p"}}, "SizeEstimateRangeGB": bounds}
    assert metrics(world, "PutItem", TableName="orders", Item=new) == expected
    again = {"RequestItems": {"orders": [{"PutRequest": {"Item": new}}]}}
    assert metrics(world, "BatchWriteItem", **again) == {"orders": [expected]}
    action = {"Put": {"TableName": "orders", "Item": new}}
    assert metrics(world, "TransactWriteItems", TransactItems=[action]) == {"orders": [expected]}
    world.store.close_now()
