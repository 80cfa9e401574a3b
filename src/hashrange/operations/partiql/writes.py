"""What does an INSERT, UPDATE, DELETE or EXISTS plan? The same as PutItem, UpdateItem, DeleteItem and a condition check.

Three steps, so that a transaction can tell faults of the request from reasons: `check_write` needs no table, `locate_write` finds the
item's key, `plan_write` makes the plan. Sizes: only the item that results counts, not what the statement weighs. Source: service
behaviour, captures to Oct 2026.
"""

from typing import NamedTuple

from hashrange.errors import DuplicateItemException, ValidationException
from hashrange.expressions.condition import Condition
from hashrange.expressions.partiql.statement import Parameters, Statement
from hashrange.expressions.tree import Call, Path
from hashrange.items.row_layout import row_json
from hashrange.items.rows import decode_row, encode_row
from hashrange.items.types import Item, Key, Row, Value
from hashrange.items.values import check_item
from hashrange.limits import ITEM_SIZE_MAX_BYTES
from hashrange.messages.partiql import DUPLICATE_ITEM, KEY_NOT_FIXED, WRITE_ON_INDEX
from hashrange.messages.reads import ITEM_TOO_LARGE
from hashrange.operations.items.conditions import check_key_paths
from hashrange.operations.items.planning import plan_check, plan_delete, plan_update
from hashrange.operations.items.plans import NO_VALUES
from hashrange.operations.items.updates import check_targets
from hashrange.operations.items.writes import returned_attributes
from hashrange.operations.partiql.keys import split_conditions, take_equality
from hashrange.operations.replies import ENCODER
from hashrange.tables.change import Change, Plan
from hashrange.tables.index_keys import check_item_index_keys
from hashrange.tables.open_table import OpenTable


class Write(NamedTuple):
    """A write whose values are sound."""

    statement: Statement
    values: dict[str, Value]
    """Of an INSERT none: its values are in the item."""
    item: Item | None
    """What an INSERT puts."""
    size_bytes: int


class WritePlan(NamedTuple):
    """What an UPDATE, DELETE or EXISTS comes to for its table, values left open as tokens."""

    partition: str
    sort: str | None
    condition: Condition | None
    has_filter: bool
    """True when WHERE says more than the key."""


def check_write(statement: Statement, parameters: Parameters | None) -> Write:
    """The statement with its parameters in place; raises what is wrong with them, and an item that is too large."""
    build_item = statement.build_item
    if build_item is None:
        return Write(statement, statement.values(parameters), None, 0)
    item, size_bytes = check_item(build_item(() if parameters is None else parameters))
    if size_bytes > ITEM_SIZE_MAX_BYTES:
        raise ValidationException(ITEM_TOO_LARGE)
    return Write(statement, NO_VALUES, item, size_bytes)


def check_table(table: OpenTable, write: Write) -> WritePlan | None:
    """What the statement comes to for this table (nothing of its own for an INSERT), kept until it meets another one."""
    statement = write.statement
    if statement.index_name is not None:
        raise ValidationException(WRITE_ON_INDEX)
    if write.item is not None:
        return None
    bound = statement.bound
    if bound is not None and bound[0] is table:
        known: WritePlan = bound[1]
        return known
    if statement.projection_fault is not None:  # of an EXISTS
        raise statement.projection_fault
    parts = split_conditions(statement.where)
    partition = take_equality(parts, table.partition_name)
    sort = None if table.sort_name is None else take_equality(parts, table.sort_name)
    if partition is None or (sort is None and table.sort_name is not None):
        raise ValidationException(KEY_NOT_FIXED)
    has_filter = bool(parts)
    if statement.kind == "UPDATE":
        parts.insert(0, Call("attribute_exists", (Path((table.partition_name,)),)))
    plan = WritePlan(partition, sort, statement.condition(parts), has_filter)
    statement.bound = (table, plan)
    return plan


def locate_write(table: OpenTable, write: Write, plan: WritePlan | None) -> tuple[Key, Item]:
    """Where the item stands, and a map that has its key attributes; raises what does not fit the table's keys."""
    if write.item is not None:
        return table.item_key(write.item), write.item
    assert plan is not None
    key_item = {table.partition_name: write.values[plan.partition]}
    if plan.sort is not None:
        assert table.sort_name is not None
        key_item[table.sort_name] = write.values[plan.sort]
    return table.lookup_key(key_item), key_item


def plan_write(table: OpenTable, write: Write, bound: WritePlan | None, key_item: Item, on_failure: str | None) -> Plan:
    """The plan for the item's row; raises what the statement and its table's other attributes do not agree on."""
    if write.item is not None:
        if table.index_keys:
            check_item_index_keys(table, write.item)
        return _plan_insert(encode_row(write.item, write.size_bytes))
    assert bound is not None
    condition, update = bound.condition, write.statement.update
    if update is not None:
        check_targets(table, update, write.values)
    if condition is not None:
        check_key_paths(table, condition.nested_attributes)
    if update is not None:
        return plan_update(table, key_item, update, condition, write.values, on_failure, is_heavy=False)
    if write.statement.kind == "DELETE":
        delete = plan_delete(condition, write.values, on_failure)
        return delete if condition is None else _plan_delete_of_present(delete)
    assert condition is not None, "EXISTS without a condition"
    return plan_check(condition, write.values, on_failure)


def _plan_delete_of_present(delete: Plan) -> Plan:
    """`delete`, whose condition is not asked of an item that is not there: nothing is to be done then."""
    return lambda old: None if old is None else delete(old)


def _plan_insert(row: Row) -> Plan:
    """Put a whole item where none is."""

    def plan(old: Row | None) -> Row:
        if old is not None:
            raise DuplicateItemException(DUPLICATE_ITEM)
        return row

    return plan


def returned_item(statement: Statement, change: Change) -> bytes | None:
    """The JSON of what RETURNING asks for; None for nothing. MODIFIED NEW has what stands at all targets now, removed ones too."""
    returning = statement.returning
    if returning is None:
        return None
    if statement.update is None:
        return None if change.old is None else row_json(change.old)
    if returning.which == "MODIFIED" and returning.image == "NEW":
        attributes = {} if change.new is None else statement.update.updated_old(decode_row(change.new))
        return ENCODER.encode(attributes) if attributes else None
    prefix = "ALL_" if returning.which == "ALL" else "UPDATED_"
    return returned_attributes(prefix + returning.image, change, statement.update)
