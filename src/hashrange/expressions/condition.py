"""For which items does a condition hold? ConditionExpression and FilterExpression as a function of item and values.

A comparison with a missing operand is false, except `<>`: as the negation of `=` it is true, unless the missing operand
is a size().
Static checks, in order: redundant parentheses, number of operators, unknown functions, misplaced functions, reserved
words, paths; then per comparison or function call undefined names and values, numbers of operands and operands of
size(), operands that must differ, types, values. Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Callable

from hashrange.expressions.cache import Cache, cache_key
from hashrange.expressions.checks import (
    check_functions_known,
    check_operator_count,
    check_parentheses,
    check_paths,
    check_reserved,
    misuse_fault,
)
from hashrange.expressions.parser import CONDITION_KEYWORDS, ExpressionParser
from hashrange.expressions.predicates import Test, compile_conditions
from hashrange.expressions.terms import CONDITION_FUNCTIONS, ValueCheck, check_terms, run_value_checks
from hashrange.expressions.tree import ConditionNode, FunctionCall
from hashrange.items.types import Value


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
) -> tuple[ExpressionParser, ConditionNode, tuple[ValueCheck, ...]]:
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
    wrong |= {id(node) for node in parser.conditions if isinstance(node, FunctionCall) and node.function == "size"}
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
