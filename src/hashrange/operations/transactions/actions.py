"""What may a transaction do to an item? Structs of its four actions, and the TransactionStep of each.

An action that does not fit its table gets a plan that refuses, so that the fault becomes a cancellation reason; only
an empty value of a key or index key refuses the whole request. Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Iterator

import msgspec

from hashrange.errors import ValidationException
from hashrange.messages.transactions import NO_ACTION, ONE_ACTION_ONLY
from hashrange.operations import shapes
from hashrange.operations.items.action_plans import plan_refusal
from hashrange.operations.items.actions import (
    Action,
    check_fit,
    key_of_item,
    make_plan,
    requested_action,
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


def table_names(element: TransactWriteItem) -> Iterator[str]:
    """Names or ARNs of the tables in an element: one, unless the element has a fault."""
    for action in (element.ConditionCheck, element.Put, element.Delete, element.Update):
        if action is not None:
            yield action.TableName


def check_action(element: TransactWriteItem) -> Action:
    """The action of one element.

    Raises the first fault that needs no table: not exactly one action, then the checks of `items/actions.py`.
    """
    put, update, delete, check = element.Put, element.Update, element.Delete, element.ConditionCheck
    absent = (put is None) + (update is None) + (delete is None) + (check is None)
    if absent != 3:
        raise ValidationException(NO_ACTION if absent == 4 else ONE_ACTION_ONLY)
    if put is not None:
        return requested_action("put", NO_RULES, put, put.Item)
    if update is not None:
        return requested_action("update", NO_RULES, update, update.Key, update_text=update.UpdateExpression)
    if delete is not None:
        return requested_action("delete", NO_RULES, delete, delete.Key)
    assert check is not None
    return requested_action("check", NO_RULES, check, check.Key)


def step_of(table: OpenTable, action: Action) -> TransactionStep:
    """The TransactionStep of an action; if the action does not fit the table, the plan of the step refuses.

    Raises ValidationException for a put that fits the table, if the JSON of its item exceeds ROW_MAX_BYTES.
    """
    try:
        key = key_of_item(table, action)
    except ValidationException as fault:
        return TransactionStep(table, None, plan_refusal(fault))
    try:
        check_fit(table, action)
    except ValidationException as fault:
        return TransactionStep(table, key, plan_refusal(fault))
    return TransactionStep(table, key, make_plan(table, action))
