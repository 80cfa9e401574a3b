"""Which conditions of a WHERE clause fix or limit a key? Equalities, IN and OR on key attributes, and ranges of sort keys, split from the others.

Works on the condition tree alone, in which tokens such as `?0` stand for values. Source: service behaviour, captures to
Oct 2026.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from hashrange.expressions.keycondition import Term
from hashrange.expressions.tree import (
    And,
    Between,
    Comparison,
    ConditionNode,
    DocumentPath,
    FunctionCall,
    Membership,
    Not,
    Operand,
    Or,
    ValueToken,
)

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Branch(NamedTuple):
    """A branch of an OR that fixes a key attribute: tokens of the values, and the branch's other conditions."""

    tokens: tuple[str, ...]
    parts: tuple[ConditionNode, ...]


def split_conditions(where: ConditionNode | None) -> list[ConditionNode]:
    """The conditions that AND joins, in the order of the text, regardless of parentheses; empty without a WHERE."""
    parts: list[ConditionNode] = []
    pending = [] if where is None else [where]
    while pending:
        node = pending.pop()
        if isinstance(node, And):
            pending.extend(node.conditions[::-1])
        else:
            parts.append(node)
    return parts


def take_equality(parts: list[ConditionNode], name: str) -> str | None:
    """Remove from `parts` the first condition that limits the attribute `name` to one value.

    Returns the value's token; None if there is no such condition.
    """
    for position, part in enumerate(parts):
        tokens = _alternatives(part, name)
        if tokens is not None and len(tokens) == 1:
            del parts[position]
            return tokens[0]
    return None


def take_alternatives(parts: list[ConditionNode], name: str) -> tuple[str, ...] | None:
    """Remove from `parts` the first condition that limits the attribute `name` to listed values.

    Returns the tokens of the values; None if there is no such condition.
    """
    for position, part in enumerate(parts):
        tokens = _alternatives(part, name)
        if tokens is not None:
            del parts[position]
            return tokens
    return None


def find_branches(parts: list[ConditionNode], name: str) -> tuple[int, list[Branch]] | None:
    """Index in `parts` and branches of the first OR of which every branch fixes the attribute `name`; else None.

    A branch may have other conditions too.
    """
    for position, part in enumerate(parts):
        branches = _branches(part, name)
        if branches is not None:
            return position, branches
    return None


def _alternatives(node: ConditionNode, name: str) -> tuple[str, ...] | None:
    """Value tokens of `name = a`, `name IN [a, b]` or an OR of these; None for other conditions."""
    if isinstance(node, Comparison):
        if node.operator != "=":
            return None
        token = _value_against(node.left, node.right, name) or _value_against(node.right, node.left, name)
        return None if token is None else (token,)
    if isinstance(node, Membership):
        if not _is_attribute(node.operand, name):
            return None
        tokens = tuple([option.token for option in node.options if isinstance(option, ValueToken)])
        return tokens if len(tokens) == len(node.options) else None
    if isinstance(node, Or):
        return _join([_alternatives(branch, name) for branch in node.conditions])
    return None


def _branches(node: ConditionNode, name: str) -> list[Branch] | None:
    """The branches of a condition if each fixes the attribute `name`, perhaps among other conditions; else None."""
    if isinstance(node, Or):
        branches: list[Branch] = []
        for condition in node.conditions:
            found = _branches(condition, name)
            if found is None:
                return None
            branches += found
        return branches
    parts = split_conditions(node)
    tokens = take_alternatives(parts, name)
    if tokens is not None:
        return [Branch(tokens, tuple(parts))]
    inner = find_branches(parts, name) if len(parts) > 1 else None
    if inner is None:
        return None
    position, branches = inner
    rest = (*parts[:position], *parts[position + 1 :])
    return [Branch(branch.tokens, branch.parts + rest) for branch in branches]


def _join(branches: list[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """The tokens of all branches in one tuple; None if a branch is None."""
    tokens: list[str] = []
    for branch in branches:
        if branch is None:
            return None
        tokens += branch
    return tuple(tokens)


def take_sort_term(parts: list[ConditionNode], name: str) -> Term | None:
    """Remove from `parts` and return the first condition on the sort key `name` that a Query allows; None if none."""
    for position, part in enumerate(parts):
        term = _sort_term(part, name)
        if term is not None:
            del parts[position]
            return term
    return None


def _sort_term(node: ConditionNode, name: str) -> Term | None:
    if isinstance(node, Comparison) and node.operator != "<>":
        token = _value_against(node.left, node.right, name)
        if token is not None:
            return Term(name, node.operator, (token,))
        token = _value_against(node.right, node.left, name)
        return None if token is None else Term(name, _MIRRORED[node.operator], (token,))
    if isinstance(node, Between):
        operator, operands = "BETWEEN", tuple(node)
    elif isinstance(node, FunctionCall) and node.function == "begins_with":
        operator, operands = "begins_with", node.operands
    else:
        return None
    tokens = tuple([operand.token for operand in operands[1:] if isinstance(operand, ValueToken)])
    if not _is_attribute(operands[0], name) or len(tokens) < len(operands) - 1:
        return None
    return Term(name, operator, tokens)


def count_range_conditions(parts: Iterable[Any], name: str) -> int:
    """Number of conditions in `parts`, at any depth, that compare the sort key `name` with values.

    BETWEEN, IN and begins_with count too; `<>`, other functions and negated conditions do not.
    """
    count = 0
    pending = list(parts)
    while pending:
        node = pending.pop()
        if isinstance(node, And | Or):
            pending.extend(node.conditions)
        elif not isinstance(node, Not):
            count += _sort_term(node, name) is not None or _alternatives(node, name) is not None
    return count


def _value_against(one: Operand, other: Operand, name: str) -> str | None:
    """The token of `other`, if that is a value and `one` is the attribute `name`; otherwise None."""
    return other.token if isinstance(other, ValueToken) and _is_attribute(one, name) else None


def _is_attribute(operand: Operand, name: str) -> bool:
    return isinstance(operand, DocumentPath) and operand.elements == (name,)
