"""Which conditions of a WHERE clause fix or limit a key? Equalities, IN and OR on key attributes,
and ranges of sort keys, split from the others.

Works on the condition tree alone, in which tokens such as `?0` stand for values. Source: service behaviour, captures to
23 October 2026.
"""

from collections.abc import Iterable
from typing import NamedTuple

from hashrange.expressions.keycondition import Term
from hashrange.expressions.tree import (
    MIRRORED,
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
    split_conditions,
)


class Branch(NamedTuple):
    """A branch of an OR that fixes a key attribute: tokens of the values, and the branch's other conditions."""

    tokens: tuple[str, ...]
    parts: tuple[ConditionNode, ...]


def take_equalities(parts: list[ConditionNode], name: str) -> list[str]:
    """Remove from `parts` all conditions `name = value`; returns the tokens of their values."""
    tokens = []
    others = []
    for part in parts:
        token = _equal_value(part, name)
        if token is None:
            others.append(part)
        else:
            tokens.append(token)
    parts[:] = others
    return tokens


def take_choices(parts: list[ConditionNode], name: str) -> tuple[str, ...]:
    """Remove from `parts` the first condition `name IN […]`, or OR of equalities; returns the tokens of the values.

    Empty if there is no such condition.
    """
    for position, part in enumerate(parts):
        tokens = _choices(part, name)
        if tokens is not None:
            del parts[position]
            return tokens
    return ()


def find_branches(parts: list[ConditionNode], name: str) -> tuple[int, list[Branch]] | None:
    """Index in `parts` of the first condition that fixes the attribute `name`, and its branches; None if there is none.

    `=` and IN come before OR, and have one branch; an OR has several, of which each must fix the attribute and may have
    other conditions too.
    """
    for position, part in enumerate(parts):
        tokens = _listed_values(part, name)
        if tokens is not None:
            return position, [Branch(tokens, ())]
    for position, part in enumerate(parts):
        branches = _branches(part, name) if isinstance(part, Or) else None
        if branches is not None:
            return position, branches
    return None


def _branches(node: Or, name: str) -> list[Branch] | None:
    """The branches of an OR if each fixes the attribute `name`; else None."""
    branches: list[Branch] = []
    for condition in node.conditions:
        parts = split_conditions(condition)
        found = find_branches(parts, name)
        if found is None:
            return None
        position, inner = found
        rest = (*parts[:position], *parts[position + 1 :])
        branches += [Branch(branch.tokens, branch.parts + rest) for branch in inner]
    return branches


def _equal_value(node: ConditionNode, name: str) -> str | None:
    """The token of the value in `name = value`; None for other conditions."""
    if not isinstance(node, Comparison) or node.operator != "=":
        return None
    return _value_against(node.left, node.right, name) or _value_against(node.right, node.left, name)


def _listed_values(node: ConditionNode, name: str) -> tuple[str, ...] | None:
    """Tokens of the values in `name = value` or `name IN [value, …]`; None for other conditions."""
    if isinstance(node, Membership):
        if not _is_attribute(node.operand, name):
            return None
        tokens = tuple([option.token for option in node.options if isinstance(option, ValueToken)])
        return tokens if len(tokens) == len(node.options) else None
    token = _equal_value(node, name)
    return None if token is None else (token,)


def _choices(node: ConditionNode, name: str) -> tuple[str, ...] | None:
    """Tokens of the values in `name = value`, `name IN [value, …]` or an OR of these; None for other conditions."""
    if not isinstance(node, Or):
        return _listed_values(node, name)
    tokens: list[str] = []
    for condition in node.conditions:
        found = _choices(condition, name)
        if found is None:
            return None
        tokens += found
    return tuple(tokens)


# --- sort keys ------------------------------------------------------------------------------------


def take_sort_term(parts: list[ConditionNode], name: str) -> Term | None:
    """Remove from `parts` and return the first condition on the sort key `name` that a Query allows; None if none."""
    for position, part in enumerate(parts):
        term = _sort_term(part, name)
        if term is not None:
            del parts[position]
            return term
    return None


def sort_ranges(part: ConditionNode, name: str) -> tuple[Term, ...] | None:
    """The ranges that a condition allows for the sort key `name`: one, or for IN and OR several;
    None for other conditions.
    """
    if isinstance(part, Or):
        inner = [sort_ranges(condition, name) for condition in part.conditions]
        return None if None in inner else tuple([term for terms in inner for term in terms or ()])
    tokens = _listed_values(part, name)
    if tokens is not None:
        return tuple([Term(name, "=", (token,)) for token in tokens])
    term = _sort_term(part, name)
    return None if term is None else (term,)


def negates_sort_key(part: ConditionNode, name: str) -> bool:
    """True if a condition is, or contains, a negation of a condition on the sort key `name`: `<>`, or NOT."""
    pending: list[tuple[ConditionNode, bool]] = [(part, False)]
    while pending:
        node, is_negated = pending.pop()
        if isinstance(node, And | Or):
            pending += [(condition, is_negated) for condition in node.conditions]
        elif isinstance(node, Not):
            pending.append((node.condition, True))
        elif _sort_tokens(node, name) and (is_negated or (isinstance(node, Comparison) and node.operator == "<>")):
            return True
    return False


def find_sort_tokens(parts: Iterable[ConditionNode], name: str) -> tuple[str, ...]:
    """Tokens of all values with which conditions in `parts`, at any depth, compare the sort key `name`."""
    tokens: list[str] = []
    pending = list(parts)[::-1]
    while pending:
        node = pending.pop()
        if isinstance(node, And | Or):
            pending.extend(node.conditions[::-1])
        elif isinstance(node, Not):
            pending.append(node.condition)
        else:
            tokens += _sort_tokens(node, name)
    return tuple(tokens)


def _sort_tokens(node: ConditionNode, name: str) -> tuple[str, ...]:
    """Tokens of the values with which one condition, perhaps `<>`, compares the sort key;
    empty for other conditions.
    """
    if isinstance(node, Comparison):
        token = _value_against(node.left, node.right, name) or _value_against(node.right, node.left, name)
        return () if token is None else (token,)
    term = _sort_term(node, name)
    return term.tokens if term is not None else _listed_values(node, name) or ()


def _sort_term(node: ConditionNode, name: str) -> Term | None:
    if isinstance(node, Comparison) and node.operator != "<>":
        token = _value_against(node.left, node.right, name)
        if token is not None:
            return Term(name, node.operator, (token,))
        token = _value_against(node.right, node.left, name)
        return None if token is None else Term(name, MIRRORED[node.operator], (token,))
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


def _value_against(one: Operand, other: Operand, name: str) -> str | None:
    """The token of `other`, if that is a value and `one` is the attribute `name`; otherwise None."""
    return other.token if isinstance(other, ValueToken) and _is_attribute(one, name) else None


def _is_attribute(operand: Operand, name: str) -> bool:
    return isinstance(operand, DocumentPath) and operand.elements == (name,)
