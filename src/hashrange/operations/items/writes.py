"""What do PutItem, UpdateItem and DeleteItem share? Their reply: attributes, capacity, item collection metrics."""

from typing import Protocol

from hashrange.items.keys import prefix_upper_bound
from hashrange.items.types import Item, Key
from hashrange.operations import shapes
from hashrange.operations.operation import Scope
from hashrange.operations.replies import ENCODER, capacity_member, join_members
from hashrange.store.pause import PAUSE
from hashrange.tables.capacity import change_units, index_units
from hashrange.tables.change import Change
from hashrange.tables.schema import Table
from hashrange.tables.sources import index_sources
from hashrange.tables.span import Span

_COLLECTION_STEP_BYTES = 1 << 20
_COLLECTION_STEP_ROWS = 4096
_BYTES_PER_GB = 1 << 30


class WriteRequest(Protocol):
    """The members of a write that ask for figures in its reply."""

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
        members.append(capacity_member(change.table.name, units, detail, index_units(change.entries)))
    if request.ReturnItemCollectionMetrics == "SIZE" and has_collections(change.table):
        metrics = await collection_metrics(scope, change, key_item)
        members.append(b'"ItemCollectionMetrics":' + ENCODER.encode(metrics))
    return join_members(members)


def has_collections(table: Table) -> bool:
    """Only tables with local indexes have item collections."""
    return any(not index.is_global for index in table.indexes)


async def collection_metrics(scope: Scope, change: Change, key_item: Item) -> dict[str, object]:
    """ItemCollectionMetrics of the collection that a write belongs to; `key_item` has its partition key."""
    table = change.table
    local = [source.source for source in index_sources(table) if source.index and not source.index.is_global]
    size_bytes = sum([await _collection_size_bytes(scope, source, change.key) for source in (table.source, *local)])
    size_gb = size_bytes // _BYTES_PER_GB
    return {
        "ItemCollectionKey": {table.partition_name: key_item[table.partition_name]},
        "SizeEstimateRangeGB": [float(size_gb), float(size_gb + 1)],
    }


def collection_prefix(key: Key) -> bytes:
    """What the keys of one item collection begin with: the partition key."""
    return key[: 10 + int.from_bytes(key[8:10], "big")]


async def _collection_size_bytes(scope: Scope, source: bytes, key: Key) -> int:
    """Sum of the sizes in `source` under the partition key of `key`; hands the loop back between steps.

    A local index has the table's partition key, so the same bytes begin its keys.
    """
    prefix = collection_prefix(key)
    lower, upper = prefix, prefix_upper_bound(prefix)
    size_bytes = 0
    while True:
        span = Span(lower, upper)
        page = await scope.store.page(source, span, _COLLECTION_STEP_ROWS, _COLLECTION_STEP_BYTES, consistent=True)
        size_bytes += page.size_bytes
        if page.is_end or page.last_key is None:
            return size_bytes
        lower = page.last_key + b"\x00"
        await PAUSE
