"""What may a transaction do to an item? Structs of its four actions, and the TransactionStep of each.

An action that does not fit its table gets a plan that refuses, so that the fault becomes a cancellation reason; only
an empty value of a key or index key refuses the whole request. Source: service behaviour, captures to Oct 2026.
"""

from typing import Any

import msgspec

from hashrange.errors import ValidationException
from hashrange.messages.transactions import NO_ACTION, ONE_ACTION_ONLY
from hashrange.operations import shapes
from hashrange.operations.items.action_plans import plan_refusal
from hashrange.operations.items.actions import (
    Action,
    ActionKind,
    check_fit,
    key_of_item,
    make_plan,
    requested_action,
    unconditional_put,
)
from hashrange.store.interface import TransactionStep
from hashrange.tables.open_table import OpenTable
from hashrange.wire.rules import NO_RULES


class ConditionCheck(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Refuse the transaction unless a condition holds for an item. No action of a transaction has legacy parameters."""

    Key: shapes.AttributeMap
    TableName: shapes.TableName
    ConditionExpression: str
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None


class Put(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Create an item, or replace it whole."""

    Item: shapes.AttributeMap
    TableName: shapes.TableName
    ConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None


class Delete(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Remove an item."""

    Key: shapes.AttributeMap
    TableName: shapes.TableName
    ConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None


class Update(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Change attributes of an item, or create it."""

    Key: shapes.AttributeMap
    UpdateExpression: str
    TableName: shapes.TableName
    ConditionExpression: str | None = None
    ExpressionAttributeNames: shapes.NameMap | None = None
    ExpressionAttributeValues: shapes.AttributeMap | None = None
    ReturnValuesOnConditionCheckFailure: shapes.ReturnValuesOnConditionCheckFailure | None = None


class TransactWriteItem(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Element of TransactItems: exactly one action."""

    ConditionCheck: "ConditionCheck | None" = None
    Put: "Put | None" = None
    Delete: "Delete | None" = None
    Update: "Update | None" = None


_KINDS: dict[type, ActionKind] = {ConditionCheck: "check", Put: "put", Delete: "delete", Update: "update"}
_NO_EXPRESSIONS = (None, None, None)


def actions_in(element: TransactWriteItem) -> list[Any]:
    """The structs of the actions in an element: one, unless the element has a fault."""
    return [*filter(None, msgspec.structs.astuple(element))]


def check_action(element: TransactWriteItem) -> Action:
    """The action of one element.

    Raises the first fault that needs no table: not exactly one action, then the checks of `items/actions.py`.
    """
    actions = actions_in(element)
    if len(actions) != 1:
        raise ValidationException(ONE_ACTION_ONLY if actions else NO_ACTION)
    action = actions[0]
    kind = _KINDS[action.__class__]
    expressions = (action.ConditionExpression, action.ExpressionAttributeNames, action.ExpressionAttributeValues)
    if kind == "put" and expressions == _NO_EXPRESSIONS:
        return unconditional_put(action.TableName, action.Item, "API")
    attributes = action.Item if kind == "put" else action.Key
    update_text = action.UpdateExpression if kind == "update" else None
    return requested_action(kind, NO_RULES, action, attributes, None, None, update_text)


def step_of(table: OpenTable, action: Action) -> TransactionStep:
    """The TransactionStep of an action; if the action does not fit the table, the plan of the step refuses.

    Raises ValidationException for a put that fits the table, if the JSON of its item exceeds ROW_MAX_BYTES.
    """
    try:
        key = key_of_item(table, action)
    except ValidationException as fault:
        return TransactionStep(table, None, plan_refusal(fault))
    if action.condition is not None or action.update is not None or table.checks_items:
        try:
            check_fit(table, action)
        except ValidationException as fault:
            return TransactionStep(table, key, plan_refusal(fault))
    return TransactionStep(table, key, make_plan(table, action))
