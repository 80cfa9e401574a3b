"""Which read does a SELECT come to? A lookup of one item, the spans of one or more partition keys, or a Scan.

Worked out from the statement and the table alone, once for both, and kept with the statement. Order of checks: index → multi-attribute
keys → paths into keys → ORDER BY → sort key conditions → projection of the index. Source: service behaviour, captures to Oct
2026; the order is unconfirmed.
"""

from typing import Literal, NamedTuple

from hashrange.errors import ValidationException
from hashrange.expressions.condition import Condition
from hashrange.expressions.keycondition import Term
from hashrange.expressions.partiql.statement import Statement
from hashrange.expressions.projection import Projection, project_attributes
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
from hashrange.operations.partiql.keys import (
    count_range_conditions,
    split_conditions,
    take_alternatives,
    take_sort_term,
)
from hashrange.tables.open_table import OpenTable, ReadSource

NOTHING = Condition("", lambda _item, _values: False, paths=[])
"""Fits no item."""


class ReadPlan(NamedTuple):
    """What a SELECT reads of its table, values left open as tokens."""

    source: ReadSource
    kind: Literal["lookup", "query", "scan"]
    partitions: tuple[str, ...]
    """Tokens of the partition key values; none for a scan."""
    sort_term: Term | None
    sort_choices: tuple[str, ...]
    """Tokens of `sort key IN […]`."""
    partition_order: Literal["written", "ascending", "descending"]
    is_reverse: bool
    condition: Condition | None
    projection: Projection | None
    fetches_items: bool
    is_global: bool
    """True for a global index, which knows no consistent reads."""


def plan_read(table: OpenTable, statement: Statement) -> ReadPlan:
    """The read; raises ValidationException for a statement that its table does not fit."""
    source = _source(table, statement.index_name)
    keys = source.keys
    if len(keys.partition_names) > 1 or len(keys.sort_names) > 1:
        raise ValidationException(MULTI_ATTRIBUTE_KEYS)
    partition_name = keys.partition_names[0]
    sort_name = keys.sort_names[0] if keys.sort_names else None
    parts = split_conditions(statement.where)
    has_filter = statement.where is not None
    partitions = take_alternatives(parts, partition_name) or ()
    if len(partitions) > STATEMENT_PARTITIONS_MAX:
        raise ValidationException(OPERAND_COUNT.format(operator="IN", count=len(partitions)))
    partition_order, is_reverse = _order(statement, source, partitions, has_filter=has_filter)

    sort_term: Term | None = None
    sort_choices: tuple[str, ...] = ()
    if partitions and sort_name is not None:
        if count_range_conditions(parts, sort_name) > 1:
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
    fetches_items = _fetches_items(source, projection, condition, is_keyed=bool(partitions))
    if condition is not None and not fetches_items and not _carries(source, condition):
        condition = NOTHING
    if fetches_items and projection is None:  # a filter does not widen what is returned
        projection = project_attributes(sorted(source.projected_names or ()))
    is_whole = bool(partitions) and (sort_name is None or (sort_term is not None and sort_term.operator == "="))
    is_lookup = source.index is None and len(partitions) == 1 and is_whole
    return ReadPlan(
        source,
        "lookup" if is_lookup else "query" if partitions else "scan",
        partitions,
        sort_term,
        sort_choices,
        partition_order,
        is_reverse,
        condition,
        projection,
        fetches_items,
        source.index is not None and source.index.is_global,
    )


def _carries(source: ReadSource, condition: Condition) -> bool:
    """Has what is read all that a condition asks for?"""
    return source.projected_names is None or source.index is None or condition.attributes <= source.projected_names


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
    """In which order partitions are read, and whether their items are read backwards."""
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


def _fetches_items(
    source: ReadSource, projection: Projection | None, condition: Condition | None, *, is_keyed: bool
) -> bool:
    """Does the read of an index need more than its entries carry? A local one fetches the items, a global one refuses.

    A condition on what a global index lacks holds for nothing where all of it is read.
    """
    index, projected = source.index, source.projected_names
    if index is None or projected is None:
        return False
    wanted = frozenset() if projection is None else projection.attributes
    tested = frozenset() if condition is None else condition.attributes
    if not index.is_global:
        return not (wanted | tested) <= projected
    if not wanted <= projected:
        raise ValidationException(NOT_PROJECTED.format(index=index.name, names=", ".join(sorted(wanted - projected))))
    if is_keyed and not tested <= projected:
        names = ", ".join(sorted(tested - projected))
        raise ValidationException(FILTER_NOT_PROJECTED.format(index=index.name, names=names))
    return False
