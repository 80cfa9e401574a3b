"""Which plan does a put, update, delete or check have, in the API and in PartiQL?
`actions.make_plan` chooses among these functions.

Each public function returns a Plan: a pure function from the old row to the new row, which raises to refuse the write.
"""

from __future__ import annotations  # otherwise making a plan evaluates annotations: 1 µs

from hashrange.errors import (
    ConditionalCheckFailedException,
    DuplicateItemException,
    RequestFault,
    ValidationException,
    WholeRequestFault,
)
from hashrange.expressions.condition import CompiledCondition
from hashrange.expressions.update import CompiledUpdate
from hashrange.items.row_layout import row_size_bytes
from hashrange.items.rows import decode_row, encode_row
from hashrange.items.sizes import attribute_size_bytes, item_size_bytes, value_change_bytes
from hashrange.items.steps import FEW_MEMBERS, walk
from hashrange.items.types import Item, Row, Value
from hashrange.items.values import check_item
from hashrange.limits import ITEM_SIZE_MAX_BYTES
from hashrange.messages.partiql import DUPLICATE_ITEM
from hashrange.messages.reads import CONDITION_FAILED, UPDATED_ITEM_TOO_LARGE
from hashrange.operations.items.conditions import NO_ITEM, check_condition
from hashrange.tables.change import Plan, Planned
from hashrange.tables.index_keys import check_updated_index_keys
from hashrange.tables.open_table import OpenTable


def plan_put(
    row: Row, item: Item, condition: CompiledCondition | None, values: dict[str, Value], on_failure: str | None
) -> Plan:
    """Plan to put a whole item, whose row is `row`, if the condition holds (None: always).

    `on_failure` is ReturnValuesOnConditionCheckFailure.
    """
    if condition is None:
        planned = Planned(row, None, item)
        return lambda old: planned

    def plan(old: Row | None) -> Planned:
        old_item = None if old is None else decode_row(old)
        check_condition(condition, values, old_item, old, on_failure)
        return Planned(row, old_item, item)

    return plan


def plan_insert(row: Row, item: Item) -> Plan:
    """Plan to put a whole item, whose row is `row`; the plan raises DuplicateItemException if there is an old row."""
    planned = Planned(row, None, item)

    def plan(old: Row | None) -> Planned:
        if old is not None:
            raise DuplicateItemException(DUPLICATE_ITEM, size_bytes=row_size_bytes(old))
        return planned

    return plan


def plan_delete(condition: CompiledCondition | None, values: dict[str, Value], on_failure: str | None) -> Plan:
    """Plan to remove the item if the condition holds (None: always). A missing item is no error."""
    if condition is None:
        return lambda old: None

    def plan(old: Row | None) -> Planned:
        old_item = None if old is None else decode_row(old)
        check_condition(condition, values, old_item, old, on_failure)
        return Planned(None, old_item)

    return plan


def plan_delete_of_present(delete: Plan) -> Plan:
    """The plan `delete`, except that it does nothing if the item is missing, without testing the condition.

    If another step cancels its transaction, the missing item counts as a condition that fails.
    """
    missing = Planned(None, reason=ConditionalCheckFailedException(CONDITION_FAILED))
    return lambda old: missing if old is None else delete(old)


def plan_refusal(fault: ValidationException) -> Plan:
    """Plan that only raises `fault`."""

    def plan(old: Row | None) -> Row | None:
        raise fault

    return plan


def plan_check(condition: CompiledCondition, values: dict[str, Value], on_failure: str | None) -> Plan:
    """Plan that keeps the old row, and raises ConditionalCheckFailedException unless the condition holds."""

    def plan(old: Row | None) -> Row | None:
        check_condition(condition, values, None if old is None else decode_row(old), old, on_failure)
        return old

    return plan


def plan_update(
    table: OpenTable,
    key_item: Item,
    update: CompiledUpdate | None,
    condition: CompiledCondition | None,
    values: dict[str, Value],
    on_failure: str | None,
    *,
    is_heavy: bool,
) -> Plan:
    """Plan to change or create the item if the condition holds (None: always).

    An update that only removes attributes or set members creates no item; without `update`, a missing item is created
    with its key alone, and an existing item is kept. `is_heavy`: update and values (`expressions/statement_size.py`)
    may be larger than an item may be, so the plan measures them: set members that ADD adds count only if the old item
    lacks them.
    """

    def plan(old: Row | None) -> Planned | Row | None:
        item = None if old is None else decode_row(old)
        if is_heavy:
            assert update is not None
            _check_statement_size(update, values, item, key_item)
        if condition is not None:
            check_condition(condition, values, item, old, on_failure)
        if update is None:
            return Planned(encode_row(key_item, item_size_bytes(key_item)), None, key_item) if old is None else old
        if item is None or old is None:
            return _create(table, update, values, key_item) if update.can_create else None
        return _change(table, update, values, item, row_size_bytes(old))

    return plan


def _check_statement_size(update: CompiledUpdate, values: dict[str, Value], item: Item | None, key_item: Item) -> None:
    """Raise ValidationException if update and values (`expressions/statement_size.py`) are larger than an item may be.

    If the new item is too large too, the error is a plain ValidationException; otherwise a WholeRequestFault, which
    is never a cancellation reason of a transaction. Called before the condition is tested.
    """
    old = NO_ITEM if item is None else item
    if update.statement_size_bytes(values, old) <= ITEM_SIZE_MAX_BYTES:
        return
    try:
        size_bytes = item_size_bytes({**key_item, **update.apply(old, values)})
    except ValidationException:
        size_bytes = 0
    fault = ValidationException if size_bytes > ITEM_SIZE_MAX_BYTES else WholeRequestFault
    raise fault(UPDATED_ITEM_TOO_LARGE)


def _create(table: OpenTable, update: CompiledUpdate, values: dict[str, Value], key_item: Item) -> Planned:
    """The first row of an item that an update creates, with the item decoded.

    Raises ValidationException if the update fails, and for a new item that is too large, nested too deep, or does not
    fit the indexes' keys.
    """
    new, size_bytes = _check_result({**key_item, **update.apply(NO_ITEM, values)})
    if size_bytes > ITEM_SIZE_MAX_BYTES:
        raise ValidationException(UPDATED_ITEM_TOO_LARGE)
    if table.checks_items:
        check_updated_index_keys(table, new, update.attributes)
    return Planned(encode_row(new, size_bytes, UPDATED_ITEM_TOO_LARGE), None, new)


def _change(
    table: OpenTable, update: CompiledUpdate, values: dict[str, Value], item: Item, old_size_bytes: int
) -> Planned:
    """The new row that an update makes of an existing item, with both items decoded.

    The new size is computed as the old size plus the growth of the update's target attributes. Raises
    ValidationException if the update fails, and for a new item that is too large, nested too deep, or does not fit the
    indexes' keys.
    """
    new = update.apply(item, values)
    size_bytes = old_size_bytes
    names = update.attributes
    for name in names if len(names) <= FEW_MEMBERS else walk(names):
        before, after = item.get(name), new.get(name)
        if after is not None and update.may_nest_container:
            # A list or map that is put into another one may nest its values too deep.
            _check_result({name: after})
        if before is not None and after is not None:
            size_bytes += value_change_bytes(before, after)
        elif after is not None:
            size_bytes += attribute_size_bytes(name, after)
        elif before is not None:
            size_bytes -= attribute_size_bytes(name, before)
    if size_bytes > ITEM_SIZE_MAX_BYTES:
        raise ValidationException(UPDATED_ITEM_TOO_LARGE)
    if table.checks_items:
        check_updated_index_keys(table, new, update.attributes)
    return Planned(encode_row(new, size_bytes, UPDATED_ITEM_TOO_LARGE), item, new)


def _check_result(item: Item) -> tuple[Item, int]:
    """Check an updated item, or one attribute of it; return it with its size in bytes.

    Raises a plain ValidationException instead of a RequestFault: the message of a fault found while writing never
    begins with "1 validation error detected: ".
    """
    try:
        return check_item(item)
    except RequestFault as fault:
        raise ValidationException(fault.message) from None
