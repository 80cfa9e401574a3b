"""How are legacy parameters compiled? Expected, QueryFilter and ScanFilter become trees of conditions, KeyConditions
become terms, AttributeUpdates an update.

Trees and terms are those of expressions, so each rule of evaluation exists once; values get the tokens `:0`, `:1`, ….
Attribute names are top-level and literal, dots included. Callers have checked the JSON types of the maps; members that
are None count as absent.

Order of checks of conditions: number of conditions; per condition which members are given, their values, number, types
and order of the arguments; then ConditionalOperator. In filters ConditionalOperator comes second, before unknown
operators, which precede the single conditions of KeyConditions too. Source: service behaviour, captures to 23 October
2026 (observed-2026-11.md 4 and 5).
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from hashrange.errors import RequestFault, ValidationException
from hashrange.expressions import tree
from hashrange.expressions.condition import CompiledCondition
from hashrange.expressions.keycondition import CompiledKeyCondition, Term
from hashrange.expressions.predicates import compile_conditions
from hashrange.expressions.tree import Values
from hashrange.expressions.update import CompiledUpdate, assigned_types
from hashrange.expressions.update_apply import compile_apply
from hashrange.expressions.update_values import Assignment, compile_add, compile_delete, compile_set, remove
from hashrange.expressions.values import ORDERED_TYPES, is_ordered
from hashrange.items.paths import Path
from hashrange.items.steps import spend, walk
from hashrange.items.types import SET_TYPES, TYPE_NAMES, Item, Value
from hashrange.items.values import check_name, check_value
from hashrange.limits import LEGACY_CONDITIONS_MAX
from hashrange.messages import expressions as say
from hashrange.messages.requests import CONDITIONAL_OPERATOR_UNKNOWN

ResultT = TypeVar("ResultT")
LegacyMap = Mapping[str, Mapping[str, Any]]
"""Attribute name → members of an ExpectedAttributeValue, Condition or AttributeValueUpdate, as in the request."""

_ANY_TYPE = frozenset(TYPE_NAMES)
_PREFIX_TYPES = frozenset(("S", "B"))

_ARGUMENTS: dict[str, tuple[int | None, frozenset[str]]] = {
    "EQ": (1, _ANY_TYPE),
    "NE": (1, _ANY_TYPE),
    "IN": (None, ORDERED_TYPES),
    "LE": (1, ORDERED_TYPES),
    "LT": (1, ORDERED_TYPES),
    "GE": (1, ORDERED_TYPES),
    "GT": (1, ORDERED_TYPES),
    "BETWEEN": (2, ORDERED_TYPES),
    "NOT_NULL": (0, _ANY_TYPE),
    "NULL": (0, _ANY_TYPE),
    "CONTAINS": (1, ORDERED_TYPES),
    "NOT_CONTAINS": (1, ORDERED_TYPES),
    "BEGINS_WITH": (1, _PREFIX_TYPES),
}
"""ComparisonOperator → number of arguments (None: one or more) and their allowed types."""
_CONDITIONAL_OPERATORS = (None, "AND", "OR")
_COMPARISONS = {"EQ": "=", "NE": "<>", "LE": "<=", "LT": "<", "GE": ">=", "GT": ">"}
_KEY_OPERATORS = {name: symbol for name, symbol in _COMPARISONS.items() if name != "NE"} | {
    "BETWEEN": "BETWEEN",
    "BEGINS_WITH": "begins_with",
}


class _Asked(NamedTuple):
    """The legacy condition on one attribute: its ComparisonOperator, or the one that Exists and Value stand
    for, and its checked arguments.
    """

    name: str
    operator: str
    arguments: list[Value]


def expected_condition(expected: LegacyMap | None, operator: str | None) -> CompiledCondition | None:
    """Compile Expected and ConditionalOperator (`operator`); None if Expected is absent or empty.

    Raises RequestFault for the first fault, or what `check_value` raises for a value.
    """
    _check_count(expected)
    asked = [_read_expected(name, members) for name, members in (expected or {}).items()]
    return _condition("Expected", asked, operator)


def filter_condition(filters: LegacyMap | None, operator: str | None, kind: str) -> CompiledCondition | None:
    """Compile QueryFilter or ScanFilter (`kind`) and ConditionalOperator; None if the filter is absent or empty.

    Raises RequestFault for the first fault, or what `check_value` raises for a value.
    """
    _check_count(filters)
    _check_operator(operator, len(filters or {}))
    if operator not in _CONDITIONAL_OPERATORS:
        raise RequestFault(CONDITIONAL_OPERATOR_UNKNOWN)
    _check_comparisons(filters or {})
    asked = [_read_condition(name, members) for name, members in (filters or {}).items()]
    return _condition(kind, asked, operator)


def key_conditions(conditions: LegacyMap) -> tuple[CompiledKeyCondition, dict[str, Value]]:
    """Compile KeyConditions; returns the key condition and its values by token.

    Raises RequestFault, ValidationException for an operator that key conditions lack, or what `check_value` raises.
    """
    _check_count(conditions)
    _check_comparisons(conditions)
    values: dict[str, Value] = {}
    terms = []
    for name, members in conditions.items():
        asked = _read_condition(name, members)
        operator = _KEY_OPERATORS.get(asked.operator)
        if operator is None:
            raise ValidationException(say.KEY_NOT_INDEXABLE)
        terms.append(Term(name, operator, tuple([_keep(values, argument).token for argument in asked.arguments])))
    return CompiledKeyCondition(tuple(terms)), values


def _check_count(conditions: LegacyMap | None) -> None:
    """Refuse more than LEGACY_CONDITIONS_MAX conditions, Hashrange's own limit."""
    if conditions is not None and len(conditions) > LEGACY_CONDITIONS_MAX:
        raise RequestFault(say.TOO_MANY_CONDITIONS.format(maximum=LEGACY_CONDITIONS_MAX))


def _check_operator(operator: str | None, count: int) -> None:
    """Raise RequestFault for a ConditionalOperator with fewer than two conditions."""
    if operator is not None and count < 2:
        raise RequestFault(say.CONDITIONAL_OPERATOR_COUNT if count else say.CONDITIONAL_OPERATOR_ALONE)


def _check_comparisons(conditions: LegacyMap) -> None:
    """Raise RequestFault for an unknown operator, before all faults of single conditions."""
    if any(members["ComparisonOperator"] not in _ARGUMENTS for members in conditions.values()):
        raise RequestFault(say.COMPARISON_OPERATOR_UNKNOWN)


# --- reading ------------------------------------------------------------------------------------


def _read_expected(name: str, members: Mapping[str, Any]) -> _Asked:
    """Check one Expected entry: Exists, Value or both, or an operator with Value or AttributeValueList."""
    value, exists = members.get("Value"), members.get("Exists")
    operator, arguments = members.get("ComparisonOperator"), members.get("AttributeValueList")
    if value is not None and arguments is not None:
        raise RequestFault(say.VALUE_AND_LIST.format(name=name))
    if operator is None:
        return _read_existence(name, value, exists, arguments)
    if exists is not None:
        raise RequestFault(say.OPERATOR_WITH_EXISTS.format(name=name))
    if value is None and arguments is None and operator not in ("NULL", "NOT_NULL"):
        raise RequestFault(say.OPERATOR_ALONE.format(operator=operator, name=name))
    return _checked(name, operator, [value] if value is not None else arguments or [])


def _read_existence(name: str, value: Any, exists: bool | None, arguments: Any) -> _Asked:
    """Check an Expected entry without an operator: Exists false means NULL, a Value means EQ."""
    if arguments is not None:
        raise RequestFault(say.LIST_WITHOUT_OPERATOR.format(name=name))
    if exists is False:
        if value is not None:
            raise RequestFault(say.VALUE_FORBIDDEN.format(name=name))
        return _Asked(name, "NULL", [])
    if value is None:
        raise RequestFault(say.VALUE_NEEDED.format(exists="null" if exists is None else "true", name=name))
    return _Asked(name, "EQ", [check_value(value)[0]])


def _read_condition(name: str, members: Mapping[str, Any]) -> _Asked:
    """Check one entry of a filter or KeyConditions."""
    return _checked(name, members["ComparisonOperator"], members.get("AttributeValueList") or [])


def _checked(name: str, operator: str, arguments: list[Any]) -> _Asked:
    """Check the arguments of an operator: their values, number and types, and the order of BETWEEN's bounds."""
    values = [check_value(argument)[0] for argument in walk(arguments)]
    count, allowed = _ARGUMENTS[operator]
    if len(values) != count and (count is not None or not values):
        raise RequestFault(say.ARGUMENT_COUNT.format(operator=operator))
    types = [next(iter(value)) for value in walk(values)]
    if len(set(types)) > 1:
        raise RequestFault(say.ARGUMENTS_MIXED)
    if types and types[0] not in allowed:
        raise RequestFault(say.ARGUMENT_TYPE.format(operator=operator, type_name=types[0]))
    if operator == "BETWEEN" and not is_ordered("<=", *values):
        raise RequestFault(say.LEGACY_BETWEEN_ORDER)
    return _Asked(name, operator, values)


# --- trees of expressions -----------------------------------------------------------------------


def _condition(kind: str, asked: list[_Asked], operator: str | None) -> CompiledCondition | None:
    """Compile all entries, joined by ConditionalOperator `operator` (default AND); None without entries.

    Raises RequestFault for a ConditionalOperator with fewer than two entries.
    """
    _check_operator(operator, len(asked))
    if not asked:
        return None
    values: dict[str, Value] = {}
    nodes: list[tree.ConditionNode] = []
    roots = [_node(entry, values, nodes) for entry in asked]
    root = roots[0]
    if len(roots) > 1:
        root = tree.Or(tuple(roots)) if operator == "OR" else tree.And(tuple(roots))
        nodes.append(root)
    return CompiledCondition(
        kind, _bind(compile_conditions(nodes, root), values), paths=[(entry.name,) for entry in asked]
    )


def _bind(
    function: Callable[[Item, Values], ResultT], own_values: dict[str, Value]
) -> Callable[[Item, Values], ResultT]:
    """Return the function with values of its own, in place of those of the request."""
    return lambda item, _values: function(item, own_values)


def _node(asked: _Asked, values: dict[str, Value], nodes: list[tree.ConditionNode]) -> tree.ConditionNode:
    """Build the node of one condition; appends the nodes that it consists of, then the node itself, to `nodes`."""
    path = tree.DocumentPath((asked.name,))
    operands = tuple([_keep(values, argument) for argument in walk(asked.arguments)])
    operator = asked.operator
    node: tree.ConditionNode
    if operator in _COMPARISONS:
        node = tree.Comparison(_COMPARISONS[operator], path, operands[0])
    elif operator == "IN":
        node = tree.Membership(path, operands)
    elif operator == "BETWEEN":
        node = tree.Between(path, operands[0], operands[1])
    elif operator in ("NULL", "NOT_NULL"):
        node = tree.FunctionCall("attribute_exists" if operator == "NOT_NULL" else "attribute_not_exists", (path,))
    elif operator == "NOT_CONTAINS":  # a missing attribute satisfies neither CONTAINS nor NOT_CONTAINS
        contained = tree.FunctionCall("contains", (path, *operands))
        absent = tree.Not(contained)
        present = tree.FunctionCall("attribute_exists", (path,))
        nodes += [contained, absent, present]
        node = tree.And((present, absent))
    else:
        node = tree.FunctionCall("begins_with" if operator == "BEGINS_WITH" else "contains", (path, *operands))
    nodes.append(node)
    return node


def _keep(values: dict[str, Value], value: Value) -> tree.ValueToken:
    """Store `value` in `values` under a new token, and return the token."""
    token = f":{len(values)}"
    values[token] = value
    return tree.ValueToken(token, next(iter(value)))


# --- AttributeUpdates -----------------------------------------------------------------------------


_ACTION_STEPS = 5
_ADDABLE_TYPES = ("N", "L", *SET_TYPES)


def attribute_updates(updates: LegacyMap) -> CompiledUpdate:
    """Compile AttributeUpdates to an update that holds its values and ignores those that it is called with.

    An empty map creates an item of only its key if none exists. Raises RequestFault for the first fault, or what
    `check_value` raises for a value.

    Unlike in expressions, ADD also appends to lists, and if the stored value has another type, the message differs.
    Order of checks, per attribute: name, whether a needed value is given, value, whether the action allows the
    value's type. Source: service behaviour, captures to Oct 2026.
    """
    values: dict[str, Value] = {}
    actions: list[tuple[Path, Assignment]] = []
    removed: list[Path] = []
    sets: list[tree.SetAction] = []
    additions: list[tree.ValueAction] = []
    for name, members in walk(updates.items()):
        spend(_ACTION_STEPS)
        check_name(name)
        path = tree.DocumentPath((name,))
        action, value = _read_update(members)
        if value is None:
            removed.append(path.elements)
            actions.append((path.elements, remove))
            continue
        token = tree.ValueToken(f":{len(values)}", next(iter(value)))
        values[token.token] = value
        if action == "ADD":
            additions.append(tree.ValueAction(path, token))
            actions.append((path.elements, compile_add(token.token, is_legacy=True)))
        elif action == "DELETE":
            actions.append((path.elements, compile_delete(token.token, is_legacy=True)))
        else:
            sets.append(tree.SetAction(path, token))
            actions.append((path.elements, compile_set(token)))

    return CompiledUpdate(
        _bind(compile_apply(actions), values),
        written=[path for path, action in walk(actions) if action is not remove],
        removed=removed,
        read=[],
        can_create=bool(sets or additions or not updates),
        statement_size_bytes=lambda _values, _item: 0,  # only the size of the item is limited
        assigned_types=assigned_types(sets, additions),
    )


def _read_update(members: Mapping[str, Any]) -> tuple[str, Value | None]:
    """Check one AttributeUpdates entry; returns its action (default PUT) and its value, None if absent."""
    action = members.get("Action") or "PUT"
    given = members.get("Value")
    if given is None:
        if action != "DELETE":
            raise RequestFault(say.UPDATE_VALUE_NEEDED)
        return action, None
    value = check_value(given)[0]
    type_name = next(iter(value))
    if action == "DELETE" and type_name not in SET_TYPES:
        raise RequestFault(say.UPDATE_DELETE_TYPE.format(type_name=type_name))
    if action == "ADD" and type_name not in _ADDABLE_TYPES:
        raise RequestFault(say.UPDATE_ADD_TYPE.format(type_name=type_name))
    return action, value
