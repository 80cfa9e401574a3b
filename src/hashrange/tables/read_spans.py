"""Which keys does a Query or Scan read? A span of keys, made from key conditions or a segment;
a start key narrows the span, or is refused if outside it.

Pure functions from checked values and a source to a half-open range. The encoding of a sort key value marks its own
end, so keys that agree in the partition key and the first sort key attributes share a prefix. Each bound that key
conditions give is such a prefix (for begins_with, with part of a value), or the smallest bytes above all keys with it.
Source: service behaviour, captures to Oct 2026.
"""

import msgspec

from hashrange.errors import ValidationException
from hashrange.items.keys import encode_component, encode_partition_key, encode_prefix, prefix_upper_bound
from hashrange.items.types import Item, Key, Value
from hashrange.messages import reads as say
from hashrange.tables.entry_keys import partition_bytes
from hashrange.tables.index_keys import check_scan_start_types
from hashrange.tables.keys import check_key_value
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.partitions import HASH_SPACE, WHOLE, HashRange
from hashrange.tables.schema import KeySchema, KeyType
from hashrange.tables.source_id import HASH_BYTES
from hashrange.tables.span import Span

_AFTER = b"\x00"
"""Appended to a key, this byte gives the smallest greater key."""


class KeyTerm(msgspec.Struct, frozen=True, gc=False):
    """One term of a key condition: `attribute operator operands`, operands as values in wire form."""

    attribute: str
    operator: str
    operands: tuple[Value, ...]


def query_span(source: ReadSource, terms: list[KeyTerm], *, is_reverse: bool) -> Span:
    """The span of keys that satisfy the terms: all partition key attributes equal, then sort keys left to right.

    Raises ValidationException for terms that do not fit the source's keys.
    """
    keys = source.keys
    if (
        len(terms) == 1 == len(keys.partition_names)
        and terms[0].operator == "="
        and terms[0].attribute == keys.partition_names[0]
    ):
        key_type = keys.partition_types[0]
        prefix = encode_partition_key(key_type, _operand(terms[0], key_type, 0, is_partition=True))
        return Span(prefix, prefix_upper_bound(prefix), is_reverse)
    by_name = {term.attribute: term for term in terms}
    scalars = []
    for name, key_type in zip(keys.partition_names, keys.partition_types, strict=True):
        term = by_name.pop(name, None)
        if term is None:
            raise ValidationException(say.MISSED_KEY_ELEMENT.format(name=name))
        if term.operator != "=" or (not keys.sort_names and len(terms) > len(keys.partition_names)):
            raise ValidationException(say.KEY_CONDITION_NOT_SUPPORTED)
        scalars.append(_operand(term, key_type, 0, is_partition=True))
    prefix = partition_bytes(keys, scalars)
    if not by_name:
        return Span(prefix, prefix_upper_bound(prefix), is_reverse)
    lower, upper = _sort_bounds(prefix, keys, by_name)
    return Span(lower, max(lower, upper), is_reverse)


def _sort_bounds(prefix: bytes, keys: KeySchema, by_name: dict[str, KeyTerm]) -> tuple[bytes, bytes]:
    """Lower (inclusive) and upper (exclusive) key of the sort key terms within one partition key."""
    for name in keys.sort_names:
        if name not in by_name:
            break
    else:
        name = keys.sort_names[-1]
    if any(term not in keys.sort_names for term in by_name):
        raise ValidationException(say.MISSED_KEY_ELEMENT.format(name=name))
    _check_left_to_right(keys, by_name)
    last = len(by_name) - 1
    for position, (name, key_type) in enumerate(zip(keys.sort_names, keys.sort_types, strict=True)):
        term = by_name[name]
        if position == last:
            return _term_bounds(prefix, term, key_type)
        prefix += encode_component(key_type, _operand(term, key_type, 0, is_partition=False))
    raise AssertionError(by_name)


def _check_left_to_right(keys: KeySchema, by_name: dict[str, KeyTerm]) -> None:
    """Refuse a condition on a sort key attribute unless all sort key attributes before it have equality conditions."""
    loose: list[str] = []
    for name in keys.sort_names:
        term = by_name.get(name)
        if term is not None and loose:
            raise ValidationException(say.SORT_KEYS_LEFT_TO_RIGHT.format(names=", ".join(loose), later=name))
        if term is None or term.operator != "=":
            loose.append(name)


def _operand(term: KeyTerm, key_type: KeyType, position: int, *, is_partition: bool) -> str:
    """The scalar of operand number `position`. Raises ValidationException if of another type, empty or too long."""
    scalar: str | None = term.operands[position].get(key_type)
    if scalar is None:
        raise ValidationException(say.KEY_CONDITION_TYPE)
    check_key_value(term.attribute, key_type, scalar, is_partition=is_partition)
    return scalar


def _term_bounds(prefix: bytes, term: KeyTerm, key_type: KeyType) -> tuple[bytes, bytes]:
    """Lower (inclusive) and upper (exclusive) key of one term on a sort key attribute."""
    scalar = _operand(term, key_type, 0, is_partition=False)
    if term.operator == "begins_with":
        first = prefix + encode_prefix(key_type, scalar)
        return first, prefix_upper_bound(first)
    first = prefix + encode_component(key_type, scalar)
    match term.operator:
        case "=":
            return first, prefix_upper_bound(first)
        case "<":
            return prefix, first
        case "<=":
            return prefix, prefix_upper_bound(first)
        case ">":
            return prefix_upper_bound(first), prefix_upper_bound(prefix)
        case ">=":
            return first, prefix_upper_bound(prefix)
        case "BETWEEN":
            last = prefix + encode_component(key_type, _operand(term, key_type, 1, is_partition=False))
            return first, prefix_upper_bound(last)
    raise AssertionError(term.operator)


def start_key(table: OpenTable, source: ReadSource, start_item: Item) -> Key:
    """The key of a Query's ExclusiveStartKey, whose values are already checked.

    Raises ValidationException unless it has exactly the key attributes of the table and the index, in their types,
    none of them empty or too long.
    """
    if not _is_start_key(table, source, start_item):
        raise ValidationException(say.START_KEY_INVALID)
    return _start_key_bytes(table, source, start_item)


def scan_start_key(table: OpenTable, source: ReadSource, start_item: Item) -> Key:
    """The key of a Scan's ExclusiveStartKey, as `start_key` makes it.

    A wrong type has a message of its own if the table has indexes. For a value that is empty or too long,
    the message has the prefix START_KEY_VALUE.
    """
    if not _is_start_key(table, source, start_item):
        check_scan_start_types(table, source, start_item)
        raise ValidationException(say.START_KEY_INVALID)
    try:
        return _start_key_bytes(table, source, start_item)
    except ValidationException as refusal:
        raise ValidationException(say.START_KEY_VALUE.format(message=refusal.message)) from None


def _is_start_key(table: OpenTable, source: ReadSource, start_item: Item) -> bool:
    """True if a start key has exactly the key attributes of table and index, in their types."""
    types = table.schema.attribute_types
    names = source.start_key_names
    if len(start_item) != len(names):
        return False
    for name in names:  # noqa: SIM110 - `all` with a generator takes twice the time
        if name not in start_item or types[name] not in start_item[name]:
            return False
    return True


def _start_key_bytes(table: OpenTable, source: ReadSource, start_item: Item) -> Key:
    if source.entry_key is None:
        return table.lookup_key(start_item)
    item_key = table.lookup_key({name: start_item[name] for name in table.keys.names if name in start_item})
    key = source.entry_key(start_item, item_key)
    if key is None:
        _check_index_key_values(source.keys, start_item)
        raise ValidationException(say.START_KEY_INVALID)
    return key


def _check_index_key_values(keys: KeySchema, start_item: Item) -> None:
    """Refuse a start key in which a key attribute of the index is empty or too long; ignores other faults."""
    for name, key_type in keys.attributes:
        scalar = start_item.get(name, {}).get(key_type)
        if scalar is not None:
            check_key_value(name, key_type, scalar, is_partition=name in keys.partition_names)


def narrow(span: Span, start: Key) -> Span:
    """The part of `span` after the key `start`, in the direction in which the span is read."""
    if span.is_reverse:
        return Span(span.lower, min(span.upper, start), is_reverse=True)
    return Span(max(span.lower, start + _AFTER), span.upper)


def continue_query(source: ReadSource, terms: list[KeyTerm], span: Span, start: Key, start_item: Item) -> Span:
    """The part of a Query's span after the start key. Raises ValidationException if `start` is outside the span."""
    if not span.lower <= start < span.upper:
        keys = source.keys
        by_name = {term.attribute: term for term in terms}
        if all(by_name[name].operands[0] == start_item[name] for name in keys.partition_names):
            raise ValidationException(say.START_KEY_PREDICATE)
        sort_terms = [term for term in terms if term.attribute in keys.sort_names]
        if sort_terms and all(
            term.operator == "=" and term.operands[0] == start_item[term.attribute] for term in sort_terms
        ):
            raise ValidationException(say.START_KEY_SINGLE_ROW)
        raise ValidationException(say.START_KEY_OUTSIDE)
    return narrow(span, start)


def scan_span(segment: int | None, total_segments: int | None) -> Span:
    """The span of a Scan: all keys, or the keys of one segment. A segment is an equal share of all possible hashes."""
    if segment is None or total_segments is None:
        return Span(b"", b"\xff" * 9)
    lower = segment * HASH_SPACE // total_segments
    upper = (segment + 1) * HASH_SPACE // total_segments
    return hash_span(HashRange(lower, upper - 1))


def hash_span(hashes: HashRange, *, is_reverse: bool = False) -> Span:
    """The span of all keys in a source that begin with a hash in the range `hashes`."""
    upper = b"\xff" * 9 if hashes.last == WHOLE.last else (hashes.last + 1).to_bytes(HASH_BYTES, "big")
    return Span(hashes.first.to_bytes(HASH_BYTES, "big"), upper, is_reverse)


def continue_scan(span: Span, start: Key, segment: int | None, total_segments: int | None) -> Span:
    """The part of a Scan's span after the start key. Raises ValidationException if `start` is outside the span."""
    if not span.lower <= start < span.upper:
        raise ValidationException(say.START_KEY_SEGMENT.format(total=total_segments, segment=segment))
    return narrow(span, start)
