"""Which action does an INSERT, UPDATE, DELETE or EXISTS become? That of PutItem, UpdateItem, …, with the differences
of PartiQL (`items/actions.py:Dialect`).

`check_write` needs no table. `bind_write` makes the action, since only the table shows which part of WHERE is the key.
Of an UPDATE, only the size of the resulting item is limited; UpdateItem also limits the size of the update itself.
Source: service behaviour, captures to Oct 2026.
"""

import msgspec

from hashrange.errors import ValidationException
from hashrange.expressions.condition import CompiledCondition
from hashrange.expressions.parameters import NO_VALUES
from hashrange.expressions.partiql.statement import RawParameters, Statement, StatementKind
from hashrange.expressions.tree import DocumentPath, FunctionCall, split_conditions
from hashrange.items.number_set_order import hash_ordered_row
from hashrange.items.rows import decode_row, part_row
from hashrange.items.types import Item, Row, Value
from hashrange.messages.partiql import KEY_FIXED_TWICE, KEY_NOT_FIXED, WRITE_ON_INDEX
from hashrange.operations.items import actions
from hashrange.operations.items.actions import Action, unconditional_put
from hashrange.operations.items.write_item import returned_attributes
from hashrange.operations.partiql.key_faults import check_inserted_types, check_key_types
from hashrange.operations.partiql.statements import cached_for_last_table
from hashrange.operations.partiql.where_keys import take_equalities
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable

_ACTION_KINDS: dict[StatementKind, actions.ActionKind] = {"UPDATE": "update", "DELETE": "delete", "EXISTS": "check"}


class StatementWrite(msgspec.Struct, frozen=True, gc=False):
    """A write statement with checked values."""

    statement: Statement
    values: dict[str, Value]
    """The result of `Statement.values`: token → value; empty for an INSERT, whose values are in its item."""
    insert: Action | None
    """The action of an INSERT; None for other statements."""


def check_write(statement: Statement, parameters: RawParameters | None) -> StatementWrite:
    """The statement with its checked values; for an INSERT, with its action.

    Raises faults of the values, and ValidationException for an inserted item that is too large.
    """
    build_item = statement.build_item
    if build_item is None:
        return StatementWrite(statement, statement.values(parameters), None)
    attributes = build_item(() if parameters is None else parameters)
    return StatementWrite(statement, NO_VALUES, unconditional_put(statement.table_name, attributes, "PartiQL"))


def bind_write(table: OpenTable, write: StatementWrite, on_failure: str | None) -> Action:
    """Action of a write statement.

    Raises ValidationException for an index, computed values in an EXISTS, or a WHERE that does not fix the key.
    """
    statement = write.statement
    if statement.index_name is not None:
        raise ValidationException(WRITE_ON_INDEX)
    if write.insert is not None:
        return write.insert
    partition, sort, condition = bound_where(table, statement)
    key_item = {table.partition_name: write.values[partition]}
    if sort is not None:
        assert table.sort_name is not None
        key_item[table.sort_name] = write.values[sort]
    kind = _ACTION_KINDS[statement.kind]
    return Action(
        kind, statement.table_name, key_item, 0, statement.update, condition, write.values, on_failure, "PartiQL"
    )


def check_write_key(table: OpenTable, action: Action) -> None:
    """Raise ValidationException if the key of a write has a wrong type, in the words of PartiQL.
    For refused keys only.
    """
    (check_inserted_types if action.kind == "put" else check_key_types)(table, action.item)


@cached_for_last_table
def bound_where(table: OpenTable, statement: Statement) -> tuple[str, str | None, CompiledCondition | None]:
    """A statement's WHERE, split for its table: tokens (`StatementWrite.values`) of partition key and sort key, and the
    other conditions. The condition of an UPDATE also requires that the item exists.
    """
    if statement.projection_fault is not None:  # the fault of the SELECT inside an EXISTS
        raise statement.projection_fault
    parts = split_conditions(statement.where)
    tokens = []
    for name in (table.partition_name, table.sort_name):
        found = [] if name is None else take_equalities(parts, name)
        if len(found) > 1:
            raise ValidationException(KEY_FIXED_TWICE.format(name=name))
        tokens.append(found[0] if found else None)
    partition, sort = tokens
    if partition is None or (sort is None and table.sort_name is not None):
        raise ValidationException(KEY_NOT_FIXED)
    if statement.kind == "UPDATE":
        parts.insert(0, FunctionCall("attribute_exists", (DocumentPath((table.partition_name,)),)))
    return partition, sort, statement.condition(parts)


def returned_row(statement: Statement, change: Change) -> Row | None:
    """The attributes of the written item that RETURNING requests, as a row for replies, or None."""
    item = _returned_item(statement, change)
    return None if item is None else hash_ordered_row(part_row(item) if isinstance(item, dict) else item)


def _returned_item(statement: Statement, change: Change) -> Row | Item | None:
    """The attributes that RETURNING requests, or None.

    MODIFIED NEW holds the new values at all targets of an update, also at removed paths if a value is there afterwards.
    """
    returning = statement.returning
    if returning is None:
        return None
    if statement.update is None:
        return change.old
    if returning.which == "MODIFIED" and returning.image == "NEW":
        attributes = {} if change.new is None else statement.update.updated_old(decode_row(change.new))
        return attributes or None
    prefix = "ALL_" if returning.which == "ALL" else "UPDATED_"
    return returned_attributes(prefix + returning.image, change, statement.update)
