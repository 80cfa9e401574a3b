"""How large does a reply say that an item collection is?
ItemCollectionMetrics, for single writes, batches and transactions.
"""

from collections.abc import Iterable

from hashrange.items.types import Item
from hashrange.operations.items.actions import Action
from hashrange.operations.operation import Scope
from hashrange.tables.change import Change
from hashrange.tables.source_id import partition_prefix

_BYTES_PER_GB = 1 << 30


async def metrics_by_table(
    scope: Scope, written: Iterable[tuple[str, Action, Change]]
) -> dict[str, list[dict[str, object]]]:
    """ItemCollectionMetrics of every item collection written to, grouped by the table names in `written`.

    A table without local indexes has no item collections.
    """
    metrics: dict[str, list[dict[str, object]]] = {}
    reported: set[bytes] = set()
    for name, action, change in written:
        table = change.table
        collection = table.source_id + partition_prefix(change.key)
        if table.has_item_collections and collection not in reported:
            reported.add(collection)
            metrics.setdefault(name, []).append(await collection_metrics(scope, change, action.item))
    return metrics


async def collection_metrics(scope: Scope, change: Change, key_item: Item) -> dict[str, object]:
    """ItemCollectionMetrics of the item collection that a write belongs to; `key_item` holds the partition key."""
    table = change.table
    size_gb = await scope.store.collection_size_bytes(table, change.key) // _BYTES_PER_GB
    return {
        "ItemCollectionKey": {table.partition_name: key_item[table.partition_name]},
        "SizeEstimateRangeGB": [float(size_gb), float(size_gb + 1)],
    }
