"""How do an update's actions change an item? By one function from the old item to the new one;
both share unchanged parts.

Actions on top-level attributes change a copy of the item's outer dict. Actions on nested paths form a tree; each
container on a path is copied once. List indices refer to the old list: removed elements leave no gap, elements set
beyond the end are appended in index order. Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Callable
from typing import Any

from hashrange.errors import ValidationException
from hashrange.expressions.tree import Values
from hashrange.expressions.update_values import Assignment, remove
from hashrange.items.paths import Path
from hashrange.items.steps import FEW_MEMBERS, walk
from hashrange.items.types import Item, Value
from hashrange.messages.expressions import UPDATE_PATH_INVALID

Apply = Callable[[Item, Values], Item]

AssignmentTree = dict[str | int, Any]
"""Path element → AssignmentTree of the actions inside the map or list at this element, or Assignment of its value.

Keys of one level: all names or all indices.
"""


def compile_apply(actions: list[tuple[Path, Assignment]]) -> Apply:
    """Return the function that applies all actions; paths must neither overlap nor conflict."""
    top_level = [(str(path[0]), action) for path, action in walk(actions) if len(path) == 1]
    nested = _assignment_tree([(path, action) for path, action in walk(actions) if len(path) > 1])

    are_few = len(top_level) <= FEW_MEMBERS

    def apply(item: Item, values: Values) -> Item:
        changed = item.copy()
        for name, action in top_level if are_few else walk(top_level):
            value = action(item.get(name), item, values)
            if value is None:
                changed.pop(name, None)
            else:
                changed[name] = value
        return changed

    if not nested:
        return apply
    branches = [(str(name), branch, _has_only_removals(branch)) for name, branch in nested.items()]

    def apply_nested(item: Item, values: Values) -> Item:
        changed = apply(item, values)
        for name, branch, is_removal in branches:
            value = item.get(name)
            if value is None:
                if is_removal and not item:
                    continue
                raise ValidationException(UPDATE_PATH_INVALID)
            changed[name] = _change_value(value, branch, item, values)
        return changed

    return apply_nested


def _assignment_tree(actions: list[tuple[Path, Assignment]]) -> AssignmentTree:
    """The tree of actions on nested paths; the list indices of each level are in ascending order."""
    tree: AssignmentTree = {}
    for path, action in sorted(actions, key=_by_index):
        branch = tree
        for element in path[:-1]:
            branch = branch.setdefault(element, {})
        branch[path[-1]] = action
    return tree


def _by_index(pair: tuple[Path, Assignment]) -> list[int]:
    """Sort key of an action: the list indices of its path, with -1 in place of each name."""
    return [element if isinstance(element, int) else -1 for element in pair[0]]


def _has_only_removals(branch: AssignmentTree) -> bool:
    """True if `branch` has only REMOVE actions, which have no effect if the item does not exist."""
    return all(_has_only_removals(below) if isinstance(below, dict) else below is remove for below in branch.values())


def _change_value(value: Value, branch: AssignmentTree, item: Item, values: Values) -> Value:
    """Apply the actions of `branch` to a copy of a map or list.

    Raises ValidationException if a path leads through a missing value or one of a wrong type, or as an assignment does.
    """
    if isinstance(next(iter(branch)), int):
        return _change_list(value, branch, item, values)
    members = value.get("M")
    if members is None:
        raise ValidationException(UPDATE_PATH_INVALID)
    changed = members.copy()
    for name, below in branch.items():
        old = members.get(name)
        if isinstance(below, dict):
            if old is None:
                raise ValidationException(UPDATE_PATH_INVALID)
            changed[name] = _change_value(old, below, item, values)
            continue
        new = below(old, item, values)
        if new is None:
            changed.pop(name, None)
        else:
            changed[name] = new
    return {"M": changed}


def _change_list(value: Value, branch: AssignmentTree, item: Item, values: Values) -> Value:
    elements = value.get("L")
    if elements is None:
        raise ValidationException(UPDATE_PATH_INVALID)
    changed: list[Value | None] = list(elements)
    for index, below in branch.items():
        assert isinstance(index, int)
        old = elements[index] if index < len(elements) else None
        if isinstance(below, dict):
            if old is None:
                raise ValidationException(UPDATE_PATH_INVALID)
            changed[index] = _change_value(old, below, item, values)
            continue
        new = below(old, item, values)
        if old is not None:
            changed[index] = new
        elif new is not None:
            changed.append(new)
    return {"L": [element for element in changed if element is not None]}
