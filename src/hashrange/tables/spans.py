"""Which keys does a Query or Scan read? Key conditions, segments and start keys become a span of keys.

Pure: takes checked values and a table, returns a half-open range. Bounds that exclude a key continue right behind
it. Source: service behaviour, captures to Oct 2026.
"""

from typing import NamedTuple

from hashrange.errors import ValidationException
from hashrange.items.keys import encode_partition, encode_sort, prefix_upper_bound
from hashrange.items.types import Item, Key, Value
from hashrange.messages.reads import (
    KEY_CONDITION_NOT_SUPPORTED,
    KEY_CONDITION_TYPE,
    MISSED_KEY_ELEMENT,
    START_KEY_INVALID,
    START_KEY_OUTSIDE,
    START_KEY_PREDICATE,
    START_KEY_SCHEMA,
    START_KEY_SEGMENT,
    START_KEY_SINGLE_ROW,
    START_KEY_VALUE,
)
from hashrange.tables.keys import check_key_value, lookup_key
from hashrange.tables.schema import KeyType, Table
from hashrange.tables.span import Span

HASH_SPACE = 1 << 64
"""Partition hashes are 8 bytes; a segment of a parallel scan is a range of them."""
_AFTER = b"\x00"
"""Appended to a key: the smallest key behind it."""


class KeyTerm(NamedTuple):
    """One term of a key condition: `attribute operator operands`, operands as values in wire form."""

    attribute: str
    operator: str
    operands: tuple[Value, ...]


def query_span(table: Table, terms: list[KeyTerm], *, is_reverse: bool) -> Span:
    """The keys that satisfy the terms: equality on the partition key, at most one term on the sort key."""
    by_name = {term.attribute: term for term in terms}
    partition = by_name.pop(table.partition_name, None)
    if partition is None:
        raise ValidationException(MISSED_KEY_ELEMENT.format(name=table.partition_name))
    if table.sort_name is None and by_name:
        raise ValidationException(KEY_CONDITION_NOT_SUPPORTED)
    sort = by_name.pop(table.sort_name, None) if table.sort_name is not None else None
    if by_name:
        raise ValidationException(MISSED_KEY_ELEMENT.format(name=table.sort_name))
    if partition.operator != "=":
        raise ValidationException(KEY_CONDITION_NOT_SUPPORTED)

    prefix = encode_partition(table.partition_type, _operand(partition, table.partition_type, 0, is_partition=True))
    if sort is None or table.sort_type is None:
        return Span(prefix, prefix_upper_bound(prefix), is_reverse)
    lower, upper = _sort_bounds(prefix, sort, table.sort_type)
    return Span(lower, max(lower, upper), is_reverse)


def _operand(term: KeyTerm, key_type: KeyType, position: int, *, is_partition: bool) -> str:
    """The scalar of an operand, of the key's type, not empty and not too long."""
    value = term.operands[position]
    scalar: str | None = value.get(key_type)
    if scalar is None:
        raise ValidationException(KEY_CONDITION_TYPE)
    check_key_value(term.attribute, key_type, scalar, is_partition=is_partition)
    return scalar


def _sort_bounds(prefix: bytes, term: KeyTerm, key_type: KeyType) -> tuple[bytes, bytes]:
    """Lower (inclusive) and upper (exclusive) key of a sort key term within one partition key."""
    first = prefix + encode_sort(key_type, _operand(term, key_type, 0, is_partition=False))
    match term.operator:
        case "=":
            return first, first + _AFTER
        case "<":
            return prefix, first
        case "<=":
            return prefix, first + _AFTER
        case ">":
            return first + _AFTER, prefix_upper_bound(prefix)
        case ">=":
            return first, prefix_upper_bound(prefix)
        case "BETWEEN":
            last = prefix + encode_sort(key_type, _operand(term, key_type, 1, is_partition=False))
            return first, last + _AFTER
        case "begins_with":
            return first, prefix_upper_bound(first)
    raise AssertionError(term.operator)


def start_key(table: Table, key_item: Item) -> Key:
    """The key of a Query's ExclusiveStartKey, whose values are checked already."""
    expected_count = 1 if table.sort_name is None else 2
    if len(key_item) != expected_count or table.partition_name not in key_item:
        raise ValidationException(START_KEY_INVALID)
    if table.sort_name is not None and table.sort_name not in key_item:
        raise ValidationException(START_KEY_INVALID)
    if table.partition_type not in key_item[table.partition_name]:
        raise ValidationException(START_KEY_SCHEMA)
    if table.sort_name is not None and table.sort_type not in key_item[table.sort_name]:
        raise ValidationException(START_KEY_SCHEMA)
    return lookup_key(table, key_item)


def scan_start_key(table: Table, key_item: Item) -> Key:
    """The key of a Scan's ExclusiveStartKey, whose values are checked already."""
    try:
        return lookup_key(table, key_item)
    except ValidationException as refusal:
        raise ValidationException(START_KEY_VALUE.format(message=refusal.message)) from None


def narrow(span: Span, start: Key) -> Span:
    """The rest of `span` behind an exclusive start that lies in it, in the span's direction."""
    if span.is_reverse:
        return Span(span.lower, min(span.upper, start), is_reverse=True)
    return Span(max(span.lower, start + _AFTER), span.upper)


def continue_query(table: Table, terms: list[KeyTerm], span: Span, start: Key, start_item: Item) -> Span:
    """The rest of a Query behind its ExclusiveStartKey, or the service's word on why it cannot be one."""
    if not span.lower <= start < span.upper:
        partition = next(term for term in terms if term.attribute == table.partition_name)
        is_same_partition = partition.operands[0] == start_item[table.partition_name]
        if is_same_partition:
            raise ValidationException(START_KEY_PREDICATE)
        sort = next((term for term in terms if term.attribute == table.sort_name), None)
        if sort is not None and sort.operator == "=" and sort.operands[0] == start_item[sort.attribute]:
            raise ValidationException(START_KEY_SINGLE_ROW)
        raise ValidationException(START_KEY_OUTSIDE)
    return narrow(span, start)


def scan_span(segment: int | None, total_segments: int | None) -> Span:
    """All keys, or those of one segment: an equal share of the hash space, whatever is written meanwhile."""
    if segment is None or total_segments is None:
        return Span(b"", b"\xff" * 9)
    lower = segment * HASH_SPACE // total_segments
    upper = (segment + 1) * HASH_SPACE // total_segments
    upper_bytes = b"\xff" * 9 if upper == HASH_SPACE else upper.to_bytes(8, "big")
    return Span(lower.to_bytes(8, "big"), upper_bytes)


def continue_scan(span: Span, start: Key, segment: int | None, total_segments: int | None) -> Span:
    """The rest of a Scan behind its ExclusiveStartKey, which must lie in the segment."""
    if not span.lower <= start < span.upper:
        raise ValidationException(START_KEY_SEGMENT.format(total=total_segments, segment=segment))
    return narrow(span, start)
