"""UpdateItem: change attributes of one item, or create it.

Order of checks: mixing of parameters → Key values → AttributeUpdates → Expected → expressions (update, then
condition) → table → key schema → index keys' types → key attributes among the targets → statement size → condition → application of the
update.
"""

import msgspec

from hashrange.errors import ResourceNotFoundException, ValidationException
from hashrange.expressions.condition import Condition, compile_condition
from hashrange.expressions.legacy import attribute_updates
from hashrange.expressions.parameters import check_unused
from hashrange.expressions.update import Update, compile_update
from hashrange.items.rows import decode_row, encode_row, row_json, row_size_bytes
from hashrange.items.sizes import attribute_size_bytes, item_size_bytes
from hashrange.items.types import Item, Row, Value
from hashrange.items.values import check_item, check_values
from hashrange.limits import ITEM_SIZE_MAX_BYTES
from hashrange.messages.reads import CANNOT_UPDATE_KEY, TABLE_NOT_FOUND, UPDATED_ITEM_TOO_LARGE
from hashrange.operations import shapes
from hashrange.operations.items.conditions import NO_ITEM, check_condition, check_key_paths, requested_condition
from hashrange.operations.items.parameters import UPDATE_ITEM, check_parameters
from hashrange.operations.items.plans import NO_VALUES, WritePlan, keep_plan, known_plan, plan_values
from hashrange.operations.items.writes import write_reply
from hashrange.operations.lookup import find_active_table
from hashrange.operations.operation import Operation, Scope
from hashrange.operations.replies import ENCODER
from hashrange.tables.change import Change
from hashrange.tables.index_keys import check_assigned_index_keys, check_updated_index_keys
from hashrange.tables.keys import lookup_key
from hashrange.tables.schema import Table


class UpdateItemRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The request; members in the order in which their faults are reported."""

    ReturnConsumedCapacity: shapes.ReturnConsumedCapacity | None = None
    TableName: shapes.TableName
    ReturnItemCollectionMetrics: shapes.ReturnItemCollectionMetrics | None = None
    ReturnValues: shapes.ReturnValue | None = None
    Key: shapes.AttributeMap
    ConditionalOperator: shapes.ConditionalOperator | None = None
    Expected: shapes.ExpectedAttributeMap | None = None
    AttributeUpdates: shapes.AttributeUpdates | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None
    UpdateExpression: str | None = None
    ConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None


async def update_item(scope: Scope, request: UpdateItemRequest) -> bytes:
    """Commit the changed item; the reply holds what ReturnValues asks for."""
    table = find_active_table(scope, request.TableName)
    known = known_plan(request, request.UpdateExpression) if request.AttributeUpdates is None else None
    if known is None:
        check_parameters(request, UPDATE_ITEM)
    key_item = check_item(request.Key)[0]
    update, condition, values = _requested_update(request, known)
    if table is None:
        raise ResourceNotFoundException(TABLE_NOT_FOUND)
    key = lookup_key(table, key_item)
    is_heavy = update is not None and _check_targets(table, update, values)
    if condition is not None:
        check_key_paths(table, condition.nested_attributes)

    def plan(old: Row | None) -> Row | None:
        item = None if old is None else decode_row(old)
        if is_heavy:
            _check_statement_size(update, values, item)
        if condition is not None:
            check_condition(condition, values, item, old, request.ReturnValuesOnConditionCheckFailure)
        if update is None:
            return encode_row(key_item, item_size_bytes(key_item)) if old is None else old
        if item is None or old is None:
            return _create(table, update, values, key_item) if update.can_create else None
        return _change(table, update, values, item, row_size_bytes(old))

    change = await scope.store.mutate(table, key, plan)
    attributes = _returned_attributes(request.ReturnValues, change, update)
    return await write_reply(scope, request, change, key_item, attributes)


def _requested_update(
    request: UpdateItemRequest, known: WritePlan | None
) -> tuple[Update | None, Condition | None, dict[str, Value]]:
    """The update and the condition asked for, in either form, and the values that they name."""
    if known is not None:
        return known.update, known.condition, plan_values(known, request)
    if request.AttributeUpdates is not None:
        shapes.check_legacy(request.AttributeUpdates, shapes.AttributeValueUpdate)
        update = attribute_updates(request.AttributeUpdates)
        condition, values = requested_condition(request, None)
        return update, condition, values
    if request.UpdateExpression is None:
        condition, values = requested_condition(request, None)
        return None, condition, values
    names = request.ExpressionAttributeNames
    values = NO_VALUES if request.ExpressionAttributeValues is None else check_values(request.ExpressionAttributeValues)
    update = compile_update(request.UpdateExpression, names, values)
    condition = None
    if request.ConditionExpression is not None:
        condition = compile_condition("ConditionExpression", request.ConditionExpression, names, values)
    if names is not None or values:
        check_unused(names, values, update, condition)
    keep_plan(request, request.UpdateExpression, update, condition)
    return update, condition, values


def _check_targets(table: Table, update: Update, values: dict[str, Value]) -> bool:
    """Refuse an update that looks into a key attribute, changes one, or assigns an index key another type.

    True when the statement may be heavier than an item can be: the item tells which members of sets it adds.
    """
    check_key_paths(table, update.nested_attributes)
    if table.indexes:
        check_assigned_index_keys(table, update.assigned_types)
    for name in (table.partition_name, table.sort_name):
        if name in update.attributes:
            raise ValidationException(CANNOT_UPDATE_KEY.format(name=name))
    return update.statement_size_bytes(values) > ITEM_SIZE_MAX_BYTES


def _check_statement_size(update: Update | None, values: dict[str, Value], item: Item | None) -> None:
    """Refuse a statement that weighs more than an item may, before its condition is looked at."""
    if (
        update is not None
        and update.statement_size_bytes(values, NO_ITEM if item is None else item) > ITEM_SIZE_MAX_BYTES
    ):
        raise ValidationException(UPDATED_ITEM_TOO_LARGE)


def _create(table: Table, update: Update, values: dict[str, Value], key_item: Item) -> Row:
    """The row of an item that the update creates."""
    new, size_bytes = check_item({**key_item, **update.apply(NO_ITEM, values)})
    if size_bytes > ITEM_SIZE_MAX_BYTES:
        raise ValidationException(UPDATED_ITEM_TOO_LARGE)
    if table.indexes:
        check_updated_index_keys(table, new, update.attributes)
    return encode_row(new, size_bytes)


def _change(table: Table, update: Update, values: dict[str, Value], item: Item, old_size_bytes: int) -> Row:
    """The row of an existing item after the update; its size is the old one's and what the targets add or lose."""
    new = update.apply(item, values)
    size_bytes = old_size_bytes
    for name in update.attributes:
        if name in item:
            size_bytes -= attribute_size_bytes(name, item[name])
        if name in new:
            # A value may have moved below the deepest level allowed only where a target is nested.
            size_bytes += (
                check_item({name: new[name]})[1] if update.has_nested_targets else attribute_size_bytes(name, new[name])
            )
    if size_bytes > ITEM_SIZE_MAX_BYTES:
        raise ValidationException(UPDATED_ITEM_TOO_LARGE)
    if table.indexes:
        check_updated_index_keys(table, new, update.attributes)
    return encode_row(new, size_bytes)


def _returned_attributes(return_values: str | None, change: Change, update: Update | None) -> bytes | None:
    """The JSON of the reply's Attributes; None for no such member."""
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


OPERATION = Operation(name="UpdateItem", request=UpdateItemRequest, run=update_item, wording="enveloped")
