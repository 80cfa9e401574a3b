"""How does AttributeUpdates change an item? PUT, ADD or DELETE of each attribute, compiled to a CompiledUpdate.

Unlike in expressions, ADD also appends to lists, and if the stored value has another type, the message differs. Order
of checks, per attribute: name, whether a needed value is given, value, whether the action allows the value's type.
Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Mapping
from typing import Any

from hashrange.errors import RequestFault
from hashrange.expressions.legacy_conditions import LegacyMap
from hashrange.expressions.tree import DocumentPath, SetAction, ValueAction, ValueToken
from hashrange.expressions.update import CompiledUpdate, assigned_types
from hashrange.expressions.update_apply import Apply, compile_apply
from hashrange.expressions.update_values import Assignment, compile_add, compile_delete, compile_set, remove
from hashrange.items.paths import Path
from hashrange.items.steps import spend, walk
from hashrange.items.types import SET_TYPES, Item, Value
from hashrange.items.values import check_name, check_value
from hashrange.messages.expressions import UPDATE_ADD_TYPE, UPDATE_DELETE_TYPE, UPDATE_VALUE_NEEDED

_ACTION_STEPS = 5
_ADDABLE_TYPES = ("N", "L", *SET_TYPES)


def attribute_updates(updates: LegacyMap) -> CompiledUpdate:
    """Compile AttributeUpdates to an update that holds its values and ignores those that it is called with.

    An empty map creates an item of only its key if none exists. Raises RequestFault for the first fault, or what
    `check_value` raises for a value.
    """
    values: dict[str, Value] = {}
    actions: list[tuple[Path, Assignment]] = []
    removed: list[Path] = []
    sets: list[SetAction] = []
    additions: list[ValueAction] = []
    for name, members in walk(updates.items()):
        spend(_ACTION_STEPS)
        check_name(name)
        path = DocumentPath((name,))
        action, value = _read_update(members)
        if value is None:
            removed.append(path.elements)
            actions.append((path.elements, remove))
            continue
        token = ValueToken(f":{len(values)}", next(iter(value)))
        values[token.token] = value
        if action == "ADD":
            additions.append(ValueAction(path, token))
            actions.append((path.elements, compile_add(token.token, is_legacy=True)))
        elif action == "DELETE":
            actions.append((path.elements, compile_delete(token.token, is_legacy=True)))
        else:
            sets.append(SetAction(path, token))
            actions.append((path.elements, compile_set(token)))

    return CompiledUpdate(
        _bind(compile_apply(actions), values),
        written=[path for path, action in walk(actions) if action is not remove],
        removed=removed,
        read=[],
        can_create=bool(sets or additions or not updates),
        statement_size_bytes=_no_statement,
        assigned_types=assigned_types(sets, additions),
    )


def _no_statement(values: dict[str, Value], item: Item | None) -> int:
    """0, because there is no statement: only the size of the item is limited."""
    return 0


def _bind(apply: Apply, own_values: dict[str, Value]) -> Apply:
    """Return a function that calls `apply` with `own_values` and ignores the values that it is called with itself."""

    def apply_own(item: Item, _values: dict[str, Value]) -> Item:
        return apply(item, own_values)

    return apply_own


def _read_update(members: Mapping[str, Any]) -> tuple[str, Value | None]:
    """Check one AttributeUpdates entry; returns its action (default PUT) and its value, None if absent."""
    action = members.get("Action") or "PUT"
    given = members.get("Value")
    if given is None:
        if action != "DELETE":
            raise RequestFault(UPDATE_VALUE_NEEDED)
        return action, None
    value = check_value(given)[0]
    type_name = next(iter(value))
    if action == "DELETE" and type_name not in SET_TYPES:
        raise RequestFault(UPDATE_DELETE_TYPE.format(type_name=type_name))
    if action == "ADD" and type_name not in _ADDABLE_TYPES:
        raise RequestFault(UPDATE_ADD_TYPE.format(type_name=type_name))
    return action, value
