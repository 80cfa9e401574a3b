"""BatchWriteItem: up to 25 puts and deletes of whole items in several tables; each is atomic by itself, the batch is not.

Order of checks: per table and request exactly one of PutRequest and DeleteRequest → values → item size; then requests
counted → all tables → keys repeated → key schema and index keys. All of it comes before the first write.

Open in what is known of the service, our choices: a repeated key is heard before a key that does not fit its table; a
table that is named twice, by name and by ARN, is one table; an item collection that would be too large refuses the request,
whose earlier writes stay and whose later ones are not done.
"""

from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from hashrange.errors import (
    THROTTLED,
    ApiError,
    ResourceNotFoundException,
    StorageBusy,
    TransactionConflictException,
    ValidationException,
)
from hashrange.items.rows import encode_row
from hashrange.items.types import Item, Key
from hashrange.items.values import check_item
from hashrange.limits import BATCH_WRITE_REQUESTS_MAX, ITEM_SIZE_MAX_BYTES
from hashrange.messages.keys import KEY_SCHEMA_MISMATCH
from hashrange.messages.reads import BATCH_DUPLICATE_KEYS, BATCH_TOO_MANY, ITEM_TOO_LARGE, TABLE_NOT_FOUND
from hashrange.messages.values import VALUE_EMPTY, VALUE_HAS_TWO_TYPES
from hashrange.operations import shapes
from hashrange.operations.items.writes import collection_metrics
from hashrange.operations.lookup import find_active_table
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.replies import ENCODER, capacities_member, join_members
from hashrange.store.request_ids import new_request_id
from hashrange.tables.capacity import IndexUnits, change_units, index_units
from hashrange.tables.change import Change, Planned
from hashrange.tables.index_keys import check_item_index_keys
from hashrange.tables.keys import key_of
from hashrange.tables.open_table import OpenTable
from hashrange.tables.source_id import partition_of
from hashrange.wire.body_members import decode_large


class DeleteRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Remove the item of this key."""

    Key: shapes.AttributeMap


class PutRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Create or replace this item."""

    Item: shapes.AttributeMap


class WriteRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One of both; members in the order in which their faults are reported."""

    DeleteRequest: "DeleteRequest | None" = None
    PutRequest: "PutRequest | None" = None


WriteRequests = Annotated[list[WriteRequest], Meta(min_length=1, max_length=BATCH_WRITE_REQUESTS_MAX)]


class BatchWriteItemRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    ReturnItemCollectionMetrics: shapes.ReturnItemCollectionMetrics | None = None
    RequestItems: Annotated[
        dict[shapes.WholeTableName, WriteRequests], Meta(min_length=1, max_length=BATCH_WRITE_REQUESTS_MAX)
    ]


class Outline(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request, each of its writes still as it came."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    ReturnItemCollectionMetrics: shapes.ReturnItemCollectionMetrics | None = None
    RequestItems: Annotated[
        dict[
            shapes.WholeTableName,
            Annotated[list[msgspec.Raw], Meta(min_length=1, max_length=BATCH_WRITE_REQUESTS_MAX)],
        ],
        Meta(min_length=1, max_length=BATCH_WRITE_REQUESTS_MAX),
    ]


_read_outline = msgspec.json.Decoder(Outline).decode
_write_decoder = msgspec.json.Decoder(WriteRequest)


def decode_in_pieces(body: bytes) -> BatchWriteItemRequest:
    """The request, write by write: together they may hold more members than one item can. Raises as a decoder does."""
    outline = _read_outline(body)
    return BatchWriteItemRequest(
        ReturnConsumedCapacity=outline.ReturnConsumedCapacity,
        ReturnItemCollectionMetrics=outline.ReturnItemCollectionMetrics,
        RequestItems={
            name: [decode_large(bytes(raw), _write_decoder) for raw in writes]
            for name, writes in outline.RequestItems.items()
        },
    )


class Write(NamedTuple):
    """One put or delete, its values checked."""

    name: str
    """Of its table, as the request has it: a name or an ARN."""
    item: Item
    """The item to be put, or the key of the one to be removed."""
    size_bytes: int
    is_put: bool


async def batch_write_item(scope: Scope, request: BatchWriteItemRequest) -> bytes:
    """Check everything, then commit one write after the other; one that a transaction stands in the way of is left over,
    and one that is throttled, unless nothing was written.

    So is all that follows when the engine stalls for longer than a request waits; raises StorageBusy if nothing was written.
    24 µs an item of 1 KB, in memory.
    """
    writes = _checked_writes(request)
    tables = {name: find_active_table(scope, name) for name in request.RequestItems}
    if None in tables.values():
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    places = _located(writes, {name: table for name, table in tables.items() if table is not None})
    changes: list[Change] = []
    written: list[Write] = []
    left_over: dict[str, list[dict[str, object]]] = {}
    is_stalled = False
    throttled: ApiError | None = None
    for write, (table, key) in zip(writes, places, strict=True):
        if is_stalled:
            _leave_over(left_over, write)
            continue
        try:
            changes.append(await _commit(scope, write, table, key))
        except TransactionConflictException:
            _leave_over(left_over, write)
        except THROTTLED as error:
            throttled = error
            _leave_over(left_over, write)
        except StorageBusy:
            if not written:
                raise
            is_stalled = True
            _leave_over(left_over, write)
        else:
            written.append(write)
    if throttled is not None and not written:
        raise throttled
    return await _reply(scope, request, written, changes, left_over)


def _leave_over(left_over: dict[str, list[dict[str, object]]], write: Write) -> None:
    kind, member = ("PutRequest", "Item") if write.is_put else ("DeleteRequest", "Key")
    left_over.setdefault(write.name, []).append({kind: {member: write.item}})


def _checked_writes(request: BatchWriteItemRequest) -> list[Write]:
    """The writes in the order of the request, each checked by itself."""
    writes = []
    for name, wanted in request.RequestItems.items():
        for one in wanted:
            put, delete = one.PutRequest, one.DeleteRequest
            if put is not None:
                if delete is not None:
                    raise ValidationException(VALUE_HAS_TWO_TYPES)
                item, size_bytes = check_item(put.Item)
                if size_bytes > ITEM_SIZE_MAX_BYTES:
                    raise ValidationException(ITEM_TOO_LARGE)
            elif delete is not None:
                item, size_bytes = check_item(delete.Key)
            else:
                raise ValidationException(VALUE_EMPTY)
            writes.append(Write(name, item, size_bytes, put is not None))
    if len(writes) > BATCH_WRITE_REQUESTS_MAX:
        raise ValidationException(BATCH_TOO_MANY.format(operation="BatchWriteItem"))
    return writes


def _located(writes: list[Write], tables: dict[str, OpenTable]) -> list[tuple[OpenTable, Key]]:
    """Where the writes go. Refuses repeated keys first, then the first write that does not fit its table."""
    places: list[tuple[OpenTable, Key]] = []
    seen: set[bytes] = set()
    first_fault: ValidationException | None = None
    for write in writes:
        table = tables[write.name]
        try:
            key = _key(table, write)
            if write.is_put and table.index_keys:
                check_item_index_keys(table, write.item)
        except ValidationException as fault:
            first_fault = first_fault or fault
            continue
        seen.add(table.source + key)
        places.append((table, key))
    if len(seen) < len(places):
        raise ValidationException(BATCH_DUPLICATE_KEYS)
    if first_fault is not None:
        raise first_fault
    return places


def _key(table: OpenTable, write: Write) -> Key:
    """Unlike PutItem, a batch tells items without the right key as keys that do not match."""
    if not write.is_put:
        return table.lookup_key(write.item)
    try:
        key_item = key_of(table.keys, write.item)
    except KeyError:
        raise ValidationException(KEY_SCHEMA_MISMATCH) from None
    return table.lookup_key(key_item)


async def _commit(scope: Scope, write: Write, table: OpenTable, key: Key) -> Change:
    """Write one item, with the table as it is now: others ran between two slices."""
    current = find_active_table(scope, write.name)
    if current is None or current.table_id != table.table_id:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    planned = Planned(encode_row(write.item, write.size_bytes), None, write.item) if write.is_put else None
    return await scope.store.mutate(current, key, lambda old: planned, new_request_id())


async def _reply(
    scope: Scope,
    request: BatchWriteItemRequest,
    writes: list[Write],
    changes: list[Change],
    left_over: dict[str, list[dict[str, object]]],
) -> bytes:
    """What is left over, and the figures asked for, by table."""
    detail = request.ReturnConsumedCapacity
    members = [b'"UnprocessedItems":' + ENCODER.encode(left_over)]
    if request.ReturnItemCollectionMetrics == "SIZE":
        metrics = await _metrics(scope, writes, changes)
        if metrics:
            members.append(b'"ItemCollectionMetrics":' + ENCODER.encode(metrics))
    if detail is not None and detail != "NONE":
        units: dict[str, float] = {}
        indexes: dict[str, list[IndexUnits]] = {}
        for write, change in zip(writes, changes, strict=True):
            name = write.name
            units[name] = units.get(name, 0.0) + change_units(change)
            indexes.setdefault(name, []).extend(index_units(change.entries))
        members.append(capacities_member([(name, units[name], indexes[name]) for name in units], detail))
    return join_members(members)


async def _metrics(scope: Scope, writes: list[Write], changes: list[Change]) -> dict[str, list[dict[str, object]]]:
    """ItemCollectionMetrics of every collection written to, by table; tables without local indexes have none."""
    metrics: dict[str, list[dict[str, object]]] = {}
    told: set[bytes] = set()
    for write, change in zip(writes, changes, strict=True):
        collection = change.table.source + partition_of(change.key)
        if change.table.has_item_collections and collection not in told:
            told.add(collection)
            metrics.setdefault(write.name, []).append(await collection_metrics(scope, change, write.item))
    return metrics


OPERATION = Operation(
    name="BatchWriteItem",
    request=BatchWriteItemRequest,
    run=batch_write_item,
    wording="older",
    decode_large=decode_in_pieces,
)
