"""For which items does a condition hold? ConditionExpression and FilterExpression as a function of item and values.

A comparison with a missing operand is false, except `<>`: as the negation of `=` it is true, unless the missing operand
is a size().

Static checks, in order: redundant parentheses, number of operators, unknown functions, misplaced functions, reserved
words, paths; then per comparison or function call undefined names and values, numbers of operands and operands of
size(), operands that must differ, types, values. A statement of PartiQL differs in IN and attribute_type. Source:
service behaviour, captures to Oct 2026.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from hashrange.errors import RequestFault
from hashrange.expressions import tree
from hashrange.expressions.cache import Cache, cache_key
from hashrange.expressions.checks import (
    PARTIQL,
    check_distinct,
    check_functions_known,
    check_operand_count,
    check_operand_type,
    check_operands_defined,
    check_operator_count,
    check_parentheses,
    check_paths,
    check_reserved,
    misuse_fault,
    operand_type,
    path_required_fault,
)
from hashrange.expressions.lexer import fault
from hashrange.expressions.parser import CONDITION_KEYWORDS, ExpressionParser
from hashrange.expressions.predicates import Test, compile_conditions
from hashrange.expressions.values import ORDERED_TYPES, is_ordered
from hashrange.items.steps import walk
from hashrange.items.types import TYPE_NAMES, Value
from hashrange.limits import MEMBERSHIP_OPERANDS_MAX
from hashrange.messages import expressions as say
from hashrange.messages.partiql import MEMBERS_COUNT


class ValueCheck(NamedTuple):
    """The tokens whose values must be checked: BETWEEN's bounds, or a type name in `lower` if `upper` is None."""

    lower: str
    upper: str | None


class CompiledCondition:
    """A compiled condition: its `test(item, values)`, the attributes that it reads, the `#names` and `:values` it uses.

    If there is no item, `test` is called with an empty one.
    """

    __slots__ = ("attributes", "kind", "nested_attributes", "test", "used_names", "used_values", "value_checks")

    def __init__(
        self,
        kind: str,
        test: Test,
        *,
        paths: list[tuple[str | int, ...]],
        used_names: frozenset[str] = frozenset(),
        used_values: frozenset[str] = frozenset(),
        value_checks: tuple[ValueCheck, ...] = (),
    ) -> None:
        self.kind = kind
        self.test = test
        self.attributes = frozenset([str(path[0]) for path in paths])
        """Top-level attributes that the condition reads."""
        self.nested_attributes = frozenset([str(path[0]) for path in paths if len(path) > 1])
        """Top-level attributes whose nested parts the condition reads."""
        self.used_names = used_names
        self.used_values = used_values
        self.value_checks = value_checks
        """Checks of the request's values, which also run for each request that finds the condition in the cache."""


_CACHE: Cache[CompiledCondition] = Cache()
_cached: Callable[[tuple[object, ...]], CompiledCondition | None] = _CACHE.entries.get


def compile_condition(
    kind: str, text: str, names: dict[str, str] | None, values: dict[str, Value] | None
) -> CompiledCondition:
    """Compile a condition; `kind` is the parameter's name, `values` are canonical.

    Raises RequestFault for the first fault. Cached: a hit costs about 1 µs.
    """
    key = cache_key((kind, text), names, values)
    condition = _cached(key)
    if condition is None:
        condition = _compile(kind, text, names, values or {})
        _CACHE.add(key, condition)
    elif condition.value_checks:
        run_value_checks(kind, condition.value_checks, values or {})
    return condition


def read_checked_condition(
    kind: str, text: str, names: dict[str, str] | None, values: dict[str, Value]
) -> tuple[ExpressionParser, tree.ConditionNode, tuple[ValueCheck, ...]]:
    """Parse a condition and run its static checks. Raises RequestFault for the first fault.

    Returns the parser, the tree, and the checks to repeat on the values of later requests with this condition.
    """
    parser = ExpressionParser(kind, text, names, values, CONDITION_KEYWORDS)
    root = parser.read_condition()
    check_parentheses(parser)
    check_operator_count(parser)
    check_functions_known(parser, CONDITION_FUNCTIONS)
    _check_placement(parser)
    check_reserved(parser)
    check_paths(parser)
    return parser, root, check_terms(parser.kind, parser.conditions, values)


def _check_placement(parser: ExpressionParser) -> None:
    """Refuse size() as a condition, and other functions as operands; reports the call whose `)` comes first."""
    wrong = {id(call) for call in parser.operand_calls if call.function != "size"}
    wrong |= {id(node) for node in parser.conditions if isinstance(node, tree.FunctionCall) and node.function == "size"}
    for call in parser.calls:
        if id(call) in wrong:
            raise misuse_fault(parser.kind, call.function)


def _compile(kind: str, text: str, names: dict[str, str] | None, values: dict[str, Value]) -> CompiledCondition:
    parser, root, value_checks = read_checked_condition(kind, text, names, values)
    return CompiledCondition(
        kind,
        compile_conditions(parser.conditions, root),
        paths=[path.elements for path in parser.paths],
        used_names=frozenset(parser.used_names),
        used_values=frozenset(parser.used_values),
        value_checks=value_checks,
    )


# --- the terms: comparisons and calls -------------------------------------------------------------


CONDITION_FUNCTIONS = {
    "attribute_exists": 1,
    "attribute_not_exists": 1,
    "attribute_type": 2,
    "begins_with": 2,
    "contains": 2,
    "size": 1,
}
"""Condition function → number of operands."""
_PATH_FUNCTIONS = ("attribute_exists", "attribute_not_exists", "attribute_type")
_SIZED_TYPES = frozenset(TYPE_NAMES) - {"N", "BOOL", "NULL"}
_PREFIX_TYPES = frozenset(("S", "B"))


def check_terms(
    kind: str, conditions: Iterable[tree.ConditionNode], values: dict[str, Value]
) -> tuple[ValueCheck, ...]:
    """Check each term in turn; returns the checks that depend on values, which have also run on `values`.

    `kind` is the parameter's name, PARTIQL for a statement.
    """
    checks: list[ValueCheck] = []
    for node in conditions:
        added = _check_term(kind, node)
        if added is not None:
            run_value_checks(kind, (added,), values)
            checks.append(added)
    return tuple(checks)


def run_value_checks(kind: str, checks: tuple[ValueCheck, ...], values: dict[str, Value]) -> None:
    """Refuse BETWEEN bounds of different types or in wrong order, and unknown type names."""
    for lower_token, upper_token in walk(checks):  # to compare two long bounds takes 0.1 ms
        lower = values[lower_token]
        if upper_token is None:
            if lower["S"] not in TYPE_NAMES:
                raise fault(kind, say.TYPE_NAME_UNKNOWN.format(type_name=lower["S"]))
            continue
        upper = values[upper_token]
        if lower.keys() != upper.keys():
            raise _bounds_fault(kind, say.BETWEEN_TYPES, lower, upper)
        if not is_ordered("<=", lower, upper):
            raise _bounds_fault(kind, say.BETWEEN_ORDER, lower, upper)


def _bounds_fault(kind: str, message: str, lower: Value, upper: Value) -> RequestFault:
    return fault(kind, message.format(lower=_render_value(lower), upper=_render_value(upper)))


def _render_value(value: Value) -> str:
    """A scalar as the service quotes it: `{N:1}`."""
    ((type_name, scalar),) = value.items()
    return f"{{{type_name}:{scalar}}}"


def _check_term(kind: str, node: tree.ConditionNode) -> ValueCheck | None:
    """Check one comparison or function call; And, Or and Not have no own checks."""
    if isinstance(node, tree.Comparison):
        _check_operands(kind, (node.left, node.right))
        check_distinct(kind, node.operator, node.left, (node.right,))
        if node.operator not in ("=", "<>"):
            check_operand_type(kind, node.operator, node.left, ORDERED_TYPES)
            check_operand_type(kind, node.operator, node.right, ORDERED_TYPES)
    elif isinstance(node, tree.Between):
        return _check_between(kind, node)
    elif isinstance(node, tree.Membership):
        _check_operands(kind, (node.operand, *node.options))
        _check_membership(kind, node)
    elif isinstance(node, tree.FunctionCall):
        return _check_call(kind, node)
    return None


def _check_membership(kind: str, node: tree.Membership) -> None:
    """Refuse IN with too many options, or with an option that is the operand itself; PartiQL checks for the operand
    first.
    """
    count = len(node.options)
    if kind == PARTIQL:
        check_distinct(kind, "IN", node.operand, node.options)
        if count > MEMBERSHIP_OPERANDS_MAX:
            raise fault(kind, MEMBERS_COUNT.format(count=count))
        return
    if count > MEMBERSHIP_OPERANDS_MAX:
        raise fault(kind, say.OPERAND_COUNT.format(operator="IN", count=count))
    check_distinct(kind, "IN", node.operand, node.options)


def _check_between(kind: str, node: tree.Between) -> ValueCheck | None:
    _check_operands(kind, node)
    check_distinct(kind, "BETWEEN", node.operand, (node.lower, node.upper))
    for operand in node:
        check_operand_type(kind, "BETWEEN", operand, ORDERED_TYPES)
    if isinstance(node.lower, tree.ValueToken) and isinstance(node.upper, tree.ValueToken):
        return ValueCheck(node.lower.token, node.upper.token)
    return None


def _check_operands(kind: str, operands: tuple[tree.Operand, ...]) -> None:
    """Refuse undefined `#tokens` and `:tokens`, then invalid size() calls, in the operands of a term."""
    check_operands_defined(kind, operands)
    for operand in operands:
        if isinstance(operand, tree.FunctionCall) and operand.function == "size":
            _check_size(kind, operand)


def _check_size(kind: str, call: tree.FunctionCall) -> None:
    check_operand_count(kind, call, 1)
    operand = call.operands[0]
    if isinstance(operand, tree.FunctionCall):
        raise path_required_fault(kind, "size")
    check_operand_type(kind, "size", operand, _SIZED_TYPES)


def _check_call(kind: str, call: tree.FunctionCall) -> ValueCheck | None:
    """Check a condition function and its operands."""
    function = call.function
    check_operands_defined(kind, call.operands)
    check_operand_count(kind, call, CONDITION_FUNCTIONS[function])
    first, second = call.operands[0], call.operands[-1]
    if function in _PATH_FUNCTIONS and not (function == "attribute_type" and kind == PARTIQL):
        if not isinstance(first, tree.DocumentPath):
            raise path_required_fault(kind, function)
    else:
        _check_operands(kind, call.operands)
    if function == "attribute_type":
        if kind == PARTIQL:
            check_distinct(kind, function, first, (second,))
        return _check_type_operand(kind, second)
    if function in ("begins_with", "contains"):
        check_distinct(kind, function, first, (second,))
    if function == "begins_with":
        check_operand_type(kind, function, first, _PREFIX_TYPES)
        check_operand_type(kind, function, second, _PREFIX_TYPES)
    return None


def _check_type_operand(kind: str, operand: tree.Operand) -> ValueCheck:
    """Check attribute_type's second operand: a value of type S."""
    if not isinstance(operand, tree.ValueToken):
        type_name = (operand_type(operand) if kind == PARTIQL else None) or say.ANY_TYPE
        raise fault(kind, say.OPERAND_TYPE.format(operator="attribute_type", type_name=type_name))
    check_operand_type(kind, "attribute_type", operand, ("S",))
    return ValueCheck(operand.token, None)
