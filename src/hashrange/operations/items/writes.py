"""What do PutItem, UpdateItem and DeleteItem share? Their reply: attributes, capacity, item collection metrics."""

from typing import Protocol

from hashrange.expressions.update import Update
from hashrange.items.row_layout import row_json
from hashrange.items.rows import decode_row
from hashrange.items.types import Item
from hashrange.operations import shapes
from hashrange.operations.operation import Scope
from hashrange.operations.replies import ENCODER, capacity_member, join_members
from hashrange.tables.capacity import change_units, index_units
from hashrange.tables.change import Change

_BYTES_PER_GB = 1 << 30


class WriteRequest(Protocol):
    """The members of a write that figures in its reply depend on."""

    @property
    def TableName(self) -> str: ...  # noqa: N802
    @property
    def ReturnConsumedCapacity(self) -> shapes.ReturnConsumedCapacity | None: ...  # noqa: N802
    @property
    def ReturnItemCollectionMetrics(self) -> shapes.ReturnItemCollectionMetrics | None: ...  # noqa: N802


async def write_reply(
    scope: Scope, request: WriteRequest, change: Change, key_item: Item, attributes: bytes | None
) -> bytes:
    """The reply of a committed write. `attributes` is the JSON that ReturnValues asks for, if any."""
    detail = request.ReturnConsumedCapacity
    if attributes is None and (detail is None or detail == "NONE") and request.ReturnItemCollectionMetrics is None:
        return b"{}"
    members = []
    if attributes is not None:
        members.append(b'"Attributes":' + attributes)
    if detail is not None and detail != "NONE":
        units = change_units(change)
        members.append(capacity_member(request.TableName, units, detail, index_units(change.entries)))
    if request.ReturnItemCollectionMetrics == "SIZE" and change.table.has_item_collections:
        metrics = await collection_metrics(scope, change, key_item)
        members.append(b'"ItemCollectionMetrics":' + ENCODER.encode(metrics))
    return join_members(members)


def returned_attributes(return_values: str | None, change: Change, update: Update | None) -> bytes | None:
    """The JSON of what an update returns; `return_values` are the words of ReturnValues. None for nothing."""
    if return_values is None or return_values == "NONE":
        return None
    row = change.old if return_values in ("ALL_OLD", "UPDATED_OLD") else change.new
    if row is None:
        return None
    if return_values in ("ALL_OLD", "ALL_NEW"):
        return row_json(row)
    if update is None:
        return None
    item = decode_row(row)
    attributes = update.updated_old(item) if return_values == "UPDATED_OLD" else update.updated_new(item)
    return ENCODER.encode(attributes) if attributes else None


async def collection_metrics(scope: Scope, change: Change, key_item: Item) -> dict[str, object]:
    """ItemCollectionMetrics of the collection that a write belongs to; `key_item` has its partition key."""
    table = change.table
    size_gb = await scope.store.collection_size_bytes(table, change.key) // _BYTES_PER_GB
    return {
        "ItemCollectionKey": {table.partition_name: key_item[table.partition_name]},
        "SizeEstimateRangeGB": [float(size_gb), float(size_gb + 1)],
    }
