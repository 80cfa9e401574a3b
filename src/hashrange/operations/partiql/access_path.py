"""How does a SELECT read? By a lookup of one item, by ranges of sort keys under one or more partition key values, or by a scan: its access path.

The access path depends on the statement and the table alone, and is cached with the statement. Order of checks: index →
multi-attribute keys → computed values in SELECT → number of partition key values → ORDER BY → sort key conditions →
paths into keys → projection of the index. Source: service behaviour, captures to Oct 2026; the order is unconfirmed.

When an index is read, a condition is tested on its entries: attributes that the index does not project count as
missing, even if items are fetched. A read by an index's key may have conditions only on projected attributes, except in
the branches of an OR that fixes the partition key.
"""

from typing import Literal, NamedTuple

from hashrange.errors import ValidationException
from hashrange.expressions.condition import CompiledCondition
from hashrange.expressions.keycondition import Term
from hashrange.expressions.partiql.statement import Statement
from hashrange.expressions.projection import CompiledProjection
from hashrange.limits import STATEMENT_PARTITIONS_MAX
from hashrange.messages.expressions import OPERAND_COUNT
from hashrange.messages.partiql import (
    FILTER_NOT_PROJECTED,
    INDEX_NOT_FOUND,
    MULTI_ATTRIBUTE_KEYS,
    ORDER_HASH_FIRST,
    ORDER_NOT_KEY,
    ORDER_WITHOUT_HASH,
    ORDER_WITHOUT_WHERE,
    RANGE_OVERLAP,
)
from hashrange.messages.reads import INDEX_BACKFILLING, NOT_PROJECTED
from hashrange.operations.items.conditions import check_key_paths
from hashrange.operations.partiql.where_keys import (
    Branch,
    count_range_conditions,
    find_branches,
    split_conditions,
    take_alternatives,
    take_sort_term,
)
from hashrange.tables.open_table import OpenTable, ReadSource


class KeyBranch(NamedTuple):
    """A partition key value (its token in `Statement.values`) in a branch of an OR, with the number and sort key
    condition of the branch.

    `has_range`: the branch has a condition that `count_range_conditions` counts, perhaps one that no Query allows (IN).
    """

    number: int
    partition: str
    has_range: bool
    sort_term: Term | None


class AccessPath(NamedTuple):
    """How a SELECT reads its table. Tokens stand for values: `Statement.values` returns the value of each token."""

    table: OpenTable
    source: ReadSource
    kind: Literal["lookup", "query", "scan"]
    partitions: tuple[str, ...]
    """Tokens (names in `Statement.values`) of the values that WHERE allows for the partition key; empty for a scan."""
    branches: tuple[KeyBranch, ...]
    """If an OR fixes the partition key and some branch has other conditions too: a KeyBranch for each partition key
    value. Otherwise empty. Branches with the same value are refused if one of them has a condition on the sort key."""
    sort_term: Term | None
    sort_choices: tuple[str, ...]
    """Tokens (names in `Statement.values`) of the values in `sort key IN […]`; empty without it, and for a scan."""
    partition_order: Literal["written", "ascending", "descending"]
    is_reverse: bool
    condition: CompiledCondition | None
    projection: CompiledProjection | None
    fetches_items: bool
    is_global: bool
    """True for a global index, which allows no strongly consistent reads."""


def choose_access_path(table: OpenTable, statement: Statement) -> AccessPath:
    """The access path of a SELECT; raises ValidationException if the statement does not fit the table."""
    source = _source(table, statement.index_name)
    keys = source.keys
    if len(keys.partition_names) > 1 or len(keys.sort_names) > 1:
        raise ValidationException(MULTI_ATTRIBUTE_KEYS)
    if statement.projection_fault is not None:
        raise statement.projection_fault
    partition_name = keys.partition_names[0]
    sort_name = keys.sort_names[0] if keys.sort_names else None
    parts = split_conditions(statement.where)
    has_filter = statement.where is not None
    partitions = take_alternatives(parts, partition_name) or ()
    branches: list[Branch] = []
    outside = parts
    if not partitions:
        position, branches = find_branches(parts, partition_name) or (0, [])
        outside = [*parts[:position], *parts[position + 1 :]] if branches else parts
        partitions = tuple([token for branch in branches for token in branch.tokens])
    if len(partitions) > STATEMENT_PARTITIONS_MAX:
        raise ValidationException(OPERAND_COUNT.format(operator="IN", count=len(partitions)))
    partition_order, is_reverse = _order(statement, source, partitions, has_filter=has_filter)

    sort_term: Term | None = None
    sort_choices: tuple[str, ...] = ()
    if partitions and sort_name is not None:
        for branch in branches or [Branch(partitions, ())]:
            if count_range_conditions([*outside, *branch.parts], sort_name) > 1:
                raise ValidationException(RANGE_OVERLAP)
        sort_term = take_sort_term(parts, sort_name)
        if sort_term is None:
            sort_choices = take_alternatives(parts, sort_name) or ()
    condition = statement.condition(parts)
    if condition is not None:
        check_key_paths(table, condition.nested_attributes)
    if statement.projection is not None:
        check_key_paths(table, statement.projection.nested_attributes)

    projection = statement.projection
    tested = (condition if outside is parts else statement.condition(outside)) if partitions else None
    fetches_items = _fetches_items(source, projection, tested)
    if condition is not None and fetches_items:
        condition = _of_entries(condition, source.projected_names or frozenset())
    is_whole = bool(partitions) and (sort_name is None or (sort_term is not None and sort_term.operator == "="))
    is_lookup = source.index is None and len(partitions) == 1 and is_whole
    return AccessPath(
        table,
        source,
        "lookup" if is_lookup else "query" if partitions else "scan",
        partitions,
        _key_branches(branches, sort_name),
        sort_term,
        sort_choices,
        partition_order,
        is_reverse,
        condition,
        projection,
        fetches_items,
        source.index is not None and source.index.is_global,
    )


def _key_branches(branches: list[Branch], sort_name: str | None) -> tuple[KeyBranch, ...]:
    """One KeyBranch for each partition key value of the branches."""
    found = []
    for number, (tokens, parts) in enumerate(branches):
        sort_term = None if sort_name is None else take_sort_term(list(parts), sort_name)
        has_range = sort_name is not None and count_range_conditions(parts, sort_name) > 0
        found += [KeyBranch(number, token, has_range, sort_term) for token in tokens]
    return tuple(found)


def _of_entries(condition: CompiledCondition, projected: frozenset[str]) -> CompiledCondition:
    """`condition`, tested only on the attributes of a fetched item that the index projects."""
    test = condition.test
    return CompiledCondition(
        "",
        lambda item, values: test({name: value for name, value in item.items() if name in projected}, values),
        paths=[(name,) for name in condition.attributes],
    )


def _source(table: OpenTable, index_name: str | None) -> ReadSource:
    source = table.read_source(index_name)
    if source is None:
        raise ValidationException(INDEX_NOT_FOUND)
    if source.index is not None and source.index.state == "CREATING":
        raise ValidationException(INDEX_BACKFILLING.format(index=source.index.name))
    return source


def _order(
    statement: Statement, source: ReadSource, partitions: tuple[str, ...], *, has_filter: bool
) -> tuple[Literal["written", "ascending", "descending"], bool]:
    """The order in which partition key values are read, and whether their items are read in reverse."""
    if not statement.order:
        return "written", False
    if not has_filter:
        raise ValidationException(ORDER_WITHOUT_WHERE)
    names = source.keys.partition_names + source.keys.sort_names
    for key in statement.order:
        if key.name not in names:
            raise ValidationException(ORDER_NOT_KEY.format(name=key.name))
    if not partitions:
        raise ValidationException(ORDER_WITHOUT_HASH)
    partition_name = source.keys.partition_names[0]
    descending = {key.name: key.is_descending for key in reversed(statement.order)}
    is_reverse = any(descending.get(name, False) for name in source.keys.sort_names)
    if len(partitions) == 1 and partition_name not in descending:
        return "written", is_reverse
    if statement.order[0].name != partition_name and len(partitions) > 1:
        raise ValidationException(ORDER_HASH_FIRST)
    return "descending" if descending[partition_name] else "ascending", is_reverse


def _fetches_items(source: ReadSource, projection: CompiledProjection | None, tested: CompiledCondition | None) -> bool:
    """True if a local index's entries lack attributes of the SELECT's projection, so that items are fetched.

    Raises ValidationException if a global index's entries lack them, or if an index's entries lack attributes of
    `tested`: the conditions of a read by key other than those that fix the key (None: none).
    """
    index, projected = source.index, source.projected_names
    if index is None or projected is None:
        return False
    wanted = frozenset() if projection is None else projection.attributes
    fetches_items = not wanted <= projected
    if fetches_items and index.is_global:
        raise ValidationException(NOT_PROJECTED.format(index=index.name, names=", ".join(sorted(wanted - projected))))
    if tested is not None and not tested.attributes <= projected:
        names = ", ".join(sorted(tested.attributes - projected))
        raise ValidationException(FILTER_NOT_PROJECTED.format(index=index.name, names=names))
    return fetches_items
