"""When may a write happen? ConditionExpression or Expected, as one Condition, and what a false one answers."""

import msgspec

from hashrange.errors import ConditionalCheckFailedException, ValidationException
from hashrange.expressions.condition import Condition, compile_condition
from hashrange.expressions.legacy import expected_condition
from hashrange.expressions.parameters import check_unused
from hashrange.items.row_layout import row_json
from hashrange.items.types import Item, Row, Value
from hashrange.items.values import check_values
from hashrange.messages.reads import CONDITION_FAILED, INDEX_KEY_MUST_BE_SCALAR, KEY_MUST_BE_SCALAR
from hashrange.operations import shapes
from hashrange.operations.items.plans import NO_VALUES, ConditionalRequest, WritePlan, keep_plan, plan_values
from hashrange.tables.open_table import OpenTable

NO_ITEM: Item = {}
"""What a condition sees when there is no item."""


def requested_condition(
    request: ConditionalRequest, plan: WritePlan | None
) -> tuple[Condition | None, dict[str, Value]]:
    """The condition asked for, in either form, with the values that it names; None for an unconditional write.

    `plan` is what `known_plan` knew of the request.
    """
    if plan is not None:
        return plan.condition, plan_values(plan, request)
    if request.ConditionExpression is not None:
        names = request.ExpressionAttributeNames
        values = (
            NO_VALUES if request.ExpressionAttributeValues is None else check_values(request.ExpressionAttributeValues)
        )
        condition = compile_condition("ConditionExpression", request.ConditionExpression, names, values)
        check_unused(names, values, condition)
        keep_plan(request, None, None, condition)
        return condition, values
    if request.Expected is not None or request.ConditionalOperator is not None:
        if request.Expected is not None:
            shapes.check_legacy(request.Expected, shapes.ExpectedAttributeValue)
        return expected_condition(request.Expected, request.ConditionalOperator), NO_VALUES
    return None, NO_VALUES


def check_key_paths(table: OpenTable, nested_attributes: frozenset[str]) -> None:
    """Refuse an expression that looks into a key attribute, of the table or of an index: keys can only be scalars."""
    if not nested_attributes:
        return
    for name in (table.partition_name, table.sort_name):
        if name in nested_attributes:
            raise ValidationException(KEY_MUST_BE_SCALAR.format(name=name))
    for _, attributes in table.index_keys:
        for name, _ in attributes:
            if name in nested_attributes:
                raise ValidationException(INDEX_KEY_MUST_BE_SCALAR.format(name=name))


def check_condition(
    condition: Condition, values: dict[str, Value], item: Item | None, old: Row | None, on_failure: str | None
) -> None:
    """Raise ConditionalCheckFailedException unless the condition holds for the item of row `old`.

    With `on_failure` ALL_OLD the error carries the item, if there is one.
    """
    if condition.test(NO_ITEM if item is None else item, values):
        return
    if old is not None and on_failure == "ALL_OLD":
        raise ConditionalCheckFailedException(CONDITION_FAILED, Item=msgspec.Raw(row_json(old)))
    raise ConditionalCheckFailedException(CONDITION_FAILED)
