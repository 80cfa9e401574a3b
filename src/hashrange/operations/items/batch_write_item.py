"""BatchWriteItem: up to 25 puts and deletes of whole items in several tables;
each is atomic by itself, the batch is not.

Order of checks: per table and write exactly one of PutRequest and DeleteRequest → values → item size; then number of
writes → all tables exist → keys repeated → key schema and index keys. All these checks come before the first write.

Our choices, unconfirmed: a repeated key is reported before a key that does not fit its table; a table
named twice, by name and by ARN, is one table; a write that would make an item collection too large, or of an item with
more JSON than ROW_MAX_BYTES, ends the request with an error: earlier writes stay, later ones are not done.
"""

from collections.abc import Iterator
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
    TransactionConflictException,
    ValidationException,
    without_frames,
)
from hashrange.items.types import Key
from hashrange.limits import BATCH_WRITE_REQUESTS_MAX
from hashrange.messages.reads import BATCH_DUPLICATE_KEYS, BATCH_TOO_MANY, TABLE_NOT_FOUND
from hashrange.messages.requests import BATCH_WRITE_EMPTY
from hashrange.messages.values import VALUE_EMPTY, VALUE_HAS_TWO_TYPES
from hashrange.operations import shapes
from hashrange.operations.items.actions import (
    Action,
    check_fit,
    key_of_item,
    make_plan,
    unconditional_delete,
    unconditional_put,
)
from hashrange.operations.items.write_item import commit_write, metrics_by_table
from hashrange.operations.lookup import find_active_table
from hashrange.operations.meter import Meter
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.soon import Soon
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable
from hashrange.wire.rules import ConstraintWording, RequestRules


class DeleteRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Remove the item with this key."""

    Key: shapes.AttributeMap


class PutRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Create or replace this item."""

    Item: shapes.AttributeMap


class WriteRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Exactly one put or delete; members in the order in which their faults are reported."""

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


async def batch_write_item(scope: Scope, request: BatchWriteItemRequest, meter: Meter) -> Reply:
    """Check the request, then commit one write after the other. 24 µs per item of 1 KB, in memory.

    UnprocessedItems are writes in conflict with a transaction, throttled writes, writes that a fault leaves
    unprocessed, and all remaining writes once the engine stalls for longer than a request waits.
    If nothing was written, the error of a throttled write or a stall is raised instead.
    """
    actions = _checked_actions(request)
    tables = {name: find_active_table(scope, name) for name in request.RequestItems}
    if None in tables.values():
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    places = _located(actions, {name: table for name, table in tables.items() if table is not None})
    written: list[tuple[str, Action, Change]] = []
    left_over: dict[str, list[dict[str, object]]] = {}
    is_stalled = False
    throttled: ApiError | None = None
    for action, (table, key) in zip(actions, places, strict=True):
        if is_stalled:
            _leave_over(left_over, action)
            continue
        try:
            change = _commit(scope, action, table, key, meter)
            if not isinstance(change, Change):
                change = await change
        except (TransactionConflictException, LeftUnprocessed, StorageBusy, *THROTTLED) as error:
            is_stalled = isinstance(error, StorageBusy)
            if is_stalled and not written:
                raise
            throttled = without_frames(error) if isinstance(error, THROTTLED) else throttled
            _leave_over(left_over, action)
        else:
            written.append((action.table_name, action, change))
    if throttled is not None and not written:
        raise throttled
    reply: Reply = {"UnprocessedItems": left_over}
    if request.ReturnItemCollectionMetrics == "SIZE" and (metrics := await metrics_by_table(scope, written)):
        reply["ItemCollectionMetrics"] = metrics
    return reply


def _leave_over(left_over: dict[str, list[dict[str, object]]], action: Action) -> None:
    kind, member = ("PutRequest", "Item") if action.kind == "put" else ("DeleteRequest", "Key")
    left_over.setdefault(action.table_name, []).append({kind: {member: action.item}})


def _checked_actions(request: BatchWriteItemRequest) -> list[Action]:
    """Actions of the request, in its order, each checked by itself. Raises the first fault that needs no table."""
    actions = []
    for name, wanted in request.RequestItems.items():
        for one in wanted:
            put, delete = one.PutRequest, one.DeleteRequest
            if put is not None:
                if delete is not None:
                    raise ValidationException(VALUE_HAS_TWO_TYPES)
                actions.append(unconditional_put(name, put.Item, "batch"))
            elif delete is not None:
                actions.append(unconditional_delete(name, delete.Key, "batch"))
            else:
                raise ValidationException(VALUE_EMPTY)
    if len(actions) > BATCH_WRITE_REQUESTS_MAX:
        raise ValidationException(BATCH_TOO_MANY.format(operation="BatchWriteItem"))
    return actions


def _located(actions: list[Action], tables: dict[str, OpenTable]) -> list[tuple[OpenTable, Key]]:
    """Table and key of each write.

    Raises ValidationException for repeated keys, then for the first write that does not fit its table.
    """
    places: list[tuple[OpenTable, Key]] = []
    seen: set[bytes] = set()
    first_fault: ValidationException | None = None
    for action in actions:
        table = tables[action.table_name]
        try:
            key = key_of_item(table, action)
            if table.checks_items:
                check_fit(table, action)
        except ValidationException as fault:
            first_fault = first_fault or fault
            continue
        seen.add(table.source_id + key)
        places.append((table, key))
    if len(seen) < len(places):
        raise ValidationException(BATCH_DUPLICATE_KEYS)
    if first_fault is not None:
        raise first_fault
    return places


def _commit(scope: Scope, action: Action, table: OpenTable, key: Key, meter: Meter) -> Soon[Change]:
    """Commit one write to the table as it is now, since the table may have changed after the checks.

    Raises ResourceNotFoundException if the table has been deleted or replaced by another one, and what `make_plan` and
    `commit_write` raise.
    """
    current = find_active_table(scope, action.table_name)
    if current is None or current.table_id != table.table_id:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    return commit_write(scope, current, key, make_plan(current, action), action.table_name, meter)


def _items(request: BatchWriteItemRequest) -> Iterator[tuple[str, shapes.AttributeMap]]:
    """Table and item or key map of each write of a checked request, in the order of `_checked_actions`."""
    for name, wanted in request.RequestItems.items():
        for one in wanted:
            if one.PutRequest is not None:
                yield name, one.PutRequest.Item
            elif one.DeleteRequest is not None:
                yield name, one.DeleteRequest.Key


OPERATION = Operation(
    "BatchWriteItem",
    BatchWriteItemRequest,
    batch_write_item,
    JsonWire(
        wording="older",
        rules=RequestRules(
            wordings={
                ("requestItems", "keys"): ConstraintWording(is_after_enumerations=True),
                ("requestItems", "min_length"): ConstraintWording(
                    BATCH_WRITE_EMPTY, is_bare=True, is_after_enumerations=True
                ),
            }
        ),
        element_type=WriteRequest,
    ),
    capacity="by table",
    tables=lambda request: request.RequestItems,
    items=_items,
    writes=True,
)
