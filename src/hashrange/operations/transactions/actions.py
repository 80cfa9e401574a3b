"""What may a transaction do to an item? Four actions, as requested, and what each comes to: checked, then planned.

Checking needs no table: values, size, expressions. Planning needs one: what does not fit its keys becomes a plan that refuses,
so that it is heard among the reasons. Source: service behaviour, captures to Oct 2026.
"""

from __future__ import annotations  # else each plan that is made evaluates its annotations: 1 µs

from typing import ClassVar, NamedTuple

import msgspec

from hashrange.errors import NestingFault, ValidationException
from hashrange.expressions.condition import Condition
from hashrange.expressions.update import Update as CompiledUpdate
from hashrange.items.rows import encode_row
from hashrange.items.types import Item, Row, Value
from hashrange.items.values import check_item
from hashrange.limits import ITEM_SIZE_MAX_BYTES
from hashrange.messages.reads import ITEM_TOO_LARGE
from hashrange.messages.transactions import NO_ACTION, ONE_ACTION_ONLY
from hashrange.operations import shapes
from hashrange.operations.items.conditions import check_key_paths, requested_condition
from hashrange.operations.items.depth import check_expressions_readable
from hashrange.operations.items.parameters import PUT_OR_DELETE_ITEM, UPDATE_ITEM, check_parameters
from hashrange.operations.items.planning import plan_check, plan_delete, plan_put, plan_update
from hashrange.operations.items.plans import known_plan
from hashrange.operations.items.updates import check_targets, requested_update
from hashrange.store.interface import Step
from hashrange.tables.change import Plan
from hashrange.tables.index_keys import check_item_index_keys
from hashrange.tables.open_table import OpenTable


class ConditionCheck(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Look at an item, and refuse unless the condition holds. Transactions know no legacy parameters."""

    Expected: ClassVar[None] = None
    ConditionalOperator: ClassVar[None] = None
    Key: shapes.AttributeMap
    TableName: shapes.TableName
    ConditionExpression: str
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None


class Put(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Create an item, or replace it whole."""

    Expected: ClassVar[None] = None
    ConditionalOperator: ClassVar[None] = None
    Item: shapes.AttributeMap
    TableName: shapes.TableName
    ConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None


class Delete(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Remove an item."""

    Expected: ClassVar[None] = None
    ConditionalOperator: ClassVar[None] = None
    Key: shapes.AttributeMap
    TableName: shapes.TableName
    ConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None


class Update(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Change attributes of an item, or create it."""

    Expected: ClassVar[None] = None
    ConditionalOperator: ClassVar[None] = None
    AttributeUpdates: ClassVar[None] = None
    Key: shapes.AttributeMap
    UpdateExpression: str
    TableName: shapes.TableName
    ConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None


class TransactWriteItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Exactly one of the four."""

    ConditionCheck: ConditionCheck | None = None
    Put: Put | None = None
    Delete: Delete | None = None
    Update: Update | None = None


Request = ConditionCheck | Put | Delete | Update


class Action(NamedTuple):
    """One action whose values and expressions are sound."""

    request: Request
    item: Item
    """The item of a Put, the key map of the others."""
    size_bytes: int
    row: Row | None
    """Of a Put: what is to be stored."""
    update: CompiledUpdate | None
    condition: Condition | None
    values: dict[str, Value]


def check_action(element: TransactWriteItem) -> Action:
    """The action of one element; raises the first fault that needs no table: shape, parameters, values, size, expressions."""
    put, update, delete, check = element.Put, element.Update, element.Delete, element.ConditionCheck
    absent = (put is None) + (update is None) + (delete is None) + (check is None)
    if absent != 3:
        raise ValidationException(NO_ACTION if absent == 4 else ONE_ACTION_ONLY)
    if put is not None:
        known = known_plan(put, None)
        if known is None:
            check_parameters(put, PUT_OR_DELETE_ITEM)
        item, size_bytes = _checked_item(put, put.Item)
        if size_bytes > ITEM_SIZE_MAX_BYTES:
            raise ValidationException(ITEM_TOO_LARGE)
        condition, values = requested_condition(put, known)
        return Action(put, item, size_bytes, encode_row(item, size_bytes), None, condition, values)
    if update is not None:
        known = known_plan(update, update.UpdateExpression)
        if known is None:
            check_parameters(update, UPDATE_ITEM)
        item, size_bytes = _checked_item(update, update.Key)
        compiled, condition, values = requested_update(update, known)
        return Action(update, item, size_bytes, None, compiled, condition, values)
    request = check if delete is None else delete
    assert request is not None
    known = known_plan(request, None)
    if known is None:
        check_parameters(request, PUT_OR_DELETE_ITEM)
    item, size_bytes = _checked_item(request, request.Key)
    condition, values = requested_condition(request, known)
    return Action(request, item, size_bytes, None, None, condition, values)


def _checked_item(request: Request, item: dict[str, dict[str, object]]) -> tuple[Item, int]:
    """The item or key map of an action. That its values are nested too deep is told after expressions that cannot be read."""
    try:
        return check_item(item)
    except NestingFault:
        check_expressions_readable(request)
        raise


def plan_action(table: OpenTable, action: Action) -> Step:
    """What the action does to its table. A fault of its keys, the table's or an index's, makes a step that refuses."""
    try:
        key = table.lookup_key(action.item) if action.row is None else table.item_key(action.item)
    except ValidationException as fault:
        return Step(table, None, refusing_plan(fault))
    try:
        return Step(table, key, _plan(table, action))
    except ValidationException as fault:
        return Step(table, key, refusing_plan(fault))


def _plan(table: OpenTable, action: Action) -> Plan:
    request, item, _, row, update, condition, values = action
    on_failure = request.ReturnValuesOnConditionCheckFailure
    if row is not None and table.index_keys:
        check_item_index_keys(table, item)
    is_heavy = update is not None and check_targets(table, update, values)
    if condition is not None:
        check_key_paths(table, condition.nested_attributes)
    if row is not None:
        return plan_put(row, action.item, condition, values, on_failure)
    if update is not None:
        return plan_update(table, item, update, condition, values, on_failure, is_heavy=is_heavy)
    if isinstance(request, Delete):
        return plan_delete(condition, values, on_failure)
    assert condition is not None, "a check without a condition"
    return plan_check(condition, values, on_failure)


def refusing_plan(fault: ValidationException) -> Plan:
    """A plan that only refuses."""

    def plan(old: Row | None) -> Row | None:
        raise fault

    return plan
