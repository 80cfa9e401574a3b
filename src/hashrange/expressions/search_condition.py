"""Which entries of a vector index may a search find? SearchConditionExpression as a function, and as terms that are
checked against the index.

It is parsed and checked like all conditions. Then further checks leave only terms that compare one top-level attribute
with values, in any combination of AND, OR and NOT: comparisons, BETWEEN, IN, and calls of the functions that tell a
prefix or whether there is the attribute. Callers check which attributes the index has, and what is compared with its
HASH attribute. Source: vectors.md 9 and 14; the developer guide's reference of the expression, of which only the
beginning was read (docs/compatibility.md lists what is our choice).
"""

from collections.abc import Callable
from typing import NamedTuple

from hashrange.errors import RequestFault
from hashrange.expressions import tree
from hashrange.expressions.cache import Cache, cache_key
from hashrange.expressions.condition import ValueCheck, read_checked_condition, run_value_checks
from hashrange.expressions.lexer import fault
from hashrange.expressions.parser import ExpressionParser
from hashrange.expressions.predicates import Test, compile_conditions
from hashrange.items.steps import walk
from hashrange.items.types import Value
from hashrange.messages import vectors as say

KIND = "SearchConditionExpression"
_FUNCTIONS = ("attribute_exists", "attribute_not_exists", "begins_with")


class SearchTerm(NamedTuple):
    """A condition on one attribute; `tokens` name the values that `operator` compares the attribute with."""

    attribute: str
    operator: str
    """A comparison such as `<`, BETWEEN, IN, or the name of a function."""
    tokens: tuple[str, ...]
    is_joined: bool
    """True if every entry that is found meets the term: only AND joins it to the others."""


class CompiledSearch(NamedTuple):
    """A compiled SearchConditionExpression."""

    terms: tuple[SearchTerm, ...]
    """In the order of the text."""
    test: Test
    attributes: frozenset[str]
    """Attributes that the expression reads."""
    used_names: frozenset[str]
    used_values: frozenset[str]
    value_checks: tuple[ValueCheck, ...]
    """Checks of the request's values, which also run for each request that finds the expression in the cache."""

    @property
    def is_one_equality(self) -> bool:
        """True if the expression is one term `attribute = :value`."""
        return len(self.terms) == 1 and self.terms[0].operator == "=" and self.terms[0].is_joined


_CACHE: Cache[CompiledSearch] = Cache()
_cached: Callable[[tuple[object, ...]], CompiledSearch | None] = _CACHE.entries.get


def compile_search(text: str, names: dict[str, str] | None, values: dict[str, Value]) -> CompiledSearch:
    """Compile a SearchConditionExpression; `values` are canonical. Raises RequestFault for the first fault. Cached."""
    key = cache_key((KIND, text), names, values)
    search = _cached(key)
    if search is None:
        search = _compile(text, names, values)
        _CACHE.add(key, search)
    elif search.value_checks:
        run_value_checks(KIND, search.value_checks, values)
    return search


def _compile(text: str, names: dict[str, str] | None, values: dict[str, Value]) -> CompiledSearch:
    parser, root, value_checks = read_checked_condition(KIND, text, names, values)
    joined = {id(node) for node in tree.split_conditions(root)}
    terms = [
        _read_term(node, is_joined=id(node) in joined)
        for node in walk(parser.conditions)
        if not isinstance(node, tree.And | tree.Or | tree.Not)
    ]
    _refuse_nested(parser)
    return CompiledSearch(
        tuple(terms),
        compile_conditions(parser.conditions, root),
        frozenset([term.attribute for term in terms]),
        frozenset(parser.used_names),
        frozenset(parser.used_values),
        value_checks,
    )


def _refuse_nested(parser: ExpressionParser) -> None:
    if any(len(path.elements) > 1 for path in parser.paths):
        raise fault(KIND, say.NESTED_ATTRIBUTE)


def _read_term(node: tree.ConditionNode, *, is_joined: bool) -> SearchTerm:
    """One comparison or call. Raises RequestFault if no SearchConditionExpression may have it."""
    if isinstance(node, tree.Comparison):
        operator, left, right = node
        if isinstance(left, tree.ValueToken):
            operator, left, right = tree.MIRRORED[operator], right, left
        return _term(operator, left, (right,), is_joined=is_joined)
    if isinstance(node, tree.Between):
        return _term("BETWEEN", node.operand, (node.lower, node.upper), is_joined=is_joined)
    if isinstance(node, tree.Membership):
        return _term("IN", node.operand, node.options, is_joined=is_joined)
    assert isinstance(node, tree.FunctionCall), "other nodes are no terms"
    if node.function not in _FUNCTIONS:
        raise operator_fault()
    return _term(node.function, node.operands[0], node.operands[1:], is_joined=is_joined)


def _term(operator: str, first: tree.Operand, others: tuple[tree.Operand, ...], *, is_joined: bool) -> SearchTerm:
    tokens = [other.token for other in others if isinstance(other, tree.ValueToken)]
    if not isinstance(first, tree.DocumentPath) or len(tokens) < len(others):
        raise operator_fault()
    return SearchTerm(str(first.elements[0]), operator, tuple(tokens), is_joined)


# --- faults -------------------------------------------------------------------------------------


def operator_fault() -> RequestFault:
    """The fault of an operator or function that is not allowed in its place."""
    return fault(KIND, say.OPERATOR_INVALID)


def comparator_fault() -> RequestFault:
    """The fault of a comparison other than `=` with a HASH attribute."""
    return fault(KIND, say.COMPARATOR_INVALID)


def repeated_fault() -> RequestFault:
    """The fault of two conditions on a HASH attribute."""
    return fault(KIND, say.ATTRIBUTE_REPEATED)
