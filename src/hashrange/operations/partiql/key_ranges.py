"""Which ranges of keys do the branches of an OR read? Those of their sort key conditions;
no two branches may share a key.

A branch without a condition on the sort key is its whole partition. A branch with a negation of such a condition, or
with two different ones, is no range: then no branches are compared, and a partition that several branches name is read
whole, once. Values are known here, so that parameters are compared like literals. Source:
service behaviour, captures to 23 October 2026.
"""

from collections.abc import Iterable
from typing import NamedTuple

from hashrange.errors import ValidationException
from hashrange.expressions.keycondition import Term
from hashrange.expressions.tree import ConditionNode
from hashrange.items.steps import spend
from hashrange.items.types import Value
from hashrange.messages.partiql import RANGE_OVERLAP
from hashrange.operations.partiql.where_keys import Branch, negates_sort_key, sort_ranges
from hashrange.tables.open_table import ReadSource
from hashrange.tables.read_spans import KeyTerm, query_span
from hashrange.tables.span import Span

_SPAN_STEPS = 6


class KeyBranch(NamedTuple):
    """A branch of an OR that fixes the partition key: tokens of its values, and what it says about the sort key."""

    partitions: tuple[str, ...]
    ranges: tuple[tuple[Term, ...], ...]
    """For each condition on the sort key that is no negation, the ranges that it allows."""
    is_negated: bool
    """True if a condition on the sort key is a negation."""


class _Range(NamedTuple):
    """A range of keys that a branch of an OR reads."""

    span: Span
    number: int
    """Which branch it is."""


def key_branches(branches: list[Branch], outside: list[ConditionNode], sort_name: str) -> tuple[KeyBranch, ...]:
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
            ranges.append(_Range(query_span(source, [fixed, *term], is_reverse=is_reverse), number))
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


def _joined(ranges: list[_Range]) -> list[Span]:
    """The ranges of one partition in ascending order, those joined that overlap. Two branches must not overlap."""
    joined: list[_Range] = []
    for one in sorted(ranges, key=lambda found: (found.span.lower, found.span.upper)):
        span = one.span
        if span.lower >= span.upper:
            continue
        if joined and span.lower < joined[-1].span.upper:
            last = joined[-1]
            if last.number != one.number:
                raise ValidationException(RANGE_OVERLAP)
            joined[-1] = _Range(Span(last.span.lower, max(last.span.upper, span.upper), span.is_reverse), one.number)
        else:
            joined.append(one)
    return [one.span for one in joined]


def valued_term(term: Term, values: dict[str, Value]) -> KeyTerm:
    """A key condition with its values."""
    return KeyTerm(term.attribute, term.operator, tuple([values[token] for token in term.tokens]))
