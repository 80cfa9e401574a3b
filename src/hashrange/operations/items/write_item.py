"""How is one item written, and how is a write committed? PutItem, UpdateItem and DeleteItem; the commit and the
ItemCollectionMetrics are those of batches and transactions too. The meter records the capacity.
"""

from collections.abc import Coroutine, Iterable
from typing import Any

import msgspec

from hashrange.aws_services.operation import Operation, Run
from hashrange.errors import ItemRefusal, ResourceNotFoundException
from hashrange.expressions.update import CompiledUpdate
from hashrange.items.rows import decode_row
from hashrange.items.types import Item, Key, Row
from hashrange.messages.reads import RETURN_VALUES_OLD_ONLY, TABLE_NOT_FOUND
from hashrange.messages.requests import ACTION_UNKNOWN, RETURN_VALUES_UNKNOWN
from hashrange.operations import shapes
from hashrange.operations.items import constraint_wordings
from hashrange.operations.items.actions import Action, plan_action, requested_action
from hashrange.operations.items.write_expressions import legacy_parameters
from hashrange.operations.lookup import find_active_table
from hashrange.operations.meter import ChangeUsage, Meter, Usage
from hashrange.operations.naming import by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.soon import Soon, settled
from hashrange.store.request_ids import new_request_id
from hashrange.tables.capacity import write_units
from hashrange.tables.change import Change, Plan
from hashrange.tables.open_table import OpenTable
from hashrange.tables.source_id import partition_prefix
from hashrange.wire.rules import (
    ON_OTHER_FORMS_AND_DEPTH,
    ConstraintWording,
    ConstraintWordings,
    RefusedWords,
    RequestRules,
)

# --- the operations -----------------------------------------------------------------------------


_PUT_OR_DELETE_WORDINGS: ConstraintWordings = {
    **constraint_wordings.TABLE_NAME,
    ("returnValues", "enumeration"): ConstraintWording(RETURN_VALUES_UNKNOWN),
    **constraint_wordings.CONDITIONAL_OPERATOR,
}


class PutItemRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request to create an item, or replace it whole; members in the order of their faults."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    TableName: shapes.TableName
    Item: shapes.AttributeMap
    ConditionalOperator: shapes.ConditionalOperator | None = None
    Expected: shapes.ExpectedAttributeMap | None = None
    ReturnValues: shapes.ReturnValue | None = None
    ReturnItemCollectionMetrics: shapes.ReturnItemCollectionMetrics | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None
    ConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None


PUT_RULES = RequestRules(wordings=_PUT_OR_DELETE_WORDINGS, falls_back=ON_OTHER_FORMS_AND_DEPTH)


def put_item(scope: Scope, request: PutItemRequest, meter: Meter) -> Soon[Reply]:
    """Commit the item; the reply holds the replaced item if ReturnValues is ALL_OLD.

    Order of checks: mixing of parameters → Item values → ReturnValues → item size → Expected → expressions → table →
    the item's key → index keys → the condition's paths into key attributes → length of the item's JSON → condition →
    size of the item collection.
    """
    legacy = legacy_parameters(request.Expected, request.ConditionalOperator)
    action = requested_action("put", PUT_RULES, request, request.Item, legacy, request.ReturnValues)
    return _write(scope, request, find_active_table(scope, request.TableName), None, action, meter)


class UpdateItemRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request to change attributes of one item, or create it; members in the order of their faults."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    TableName: shapes.TableName
    ReturnItemCollectionMetrics: shapes.ReturnItemCollectionMetrics | None = None
    ReturnValues: shapes.ReturnValue | None = None
    ConditionalOperator: shapes.ConditionalOperator | None = None
    Key: shapes.AttributeMap
    Expected: shapes.ExpectedAttributeMap | None = None
    AttributeUpdates: shapes.AttributeUpdates | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None
    UpdateExpression: str | None = None
    ConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None


UPDATE_RULES = RequestRules(
    wordings={
        **constraint_wordings.TABLE_NAME,
        **constraint_wordings.CONDITIONAL_OPERATOR,
        ("returnValues", "enumeration"): ConstraintWording(RETURN_VALUES_UNKNOWN, is_alone=True),
        ("attributeUpdates.{key}.member.action", "enumeration"): ConstraintWording(ACTION_UNKNOWN),
    },
    falls_back=ON_OTHER_FORMS_AND_DEPTH,
)


def update_item(scope: Scope, request: UpdateItemRequest, meter: Meter) -> Soon[Reply]:
    """Commit the changed item; the reply holds the attributes that ReturnValues requests.

    Order of checks: legacy combined with expression parameters → Key values → AttributeUpdates → Expected → expressions
    (update, then condition) → table → key schema → the update's paths into key attributes → types that it assigns to
    index keys → key attributes among its targets → the condition's paths into key attributes → size of the update
    itself (`expressions/statement_size.py`) → condition → application of the update → size of the item collection.
    """
    table = find_active_table(scope, request.TableName)
    key = None if table is None else table.usual_key(request.Key)
    legacy = legacy_parameters(request.Expected, request.ConditionalOperator, request.AttributeUpdates)
    action = requested_action(
        "update",
        UPDATE_RULES,
        request,
        request.Key,
        legacy,
        update_text=request.UpdateExpression,
        has_usual_key=key is not None,
    )
    return _write(scope, request, table, key, action, meter)


class DeleteItemRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request to remove one item by its key; a missing item is no error. Members in the order of their faults."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    TableName: shapes.TableName
    ReturnValues: shapes.ReturnValue | None = None
    ReturnItemCollectionMetrics: shapes.ReturnItemCollectionMetrics | None = None
    Key: shapes.AttributeMap
    ConditionalOperator: shapes.ConditionalOperator | None = None
    Expected: shapes.ExpectedAttributeMap | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None
    ConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None


DELETE_RULES = RequestRules(
    wordings=_PUT_OR_DELETE_WORDINGS,
    refused_words=RefusedWords(
        "ReturnValues", frozenset(("ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")), RETURN_VALUES_OLD_ONLY
    ),
    falls_back=ON_OTHER_FORMS_AND_DEPTH,
)


def delete_item(scope: Scope, request: DeleteItemRequest, meter: Meter) -> Soon[Reply]:
    """Commit the removal; the reply holds the old item when ReturnValues is ALL_OLD.

    Order of checks: in the slow path ReturnValues, after the other constraints → mixing of parameters →
    Key values → Expected → expressions → table → key schema → the condition's paths into key attributes → condition.
    Source: service behaviour, captures to 23 October 2026 (observed-2026-11.md 5).
    """
    table = find_active_table(scope, request.TableName)
    key = None if table is None else table.usual_key(request.Key)
    legacy = legacy_parameters(request.Expected, request.ConditionalOperator)
    action = requested_action(
        "delete",
        DELETE_RULES,
        request,
        request.Key,
        legacy,
        request.ReturnValues,
        has_usual_key=key is not None,
    )
    return _write(scope, request, table, key, action, meter)


SingleWriteRequest = PutItemRequest | UpdateItemRequest | DeleteItemRequest


def _write(
    scope: Scope,
    request: SingleWriteRequest,
    table: OpenTable | None,
    key: Key | None,
    action: Action,
    meter: Meter,
) -> Soon[Reply]:
    """Commit the write of a single item and return the reply. `table`: None if it is missing; `key`: None if it is not
    yet known.

    Raises ResourceNotFoundException, the first fault of the action against the table, then what `commit_write` raises.
    """
    if table is None:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    key, plan = plan_action(table, action, key)
    change = commit_write(scope, table, key, plan, request.TableName, meter)
    if isinstance(change, Change) and request.ReturnItemCollectionMetrics is None:
        return {} if request.ReturnValues is None else _reply(request, action, change)
    return _whole_reply(scope, request, action, change)


def _reply(request: SingleWriteRequest, action: Action, change: Change) -> Reply:
    """The reply of a write, with Attributes if requested, but without ItemCollectionMetrics and ConsumedCapacity."""
    attributes = returned_attributes(request.ReturnValues, change, action.update)
    return {} if attributes is None else {"Attributes": attributes}


async def _whole_reply(scope: Scope, request: SingleWriteRequest, action: Action, change: Soon[Change]) -> Reply:
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
        change = scope.store.mutate(table, key, plan, new_request_id(), meter)
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


def _record(name: str, request: type[SingleWriteRequest], run: Run, rules: RequestRules) -> Operation[JsonWire]:
    wire = JsonWire(wording="enveloped", rules=rules, is_quick=True)
    return Operation(name, request, run, wire, capacity="one", tables=by_table_name, writes=True)


OPERATIONS = (
    _record("PutItem", PutItemRequest, put_item, PUT_RULES),
    _record("UpdateItem", UpdateItemRequest, update_item, UPDATE_RULES),
    _record("DeleteItem", DeleteItemRequest, delete_item, DELETE_RULES),
)
