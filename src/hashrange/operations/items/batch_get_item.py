"""BatchGetItem: up to 100 items of several tables by their primary keys;
each item is read by itself, without a snapshot.

Order of checks: AttributesToGet of one table mixed with ProjectionExpression of another; per table the same mixing in
its own parameters → AttributesToGet repeats → ProjectionExpression → each key's values → keys repeated → number of keys
of this and all earlier tables; then all tables exist → per table the keys fit its key schema, the projection's paths do
not lead into key attributes → keys repeated under another name of their table.

Keys whose items do not fit the reply (16 MB and 32 MB of JSON in all, 1 MB of one partition) are returned in
UnprocessedKeys, in the form of the request; so are all keys from the first one that exceeds a limit in all, or that
cannot be read because the engine stalls.
Our choices, unconfirmed: a partition is an item collection, all items of one partition key value; the item
that would exceed 16 MB or 1 MB is left out; a table named twice, by name and by ARN, appears in the reply under both
names, and a key under both names counts as repeated.
"""

from collections.abc import Collection
from typing import Annotated

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import (
    THROTTLED,
    ApiError,
    LeftUnprocessed,
    ResourceNotFoundException,
    StorageBusy,
    ValidationException,
    without_frames,
)
from hashrange.expressions.parameters import NO_VALUES, check_mixing, check_unused
from hashrange.expressions.projection import CompiledProjection
from hashrange.items.canonical import encode_canonically
from hashrange.items.row_layout import row_json_bytes, row_size_bytes
from hashrange.items.steps import READ_BYTES_PER_STEP, REPLY_BYTES, queue_large_reply, spend
from hashrange.items.types import Key
from hashrange.items.values import check_item
from hashrange.limits import (
    BATCH_GET_KEYS_MAX,
    BATCH_GET_PARTITION_MAX_BYTES,
    BATCH_GET_SIZE_MAX_BYTES,
    REPLY_JSON_MAX_BYTES,
)
from hashrange.messages.reads import BATCH_DUPLICATE_KEYS, BATCH_TOO_MANY, TABLE_NOT_FOUND
from hashrange.messages.requests import BATCH_GET_EMPTY, BATCH_GET_MANY_KEYS, BATCH_GET_NO_KEYS
from hashrange.operations import shapes
from hashrange.operations.items.conditions import check_key_paths
from hashrange.operations.items.expression_members import GET_ITEM, check_operation_parameters
from hashrange.operations.items.projections import check_attributes_to_get, project_row, requested_projection
from hashrange.operations.lookup import find_active_table
from hashrange.operations.meter import Meter, Usage
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply, Rows, Structure
from hashrange.tables.capacity import items_read_units, read_units
from hashrange.tables.open_table import OpenTable
from hashrange.tables.source_id import partition_prefix
from hashrange.tables.vector_billing import charged_row_bytes
from hashrange.wire.rules import ConstraintWording, RequestRules


class KeysAndAttributes(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Keys and attributes to read from one table; members in the order in which their faults are reported."""

    Keys: Annotated[list[shapes.AttributeMap], Meta(min_length=1, max_length=BATCH_GET_KEYS_MAX)]
    AttributesToGet: shapes.AttributeNameList | None = None
    ConsistentRead: bool | None = None
    ProjectionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None


class BatchGetItemRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    RequestItems: Annotated[
        dict[shapes.WholeTableName, KeysAndAttributes], Meta(min_length=1, max_length=BATCH_GET_KEYS_MAX)
    ]


class TableRead(msgspec.Struct, frozen=True, gc=False):
    """The checked part of the request that reads one table."""

    name: str
    """The table's name or ARN, as in the request."""
    entry: KeysAndAttributes
    table: OpenTable
    keys: list[Key]
    projection: CompiledProjection | None


class TableReply(msgspec.Struct, frozen=True, gc=False):
    """Result of reading one table."""

    items: Rows
    """Rows of the items found, whole or projected."""
    sizes_bytes: list[int]
    """Item size for each processed key; 0 for an absent item."""
    unprocessed: list[int]
    """Positions, in the table's Keys, of the keys that were not processed."""


class ReplyBudget:
    """How much the reply, over all its tables, already holds and may still hold."""

    __slots__ = ("error", "is_full", "json_bytes", "left_bytes")

    def __init__(self) -> None:
        self.left_bytes = BATCH_GET_SIZE_MAX_BYTES
        self.json_bytes = 0
        """JSON length in bytes of the items in the reply."""
        self.is_full = False
        """True once an item did not fit the whole reply or could not be read; later keys are not processed."""
        self.error: StorageBusy | ApiError | None = None
        """The stall, or the error for exhausted capacity, because of which an item could
        not be read; None if neither."""


async def batch_get_item(scope: Scope, request: BatchGetItemRequest, meter: Meter) -> Reply:
    """Read the items; the reply has a list for each requested table. 4 µs per item of 1 KB for 100 keys.

    If the engine stalls, keys that it has not read go to UnprocessedKeys, as do throttled ones; if nothing was read,
    the stall (StorageBusy) or the error of a throttled read is raised instead.
    """
    reads = _checked_reads(scope, request)
    budget = ReplyBudget()
    responses = Structure()
    unprocessed = {}
    for read in reads:
        reply = await _read_table(scope, read, budget, meter)
        responses[read.name] = reply.items
        if reply.unprocessed:
            asked = {name: value for name, value in msgspec.structs.asdict(read.entry).items() if value is not None}
            unprocessed[read.name] = asked | {"Keys": [read.entry.Keys[position] for position in reply.unprocessed]}
        if reply.sizes_bytes:
            consistent = read.entry.ConsistentRead is True
            meter.append(Usage(read.table, read.name, items_read_units(reply.sizes_bytes, consistent=consistent)))
    if budget.error is not None and not meter:
        raise budget.error
    return {"Responses": responses, "UnprocessedKeys": unprocessed}


def _checked_reads(scope: Scope, request: BatchGetItemRequest) -> list[TableRead]:
    """Return the reads of the request, checked by itself and against its tables; raises the first fault.

    `_usual_reads` is quick but checks in another order than the service, so `_located_reads` checks a request with any
    fault again, in the service's order, and every request with unusual key values.
    """
    if len(request.RequestItems) > 1:
        _refuse_mixing(request.RequestItems.values())
    try:
        usual = _usual_reads(scope, request)
    except ApiError:
        usual = None
    return _located_reads(scope, request) if usual is None else usual


def _usual_reads(scope: Scope, request: BatchGetItemRequest) -> list[TableRead] | None:
    """All reads of the request, if no fault is found, no table is named twice, and all key values are short ASCII
    strings; otherwise None.

    Raises ApiError for faults of a projection, Malformed for a table name of invalid length or characters.
    """
    reads = []
    tables = set()
    count = 0
    for name, entry in request.RequestItems.items():
        table = find_active_table(scope, name)
        if table is None:
            return None
        projection = _checked_projection(entry)
        if projection is not None:
            check_key_paths(table, projection.nested_attributes)
        keys = [key for key in map(table.usual_key, entry.Keys) if key is not None]
        if len(set(keys)) < len(entry.Keys):
            return None
        tables.add(table.table_id)
        count += len(keys)
        reads.append(TableRead(name, entry, table, keys, projection))
    return reads if len(tables) == len(reads) and count <= BATCH_GET_KEYS_MAX else None


def _located_reads(scope: Scope, request: BatchGetItemRequest) -> list[TableRead]:
    """All reads of the request, checked in the service's order; raises the first fault."""
    checked = []
    count = 0
    for name, entry in request.RequestItems.items():
        projection = _checked_projection(entry)
        key_items = [check_item(key)[0] for key in entry.Keys]
        if len({encode_canonically(key_item) for key_item in key_items}) < len(key_items):
            raise ValidationException(BATCH_DUPLICATE_KEYS)
        count += len(key_items)
        if count > BATCH_GET_KEYS_MAX:
            raise ValidationException(BATCH_TOO_MANY.format(operation="BatchGetItem"))
        checked.append((name, entry, key_items, projection))
    tables = [find_active_table(scope, name) for name in request.RequestItems]
    if None in tables:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    reads = []
    for table, (name, entry, key_items, projection) in zip(tables, checked, strict=True):
        assert table is not None
        keys = [table.lookup_key(key_item) for key_item in key_items]
        if projection is not None:
            check_key_paths(table, projection.nested_attributes)
        reads.append(TableRead(name, entry, table, keys, projection))
    if len({read.table.table_id for read in reads}) < len(reads):
        places = [(read.table.table_id, key) for read in reads for key in read.keys]
        if len(set(places)) < len(places):
            raise ValidationException(BATCH_DUPLICATE_KEYS)
    return reads


def _refuse_mixing(entries: Collection[KeysAndAttributes]) -> None:
    """Raise RequestFault for legacy parameters of one table together with expressions of another."""
    legacy = [entry.AttributesToGet for entry in entries if entry.AttributesToGet is not None]
    if legacy:
        texts = [entry.ProjectionExpression for entry in entries if entry.ProjectionExpression is not None]
        check_mixing([("AttributesToGet", legacy)], [("ProjectionExpression", texts or None)])


def _checked_projection(entry: KeysAndAttributes) -> CompiledProjection | None:
    """The projection for one table; None for whole items. Raises RequestFault for faults of its parameters."""
    if entry.ProjectionExpression is None and entry.AttributesToGet is None and entry.ExpressionAttributeNames is None:
        return None
    check_operation_parameters(entry, GET_ITEM)
    check_attributes_to_get(entry.AttributesToGet)
    projection = requested_projection(entry)
    check_unused(entry.ExpressionAttributeNames, NO_VALUES, projection)
    return projection


async def _read_table(scope: Scope, read: TableRead, budget: ReplyBudget, meter: Meter) -> TableReply:
    """Read one table's items, in the order of the requested keys, as far as they fit the reply."""
    get, source, projection = scope.store.get, read.table.source_id, read.projection
    charged_bytes: dict[int, int] = {}
    """Place in `sizes_bytes` → what reading a long item with vectors is charged for."""
    consistent = read.entry.ConsistentRead is True
    items = Rows()
    sizes_bytes: list[int] = []
    unprocessed: list[int] = []
    taken_bytes = 0
    for position, key in enumerate(read.keys):
        if budget.is_full:
            unprocessed.append(position)
            continue
        try:
            row = get(source, key, meter, consistent=consistent)
            if row is not None and not isinstance(row, bytes):
                row = await row
        except (LeftUnprocessed, StorageBusy, *THROTTLED) as error:
            budget.is_full = isinstance(error, StorageBusy)
            budget.error = budget.error if isinstance(error, LeftUnprocessed) else without_frames(error)
            unprocessed.append(position)
            continue
        if row is None:
            sizes_bytes.append(0)
            continue
        if len(row) >= READ_BYTES_PER_STEP:
            spend(len(row) // READ_BYTES_PER_STEP)
            if read.table.vector_attributes:
                charged_bytes[len(sizes_bytes)] = charged_row_bytes(read.table, row)
        size_bytes = row_size_bytes(row)
        taken_bytes += size_bytes
        budget.is_full = size_bytes > budget.left_bytes or budget.json_bytes > REPLY_JSON_MAX_BYTES
        if budget.is_full or (
            taken_bytes > BATCH_GET_PARTITION_MAX_BYTES
            and size_bytes + _partition_bytes(key, read.keys, unprocessed, sizes_bytes) > BATCH_GET_PARTITION_MAX_BYTES
        ):
            charged_bytes.pop(len(sizes_bytes), None)
            taken_bytes -= size_bytes
            unprocessed.append(position)
            scope.store.unread(source, key, read_units(size_bytes, consistent=consistent), meter)
            continue
        budget.left_bytes -= size_bytes
        sizes_bytes.append(size_bytes)
        returned = row if projection is None else project_row(projection, row)
        items.append(returned)
        json_bytes = budget.json_bytes + row_json_bytes(returned)
        if json_bytes > REPLY_BYTES:
            queue_large_reply(budget.json_bytes, json_bytes)
        budget.json_bytes = json_bytes
    return TableReply(items, _charged(sizes_bytes, charged_bytes), unprocessed)


def _charged(sizes_bytes: list[int], charged_bytes: dict[int, int]) -> list[int]:
    """The sizes, with those of `charged_bytes` (place → bytes) in their places."""
    if not charged_bytes:
        return sizes_bytes
    return [charged_bytes.get(place, size_bytes) for place, size_bytes in enumerate(sizes_bytes)]


def _partition_bytes(key: Key, keys: list[Key], unprocessed: list[int], sizes_bytes: list[int]) -> int:
    """Total size of the items that have been read so far and have the partition key of `key`.

    `unprocessed`: positions of the first keys of `keys` that are left out; `sizes_bytes`: item sizes of the others.
    """
    left_out = frozenset(unprocessed)
    processed = [other for position, other in enumerate(keys) if position not in left_out]
    partition = partition_prefix(key)
    pairs = zip(processed, sizes_bytes, strict=False)  # the remaining keys have no sizes yet
    return sum([size_bytes for other, size_bytes in pairs if other.startswith(partition)])


def _is_eventual(request: BatchGetItemRequest) -> bool:
    """True if no table requests a consistent read."""
    return not any(entry.ConsistentRead is True for entry in request.RequestItems.values())


OPERATION = Operation(
    "BatchGetItem",
    BatchGetItemRequest,
    batch_get_item,
    JsonWire(
        rules=RequestRules(
            wordings={
                ("requestItems", "min_length"): ConstraintWording(BATCH_GET_EMPTY),
                ("requestItems.{key}.member.keys", "min_length"): ConstraintWording(BATCH_GET_NO_KEYS),
                ("requestItems.{key}.member.keys", "max_length"): ConstraintWording(BATCH_GET_MANY_KEYS),
                ("requestItems", "keys"): ConstraintWording(is_json=True),
            },
            falls_back=frozenset(("converted",)),
        )
    ),
    capacity="by table",
    tables=lambda request: request.RequestItems,
    is_eventual=_is_eventual,
)
