"""Which update does a request ask for, and may it be made to its table? UpdateExpression or AttributeUpdates, with their condition."""

from typing import Protocol

from hashrange.errors import ValidationException
from hashrange.expressions.condition import Condition, compile_condition
from hashrange.expressions.legacy import attribute_updates
from hashrange.expressions.parameters import check_unused
from hashrange.expressions.update import Update, compile_update
from hashrange.items.types import Value
from hashrange.items.values import check_values
from hashrange.limits import ITEM_SIZE_MAX_BYTES
from hashrange.messages.reads import CANNOT_UPDATE_KEY
from hashrange.operations import shapes
from hashrange.operations.items.conditions import check_key_paths, requested_condition
from hashrange.operations.items.plans import NO_VALUES, ConditionalRequest, WritePlan, keep_plan, plan_values
from hashrange.tables.index_keys import check_assigned_index_keys
from hashrange.tables.open_table import OpenTable


class UpdatingRequest(ConditionalRequest, Protocol):
    """The members that hold an update and its condition."""

    @property
    def AttributeUpdates(self) -> shapes.AttributeUpdates | None: ...  # noqa: N802
    @property
    def UpdateExpression(self) -> str | None: ...  # noqa: N802


def requested_update(
    request: UpdatingRequest, known: WritePlan | None
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


def check_targets(table: OpenTable, update: Update, values: dict[str, Value]) -> bool:
    """Refuse an update that looks into a key attribute, changes one, or assigns an index key another type.

    True when the statement may be heavier than an item can be: the item tells which members of sets it adds.
    """
    check_key_paths(table, update.nested_attributes)
    if table.index_keys:
        check_assigned_index_keys(table, update.assigned_types)
    for name in (table.partition_name, table.sort_name):
        if name in update.attributes:
            raise ValidationException(CANNOT_UPDATE_KEY.format(name=name))
    return update.statement_size_bytes(values) > ITEM_SIZE_MAX_BYTES
