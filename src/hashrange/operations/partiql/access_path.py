"""How does a SELECT read? By a lookup of one item, by ranges of sort keys under one or more partition key
values, or by a scan: its access path.

The access path depends on the statement and the table alone, and is cached with the statement. Order of checks: index →
multi-attribute keys → computed values in SELECT → number of partition key values → ORDER BY → paths into keys →
projection of the index. Key values, branches that overlap, and then the last fault of ORDER BY are checked for each
request (`select_reads.py`). Source: service behaviour, captures to 23 October 2026; the order is partly unconfirmed.

When an index is read, a condition is tested on its entries: attributes that the index does not project count as
missing, even if items are fetched. A read by an index's key may have conditions only on projected attributes, except in
the branches of an OR that fixes the partition key.
"""

from typing import Literal, NamedTuple

from hashrange.errors import IndexNotFound, ValidationException
from hashrange.expressions.condition import CompiledCondition
from hashrange.expressions.keycondition import Term
from hashrange.expressions.partiql.statement import Statement
from hashrange.expressions.projection import CompiledProjection
from hashrange.expressions.tree import split_conditions
from hashrange.limits import STATEMENT_PARTITIONS_MAX
from hashrange.messages import partiql as say
from hashrange.messages.reads import INDEX_BACKFILLING, NOT_PROJECTED, SCAN_OF_VECTOR_INDEX
from hashrange.operations.items.conditions import check_key_paths
from hashrange.operations.partiql.where_keys import (
    KeyBranch,
    find_branches,
    find_sort_tokens,
    key_branches,
    take_choices,
    take_sort_term,
)
from hashrange.tables.open_table import OpenTable, ReadSource


class AccessPath(NamedTuple):
    """How a SELECT reads its table. Tokens stand for values: `Statement.values` returns the value of each token."""

    table: OpenTable
    source: ReadSource
    kind: Literal["lookup", "query", "scan"]
    is_one_span: bool
    """True if one partition key value and `sort_term` are all that WHERE says of the key: one span."""
    partitions: tuple[str, ...]
    """Tokens (names in `Statement.values`) of the values that WHERE allows for the partition key; empty for a scan."""
    sort_tokens: tuple[str, ...]
    """Tokens of all values that WHERE compares with the sort key; empty for a scan."""
    branches: tuple[KeyBranch, ...]
    """The branches of an OR that fixes the partition key; empty without one, or without a sort key."""
    sort_term: Term | None
    sort_choices: tuple[str, ...]
    """Tokens (names in `Statement.values`) of the values in `sort key IN […]`; empty without it, and for a scan."""
    partition_order: Literal["written", "ascending", "descending"]
    is_reverse: bool
    lacks_partition_order: bool
    """True if ORDER BY does not begin with the partition key, of which WHERE allows several values: a fault."""
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
        raise ValidationException(say.MULTI_ATTRIBUTE_KEYS)
    if statement.projection_fault is not None:
        raise statement.projection_fault
    partition_name = keys.partition_names[0]
    sort_name = keys.sort_names[0] if keys.sort_names else None
    parts = split_conditions(statement.where)
    position, branches = find_branches(parts, partition_name) or (0, [])
    outside = [*parts[:position], *parts[position + 1 :]] if branches else parts
    if not any(branch.parts for branch in branches):
        parts = outside.copy()
    partitions = tuple([token for branch in branches for token in branch.tokens])
    if len(partitions) > STATEMENT_PARTITIONS_MAX:
        raise ValidationException(say.MEMBERS_COUNT.format(count=len(partitions)))
    order = _order(statement, source, partitions)

    sort_term: Term | None = None
    sort_choices: tuple[str, ...] = ()
    sort_tokens: tuple[str, ...] = ()
    ranges: tuple[KeyBranch, ...] = ()
    if partitions and sort_name is not None:
        sort_tokens = find_sort_tokens([*outside, *[part for branch in branches for part in branch.parts]], sort_name)
        if len(branches) > 1:
            ranges = key_branches(branches, outside, sort_name)
        else:
            sort_term = take_sort_term(parts, sort_name)
            sort_choices = take_choices(parts, sort_name) if sort_term is None else ()
    condition = statement.condition(parts)
    if condition is not None:
        check_key_paths(table, condition.nested_attributes)
    if statement.projection is not None:
        check_key_paths(table, statement.projection.nested_attributes)

    tested = statement.condition(outside) if partitions and source.index is not None else None
    fetches_items = _fetches_items(source, statement.projection, tested)
    if condition is not None and fetches_items:
        condition = _of_entries(condition, source.projected_names or frozenset())
    is_whole = bool(partitions) and (sort_name is None or (sort_term is not None and sort_term.operator == "="))
    is_lookup = source.index is None and len(partitions) == 1 and is_whole
    spanned = () if sort_term is None else sort_term.tokens
    return AccessPath(
        table,
        source,
        "lookup" if is_lookup else "query" if partitions else "scan",
        len(partitions) == 1 and sort_tokens == spanned,
        partitions,
        sort_tokens,
        ranges,
        sort_term,
        sort_choices,
        *order,
        condition,
        statement.projection,
        fetches_items,
        source.index is not None and source.index.is_global,
    )


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
        if index_name is not None and table.vector_source(index_name) is not None:
            raise ValidationException(SCAN_OF_VECTOR_INDEX)
        raise IndexNotFound(say.INDEX_NOT_FOUND)
    if source.index is not None and source.index.state == "CREATING":
        raise ValidationException(INDEX_BACKFILLING.format(index=source.index.name))
    return source


def _order(
    statement: Statement, source: ReadSource, partitions: tuple[str, ...]
) -> tuple[Literal["written", "ascending", "descending"], bool, bool]:
    """The order in which partition key values are read, whether their items are read in reverse, and whether ORDER BY
    lacks the partition key.
    """
    if not statement.order:
        return "written", False, False
    if statement.where is None:
        raise ValidationException(say.ORDER_WITHOUT_WHERE)
    names = source.keys.names
    for key in statement.order:
        if key.name not in names:
            raise ValidationException(say.ORDER_NOT_KEY.format(name=key.name))
    if not partitions:
        raise ValidationException(say.ORDER_WITHOUT_HASH)
    partition_name = source.keys.partition_names[0]
    descending = {key.name: key.is_descending for key in reversed(statement.order)}
    is_reverse = any(descending.get(name, False) for name in source.keys.sort_names)
    if len(partitions) == 1 and partition_name not in descending:
        return "written", is_reverse, False
    if statement.order[0].name != partition_name and len(partitions) > 1:
        return "written", is_reverse, True
    return "descending" if descending[partition_name] else "ascending", is_reverse, False


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
        raise ValidationException(say.FILTER_NOT_PROJECTED.format(index=index.name, names=names))
    return fetches_items
