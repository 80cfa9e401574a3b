"""Which conditions of a WHERE clause fix or limit a key, and which ranges does a SELECT read for the branches of an OR?
Equalities, IN and OR on key attributes, and ranges of sort keys, split from the others.

Conditions are split by the tree alone, in which tokens such as `?0` stand for values.

A branch of an OR without a condition on the sort key is its whole partition. A branch with a negation of such a
condition, or with two different ones, is no range: then no branches are compared, and a partition that several branches
name is read whole, once. Ranges are made of values, so that parameters are compared like literals. Source: service
behaviour, captures to 23 October 2026.
"""

from collections.abc import Iterable
from typing import NamedTuple

from hashrange.errors import ValidationException
from hashrange.expressions import tree
from hashrange.expressions.keycondition import Term
from hashrange.items.steps import spend
from hashrange.items.types import Value
from hashrange.messages.partiql import RANGE_OVERLAP
from hashrange.tables.open_table import ReadSource
from hashrange.tables.read_spans import KeyTerm, query_span
from hashrange.tables.span import Span


class Branch(NamedTuple):
    """A branch of an OR that fixes a key attribute: tokens of the values, and the branch's other conditions."""

    tokens: tuple[str, ...]
    parts: tuple[tree.ConditionNode, ...]


def take_equalities(parts: list[tree.ConditionNode], name: str) -> list[str]:
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


def take_choices(parts: list[tree.ConditionNode], name: str) -> tuple[str, ...]:
    """Remove from `parts` the first condition `name IN […]`, or OR of equalities; returns the tokens of the values.

    Empty if there is no such condition.
    """
    for position, part in enumerate(parts):
        tokens = _choices(part, name)
        if tokens is not None:
            del parts[position]
            return tokens
    return ()


def find_branches(parts: list[tree.ConditionNode], name: str) -> tuple[int, list[Branch]] | None:
    """Index in `parts` of the first condition that fixes the attribute `name`, and its branches; None if there is none.

    `=` and IN come before OR, and have one branch; an OR has several, of which each must fix the attribute and may have
    other conditions too.
    """
    for position, part in enumerate(parts):
        tokens = _listed_values(part, name)
        if tokens is not None:
            return position, [Branch(tokens, ())]
    for position, part in enumerate(parts):
        branches = _branches(part, name) if isinstance(part, tree.Or) else None
        if branches is not None:
            return position, branches
    return None


def _branches(node: tree.Or, name: str) -> list[Branch] | None:
    """The branches of an OR if each fixes the attribute `name`; else None."""
    branches: list[Branch] = []
    for condition in node.conditions:
        parts = tree.split_conditions(condition)
        found = find_branches(parts, name)
        if found is None:
            return None
        position, inner = found
        rest = (*parts[:position], *parts[position + 1 :])
        branches += [Branch(branch.tokens, branch.parts + rest) for branch in inner]
    return branches


def _equal_value(node: tree.ConditionNode, name: str) -> str | None:
    """The token of the value in `name = value`; None for other conditions."""
    if not isinstance(node, tree.Comparison) or node.operator != "=":
        return None
    return _value_against(node.left, node.right, name) or _value_against(node.right, node.left, name)


def _listed_values(node: tree.ConditionNode, name: str) -> tuple[str, ...] | None:
    """Tokens of the values in `name = value` or `name IN [value, …]`; None for other conditions."""
    if isinstance(node, tree.Membership):
        if not _is_attribute(node.operand, name):
            return None
        tokens = tuple([option.token for option in node.options if isinstance(option, tree.ValueToken)])
        return tokens if len(tokens) == len(node.options) else None
    token = _equal_value(node, name)
    return None if token is None else (token,)


def _choices(node: tree.ConditionNode, name: str) -> tuple[str, ...] | None:
    """Tokens of the values in `name = value`, `name IN [value, …]` or an OR of these; None for other conditions."""
    if not isinstance(node, tree.Or):
        return _listed_values(node, name)
    tokens: list[str] = []
    for condition in node.conditions:
        found = _choices(condition, name)
        if found is None:
            return None
        tokens += found
    return tuple(tokens)


# --- sort keys ------------------------------------------------------------------------------------


def take_sort_term(parts: list[tree.ConditionNode], name: str) -> Term | None:
    """Remove from `parts` and return the first condition on the sort key `name` that a Query allows; None if none."""
    for position, part in enumerate(parts):
        term = _sort_term(part, name)
        if term is not None:
            del parts[position]
            return term
    return None


def sort_ranges(part: tree.ConditionNode, name: str) -> tuple[Term, ...] | None:
    """The ranges that a condition allows for the sort key `name`: one, or for IN and OR several;
    None for other conditions.
    """
    if isinstance(part, tree.Or):
        inner = [sort_ranges(condition, name) for condition in part.conditions]
        return None if None in inner else tuple([term for terms in inner for term in terms or ()])
    tokens = _listed_values(part, name)
    if tokens is not None:
        return tuple([Term(name, "=", (token,)) for token in tokens])
    term = _sort_term(part, name)
    return None if term is None else (term,)


def negates_sort_key(part: tree.ConditionNode, name: str) -> bool:
    """True if a condition is, or contains, a negation of a condition on the sort key `name`: `<>`, or NOT."""
    pending: list[tuple[tree.ConditionNode, bool]] = [(part, False)]
    while pending:
        node, is_negated = pending.pop()
        if isinstance(node, tree.And | tree.Or):
            pending += [(condition, is_negated) for condition in node.conditions]
        elif isinstance(node, tree.Not):
            pending.append((node.condition, True))
        elif _sort_tokens(node, name) and (is_negated or (isinstance(node, tree.Comparison) and node.operator == "<>")):
            return True
    return False


def find_sort_tokens(parts: Iterable[tree.ConditionNode], name: str) -> tuple[str, ...]:
    """Tokens of all values with which conditions in `parts`, at any depth, compare the sort key `name`."""
    tokens: list[str] = []
    pending = list(parts)[::-1]
    while pending:
        node = pending.pop()
        if isinstance(node, tree.And | tree.Or):
            pending.extend(node.conditions[::-1])
        elif isinstance(node, tree.Not):
            pending.append(node.condition)
        else:
            tokens += _sort_tokens(node, name)
    return tuple(tokens)


def _sort_tokens(node: tree.ConditionNode, name: str) -> tuple[str, ...]:
    """Tokens of the values with which one condition, perhaps `<>`, compares the sort key;
    empty for other conditions.
    """
    if isinstance(node, tree.Comparison):
        token = _value_against(node.left, node.right, name) or _value_against(node.right, node.left, name)
        return () if token is None else (token,)
    term = _sort_term(node, name)
    return term.tokens if term is not None else _listed_values(node, name) or ()


def _sort_term(node: tree.ConditionNode, name: str) -> Term | None:
    if isinstance(node, tree.Comparison) and node.operator != "<>":
        token = _value_against(node.left, node.right, name)
        if token is not None:
            return Term(name, node.operator, (token,))
        token = _value_against(node.right, node.left, name)
        return None if token is None else Term(name, tree.MIRRORED[node.operator], (token,))
    if isinstance(node, tree.Between):
        operator, operands = "BETWEEN", tuple(node)
    elif isinstance(node, tree.FunctionCall) and node.function == "begins_with":
        operator, operands = "begins_with", node.operands
    else:
        return None
    tokens = tuple([operand.token for operand in operands[1:] if isinstance(operand, tree.ValueToken)])
    if not _is_attribute(operands[0], name) or len(tokens) < len(operands) - 1:
        return None
    return Term(name, operator, tokens)


def _value_against(one: tree.Operand, other: tree.Operand, name: str) -> str | None:
    """The token of `other`, if that is a value and `one` is the attribute `name`; otherwise None."""
    return other.token if isinstance(other, tree.ValueToken) and _is_attribute(one, name) else None


def _is_attribute(operand: tree.Operand, name: str) -> bool:
    return isinstance(operand, tree.DocumentPath) and operand.elements == (name,)


# --- ranges of the branches of an OR --------------------------------------------------------------


_SPAN_STEPS = 6


class KeyBranch(NamedTuple):
    """A branch of an OR that fixes the partition key: tokens of its values, and what it says about the sort key."""

    partitions: tuple[str, ...]
    ranges: tuple[tuple[Term, ...], ...]
    """For each condition on the sort key that is no negation, the ranges that it allows."""
    is_negated: bool
    """True if a condition on the sort key is a negation."""


def key_branches(branches: list[Branch], outside: list[tree.ConditionNode], sort_name: str) -> tuple[KeyBranch, ...]:
    """The branches of an OR, each with the conditions `outside`, which hold for all of them."""
    found = []
    for tokens, inner in branches:
        parts = [*outside, *inner]
        ranges = [allowed for part in parts if (allowed := sort_ranges(part, sort_name)) is not None]
        is_negated = any(negates_sort_key(part, sort_name) for part in parts)
        found.append(KeyBranch(tokens, tuple(ranges), is_negated))
    return tuple(found)


def branch_spans(
    branches: tuple[KeyBranch, ...],
    values: dict[str, Value],
    partitions: Iterable[Value],
    source: ReadSource,
    *,
    is_reverse: bool,
) -> list[list[KeyTerm] | Span]:
    """What to read for these partition key values, in their order; ranges of one value in the order of keys.

    Key conditions stand for a span that is still to be made. Raises ValidationException if two branches share a key.
    """
    spans: list[list[KeyTerm] | Span] = []
    partition_name = source.keys.partition_names[0]
    fixed_values = [[values[token] for token in branch.partitions] for branch in branches]
    for partition in partitions:
        fixed = KeyTerm(partition_name, "=", (partition,))
        numbers = [number for number, fixed_by_branch in enumerate(fixed_values) if partition in fixed_by_branch]
        if len(numbers) > 1 and not _are_ranges(branches, values):
            spans.append([fixed])
            continue
        terms = [(number, term) for number in numbers for term in _first_condition(branches[number], values)]
        if len(terms) == 1:
            spans.append([fixed, *terms[0][1]])
            continue
        ranges = []
        for number, term in terms:
            spend(_SPAN_STEPS)
            ranges.append((query_span(source, [fixed, *term], is_reverse=is_reverse), number))
        joined = _joined(ranges)
        spans += joined[::-1] if is_reverse else joined
    return spans


def _first_condition(branch: KeyBranch, values: dict[str, Value]) -> list[list[KeyTerm]]:
    """The ranges that the branch's first condition on the sort key allows, or the whole partition without one."""
    return [[valued_term(term, values)] for term in branch.ranges[0]] if branch.ranges else [[]]


def _are_ranges(branches: tuple[KeyBranch, ...], values: dict[str, Value]) -> bool:
    """True if no branch has a negation, or two different conditions, on the sort key."""
    for branch in branches:
        if branch.is_negated:
            return False
        valued = [[valued_term(term, values) for term in terms] for terms in branch.ranges]
        if any(one != valued[0] for one in valued):
            return False
    return True


def _joined(ranges: list[tuple[Span, int]]) -> list[Span]:
    """The ranges of one partition, each with the number of its branch, in ascending order, those joined that overlap.
    Two branches must not overlap.
    """
    joined: list[Span] = []
    last_number = -1
    for span, number in sorted(ranges, key=lambda found: (found[0].lower, found[0].upper)):
        if span.lower >= span.upper:
            continue
        if joined and span.lower < joined[-1].upper:
            if last_number != number:
                raise ValidationException(RANGE_OVERLAP)
            joined[-1] = Span(joined[-1].lower, max(joined[-1].upper, span.upper), span.is_reverse)
        else:
            joined.append(span)
            last_number = number
    return joined


def valued_term(term: Term, values: dict[str, Value]) -> KeyTerm:
    """A key condition with its values."""
    return KeyTerm(term.attribute, term.operator, tuple([values[token] for token in term.tokens]))
