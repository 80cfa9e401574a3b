"""What does a write do to one item? An Action, checked without its table, then planned for its table;
its dialect says whether a batch or PartiQL asks for it.

Checks of the request, in order: parameters → values of the item or key → ReturnValues → item size → expressions. Checks
against the table: the item's key → index keys of a put item → an update's paths into key attributes → types that it
assigns to index keys → key attributes among its targets → a condition's paths into key attributes. Source: service
behaviour, captures to Oct 2026.
"""

from typing import Literal, Protocol

import msgspec

from hashrange.errors import KeyFault, NestingFault, ValidationException
from hashrange.expressions.condition import CompiledCondition
from hashrange.expressions.parameters import NO_VALUES
from hashrange.expressions.update import CompiledUpdate
from hashrange.items.rows import encode_row
from hashrange.items.types import Item, Key, Value
from hashrange.items.values import check_item
from hashrange.limits import ITEM_SIZE_MAX_BYTES
from hashrange.messages.keys import KEY_SCHEMA_MISMATCH
from hashrange.messages.reads import CANNOT_UPDATE_KEY, ITEM_TOO_LARGE
from hashrange.operations import shapes
from hashrange.operations.items.action_plans import (
    plan_check,
    plan_delete,
    plan_delete_of_present,
    plan_insert,
    plan_put,
    plan_update,
)
from hashrange.operations.items.conditions import check_key_paths
from hashrange.operations.items.expression_members import PUT_OR_DELETE_ITEM, UPDATE_ITEM, check_operation_parameters
from hashrange.operations.items.nesting_checks import check_before_depth, check_return_values
from hashrange.operations.items.write_expressions import (
    UNCONDITIONAL,
    ExpressionsRequest,
    LegacyParameters,
    WriteExpressions,
    check_known_values,
    compile_expressions,
    compile_legacy,
    known_expressions,
)
from hashrange.tables.change import Plan
from hashrange.tables.index_keys import check_assigned_index_keys, check_item_index_keys
from hashrange.tables.open_table import OpenTable
from hashrange.wire.rules import RequestRules

ActionKind = Literal["put", "update", "delete", "check"]
Dialect = Literal["API", "batch", "PartiQL"]
"""Kind of request that a write is part of. "batch": faults in the key attributes of a put item are worded like those of
a key map. "PartiQL": a put refuses an existing item, a delete does not test its condition on a missing item, and the
size of an update and its values (`expressions/statement_size.py`) is not limited, only that of the item."""


class Action(msgspec.Struct, frozen=True, gc=False):
    """A write of one item, with checked values and expressions. The kind "check" only tests a condition."""

    kind: ActionKind
    table_name: str
    """The table's name or ARN, as in the request."""
    item: Item
    """The item of a put; the key map of the other kinds."""
    size_bytes: int
    """DynamoDB size of the item that a put stores; 0 for the other kinds."""
    update: CompiledUpdate | None
    """What an action of the kind "update" does; None creates a missing item with its key alone, and keeps an existing
    item. None for the other kinds."""
    condition: CompiledCondition | None
    values: dict[str, Value]
    """Values of the tokens in `update` and `condition`."""
    on_failure: str | None
    """The requested ReturnValuesOnConditionCheckFailure; may be None instead if there is no condition."""
    dialect: Dialect = "API"


# --- checks that need no table ------------------------------------------------------------------


class ActionRequest(ExpressionsRequest, Protocol):
    """The members that all requests for one action share: single writes, and the actions of a transaction."""

    @property
    def TableName(self) -> str: ...  # noqa: N802
    @property
    def ReturnValuesOnConditionCheckFailure(self) -> str | None: ...  # noqa: N802


def requested_action(
    kind: ActionKind,
    rules: RequestRules,
    request: ActionRequest,
    attributes: shapes.AttributeMap,
    legacy: LegacyParameters | None = None,
    return_values: str | None = None,
    update_text: str | None = None,
    *,
    has_usual_key: bool = False,
) -> Action:
    """Return the action that a request asks for. Raises its first fault: a ValidationException or Malformed.

    `attributes`: the item of a put, the key map of the other kinds. `return_values`: ReturnValues of a put or delete;
    None if it is not given, and for an update, which supports all its values. The operation's `rules` decide which
    faults are reported before values that are nested too deep. `has_usual_key`: `attributes` is a key map of which
    `OpenTable.usual_key` has made a key, so it has no fault.
    """
    known = known_expressions(request, update_text) if legacy is None else None
    if known is None:
        check_operation_parameters(request, UPDATE_ITEM if kind == "update" else PUT_OR_DELETE_ITEM)
    item, size_bytes = attributes, 0
    if not has_usual_key:
        try:
            item, size_bytes = check_item(attributes)
        except NestingFault:
            check_before_depth(rules, request, return_values)
            raise
    if return_values is not None:
        check_return_values(return_values)
    if kind != "put":
        size_bytes = 0
    elif size_bytes > ITEM_SIZE_MAX_BYTES:
        raise ValidationException(ITEM_TOO_LARGE)
    if known is UNCONDITIONAL:
        return Action(kind, request.TableName, item, size_bytes, None, None, NO_VALUES, None)
    update, condition, values = _expressions(request, update_text, legacy, known)
    on_failure = request.ReturnValuesOnConditionCheckFailure
    return Action(kind, request.TableName, item, size_bytes, update, condition, values, on_failure)


def unconditional_put(table_name: str, attributes: shapes.AttributeMap, dialect: Dialect) -> Action:
    """Return a put without expressions, such as those of BatchWriteItem. Raises the first fault of the item."""
    item, size_bytes = check_item(attributes)
    if size_bytes > ITEM_SIZE_MAX_BYTES:
        raise ValidationException(ITEM_TOO_LARGE)
    return Action("put", table_name, item, size_bytes, None, None, NO_VALUES, None, dialect)


def unconditional_delete(table_name: str, key_map: shapes.AttributeMap, dialect: Dialect) -> Action:
    """Return the delete of a BatchWriteItem, which has no conditions. Raises the first fault of the key map."""
    return Action("delete", table_name, check_item(key_map)[0], 0, None, None, NO_VALUES, None, dialect)


def _expressions(
    request: ExpressionsRequest,
    update_text: str | None,
    legacy: LegacyParameters | None,
    known: WriteExpressions | None,
) -> tuple[CompiledUpdate | None, CompiledCondition | None, dict[str, Value]]:
    """Update and condition, from expressions or legacy parameters, and their tokens' values. Raises the first fault."""
    if known is not None:
        return known.update, known.condition, check_known_values(known, request)
    if legacy is not None:
        return *compile_legacy(legacy), NO_VALUES
    compiled, values = compile_expressions(request, update_text)
    return *compiled, values


# --- plans for a table --------------------------------------------------------------------------


def plan_action(table: OpenTable, action: Action, key: Key | None = None) -> tuple[Key, Plan]:
    """Key and plan of an action: `key_of_item`, `check_fit` and `make_plan` in one call.

    `key`: the item's key, if it is already known. Raises ValidationException for the first fault against the table.
    """
    if key is None:
        is_batch = action.dialect == "batch"
        key = table.item_key(action.item) if action.kind == "put" and not is_batch else key_of_item(table, action)
    if action.condition is not None or action.update is not None or table.checks_items:
        check_fit(table, action)
    return key, make_plan(table, action)


def key_of_item(table: OpenTable, action: Action) -> Key:
    """Key of the action's item. Raises ValidationException for key attributes that do not fit the table's keys."""
    if action.kind != "put":
        return table.lookup_key(action.item)
    try:
        return table.item_key(action.item)
    except ValidationException as fault:
        if action.dialect == "batch" and type(fault) is ValidationException:  # a key attribute is missing, or mistyped
            raise ValidationException(KEY_SCHEMA_MISMATCH) from None
        raise


def check_fit(table: OpenTable, action: Action) -> None:
    """Raise ValidationException if index keys of a put item, or an action's expressions, do not fit the table.

    Checked are an update's paths, assigned types and targets, and a condition's paths, but not the item's key.
    """
    if table.checks_items and action.kind == "put":
        check_item_index_keys(table, action.item)
    update, condition = action.update, action.condition
    if update is not None:
        check_key_paths(table, update.nested_attributes)
        if table.index_keys:
            check_assigned_index_keys(table, update.assigned_types)
        for name in (table.partition_name, table.sort_name):
            if name in update.attributes:
                raise KeyFault(CANNOT_UPDATE_KEY.format(name=name))
    if condition is not None:
        check_key_paths(table, condition.nested_attributes)


def make_plan(table: OpenTable, action: Action) -> Plan:
    """The plan of an action that fits its table. Raises ValidationException for a put with JSON above ROW_MAX_BYTES."""
    kind, condition = action.kind, action.condition
    if kind == "put":
        row = encode_row(action.item, action.size_bytes)
        if action.dialect == "PartiQL":
            return plan_insert(row, action.item)
        return plan_put(row, action.item, condition, action.values, action.on_failure)
    if kind == "delete":
        plan = plan_delete(condition, action.values, action.on_failure)
        return plan if condition is None or action.dialect != "PartiQL" else plan_delete_of_present(plan)
    values, on_failure = action.values, action.on_failure
    if kind == "update":
        update = action.update
        is_heavy = (
            update is not None
            and action.dialect != "PartiQL"
            and update.statement_size_bytes(values, None) > ITEM_SIZE_MAX_BYTES
        )
        return plan_update(table, action.item, update, condition, values, on_failure, is_heavy=is_heavy)
    assert condition is not None, "a check without a condition"
    return plan_check(condition, values, on_failure)
