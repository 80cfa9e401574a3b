"""How is a write of one item committed, and what does its reply hold?
Attributes and ItemCollectionMetrics, also of batches and transactions; the meter records the capacity.
"""

from collections.abc import Coroutine, Iterable
from typing import Any, Protocol

from hashrange.errors import ItemRefusal, ResourceNotFoundException
from hashrange.expressions.update import CompiledUpdate
from hashrange.items.rows import decode_row
from hashrange.items.types import Item, Key, Row
from hashrange.messages.reads import TABLE_NOT_FOUND
from hashrange.operations import shapes
from hashrange.operations.items.actions import Action, plan_action
from hashrange.operations.lookup import find_active_table
from hashrange.operations.meter import ChangeUsage, Meter, Usage
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.soon import Soon, settled
from hashrange.store.request_ids import new_request_id
from hashrange.tables.capacity import write_units
from hashrange.tables.change import Change, Plan
from hashrange.tables.open_table import OpenTable
from hashrange.tables.source_id import partition_prefix


class ReplyOptions(Protocol):
    """Members of a write request that `write_item` reads: the table, and which attributes and metrics are returned."""

    @property
    def TableName(self) -> str: ...  # noqa: N802
    @property
    def ReturnValues(self) -> shapes.ReturnValue | None: ...  # noqa: N802
    @property
    def ReturnItemCollectionMetrics(self) -> shapes.ReturnItemCollectionMetrics | None: ...  # noqa: N802


def write_item(scope: Scope, request: ReplyOptions, action: Action, meter: Meter) -> Soon[Reply]:
    """Commit the write of a single item and return the reply.

    Raises ResourceNotFoundException, the first fault of the action against the table, then what `commit_write` raises.
    """
    table = find_active_table(scope, request.TableName)
    if table is None:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    key, plan = plan_action(table, action)
    change = commit_write(scope, table, key, plan, request.TableName, meter)
    if isinstance(change, Change) and request.ReturnItemCollectionMetrics is None:
        return _reply(request, action, change)
    return _whole_reply(scope, request, action, change)


def _reply(request: ReplyOptions, action: Action, change: Change) -> Reply:
    """The reply of a write, with Attributes if requested, but without ItemCollectionMetrics and ConsumedCapacity."""
    if request.ReturnValues is None:
        return {}
    attributes = returned_attributes(request.ReturnValues, change, action.update)
    return {} if attributes is None else {"Attributes": attributes}


async def _whole_reply(scope: Scope, request: ReplyOptions, action: Action, change: Soon[Change]) -> Reply:
    """Wait for a write and return its reply, with ItemCollectionMetrics if requested and there are local indexes."""
    change = await settled(change)
    reply = _reply(request, action, change)
    if request.ReturnItemCollectionMetrics == "SIZE" and change.table.has_item_collections:
        reply["ItemCollectionMetrics"] = await collection_metrics(scope, change, action.item)
    return reply


def commit_write(scope: Scope, table: OpenTable, key: Key, plan: Plan, name: str, meter: Meter) -> Soon[Change]:
    """Commit a write of one item and record its usage; `name` is the table's name or ARN, as the reply reports it.

    Raises what the plan and `Store.mutate` raise. A write refused with ItemRefusal consumes as much as writing the
    existing item.
    """
    try:
        change = scope.store.mutate(table, key, plan, new_request_id())
    except ItemRefusal as refusal:
        meter.append(_refused(table, name, refusal))
        raise
    if not isinstance(change, Change):
        return _committed(change, table, name, meter)
    meter.append(ChangeUsage(table, name, change))
    return change


async def _committed(coming: Coroutine[Any, Any, Change], table: OpenTable, name: str, meter: Meter) -> Change:
    """`commit_write` for a store that has to wait for the commit."""
    try:
        change = await coming
    except ItemRefusal as refusal:
        meter.append(_refused(table, name, refusal))
        raise
    meter.append(ChangeUsage(table, name, change))
    return change


def _refused(table: OpenTable, name: str, refusal: ItemRefusal) -> Usage:
    """Usage of a write refused because of the existing item or its absence: that of writing that item, or one unit."""
    return Usage(table, name, write_units(refusal.size_bytes, 0), (), True, False)


def returned_attributes(return_values: str | None, change: Change, update: CompiledUpdate | None) -> Row | Item | None:
    """Attributes that a write returns if `return_values` is its ReturnValues; None if it returns none."""
    if return_values is None or return_values == "NONE":
        return None
    row = change.old if return_values in ("ALL_OLD", "UPDATED_OLD") else change.new
    if row is None or return_values in ("ALL_OLD", "ALL_NEW"):
        return row
    if update is None:
        return None
    item = decode_row(row)
    attributes = update.updated_old(item) if return_values == "UPDATED_OLD" else update.updated_new(item)
    return attributes or None


# --- item collections -----------------------------------------------------------------------------


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
