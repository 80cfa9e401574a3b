"""Which keys does a Query read? KeyConditionExpression is compiled to a few terms, each a condition on one attribute.

Key conditions are parsed and checked like all conditions; then further checks leave only terms that are joined by AND
and compare one attribute with values. Callers check against the table which attributes are keys, and their types.
Source: service behaviour, captures to Oct 2026.
"""

from typing import NamedTuple

from hashrange.errors import RequestFault
from hashrange.expressions import tree
from hashrange.expressions.condition import ValueCheck
from hashrange.messages import expressions as say


class Term(NamedTuple):
    """A condition on one attribute; `tokens` name the values that `operator` compares the attribute with.

    The operator is one of = < <= > >= BETWEEN begins_with.
    """

    attribute: str
    operator: str
    tokens: tuple[str, ...]


class CompiledKeyCondition(NamedTuple):
    """A compiled key condition: its terms must all be true, and no two of them have the same attribute."""

    terms: tuple[Term, ...]
    value_checks: tuple[ValueCheck, ...] = ()


def compile_key_condition(root: tree.ConditionNode, value_checks: tuple[ValueCheck, ...]) -> CompiledKeyCondition:
    """Compile a key condition that has passed the static checks of all conditions (`read_checked_condition`).

    Raises RequestFault for the first term that no key condition may have, then for two terms on one attribute.
    """
    terms = [_read_term(part) for part in tree.split_conditions(root)]
    if len({term.attribute for term in terms}) < len(terms):
        raise RequestFault(say.KEY_REPEATED, say.KEY_REPEATED_OLDER)
    return CompiledKeyCondition(tuple(terms), value_checks)


def _read_term(node: tree.ConditionNode) -> Term:
    """Compile one term of a key condition; raises RequestFault if no key condition may have it."""
    if isinstance(node, tree.Comparison):
        if node.operator == "<>":
            raise RequestFault(say.KEY_OPERATOR_INVALID.format(operator="<>"))
        return _read_comparison(node)
    if isinstance(node, tree.Between):
        return _read_key_first("BETWEEN", node.operand, (node.lower, node.upper))
    if isinstance(node, tree.FunctionCall):
        if node.function != "begins_with":
            raise RequestFault(say.KEY_OPERATOR_INVALID.format(operator=node.function))
        return _read_key_first("begins_with", node.operands[0], node.operands[1:])
    operator = {tree.Or: "OR", tree.Not: "NOT", tree.Membership: "IN"}[type(node)]
    raise RequestFault(say.KEY_OPERATOR_INVALID.format(operator=operator))


def _read_comparison(node: tree.Comparison) -> Term:
    """Compile `key operator value` or `value operator key`."""
    operator, left, right = node
    _check_operands((left, right))
    if isinstance(left, tree.DocumentPath) and isinstance(right, tree.ValueToken):
        return Term(_key_name(left), operator, (right.token,))
    if isinstance(left, tree.ValueToken) and isinstance(right, tree.DocumentPath):
        return Term(_key_name(right), tree.MIRRORED[operator], (left.token,))
    raise RequestFault(say.KEY_NO_ATTRIBUTE)


def _read_key_first(operator: str, first: tree.Operand, others: tuple[tree.Operand, ...]) -> Term:
    """Compile `first BETWEEN … AND …` or `begins_with(first, …)`; `first` must be an attribute."""
    _check_operands((first, *others))
    if not isinstance(first, tree.DocumentPath):
        is_elsewhere = any(isinstance(other, tree.DocumentPath) for other in others)
        raise RequestFault(say.KEY_NOT_FIRST.format(operator=operator) if is_elsewhere else say.KEY_NO_ATTRIBUTE)
    tokens = tuple([other.token for other in others if isinstance(other, tree.ValueToken)])
    return Term(_key_name(first), operator, tokens)


def _check_operands(operands: tuple[tree.Operand, ...]) -> None:
    """Refuse a term of a key condition if an operand is a function or nested path, or if several are attributes."""
    if any(isinstance(operand, tree.FunctionCall) for operand in operands):
        raise RequestFault(say.KEY_NESTED_OPERATION)
    paths = [operand for operand in operands if isinstance(operand, tree.DocumentPath)]
    if any(len(path.elements) > 1 for path in paths):
        raise RequestFault(say.KEY_NESTED_PATH)
    if len(paths) > 1:
        raise RequestFault(say.KEY_TWO_ATTRIBUTES)


def _key_name(path: tree.DocumentPath) -> str:
    return str(path.elements[0])
