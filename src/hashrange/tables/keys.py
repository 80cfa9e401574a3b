"""Which bytes is an item stored at? Key maps and items become Keys, or are refused in the service's words, always bare.

Values have been through `items.values` already. Order of checks: names, number and types of the key attributes; then the
partition key's value, then the sort key's: empty, too long. Source: service behaviour, captures to Oct 2026.
"""

from typing import Any

from hashrange.errors import ValidationException
from hashrange.items.keys import encode_component, encode_partition
from hashrange.items.sizes import binary_size_bytes, text_size_bytes
from hashrange.items.types import Item, Key
from hashrange.items.values import type_of
from hashrange.limits import PARTITION_KEY_MAX_BYTES, SORT_KEY_MAX_BYTES
from hashrange.messages.keys import (
    EMPTY_KEY,
    ITEM_KEY_MISSING,
    ITEM_KEY_TYPE,
    KEY_SCHEMA_MISMATCH,
    PARTITION_KEY_TOO_LONG,
    SORT_KEY_TOO_LONG,
)
from hashrange.tables.schema import KeyType, Table

_PARTITION_SURELY_SHORT = PARTITION_KEY_MAX_BYTES // 4
"""Characters that cannot encode to more bytes than the limit."""
_SORT_SURELY_SHORT = SORT_KEY_MAX_BYTES // 4


def usual_key(table: Table, key_map: Item) -> Key | None:
    """The key that a key map names, if it is of the usual kind: just the table's key attributes, short strings in ASCII.

    None says nothing: `items.values` and `lookup_key` then find out. Half of what they cost together.
    """
    sort_name = table.sort_name
    if table.partition_type != "S" or len(key_map) != (1 if sort_name is None else 2):
        return None
    scalar = _usual_text(key_map.get(table.partition_name))
    if scalar is None:
        return None
    if sort_name is None:
        return Key(encode_partition("S", scalar))
    sort_scalar = _usual_text(key_map.get(sort_name)) if table.sort_type == "S" else None
    if sort_scalar is None:
        return None
    return Key(encode_partition("S", scalar) + encode_component("S", sort_scalar))


def lookup_key(table: Table, key_map: Item) -> Key:
    """The key that a key map names: exactly the table's key attributes, of their types. 0.6 µs; 0.9 µs with a sort key."""
    partition_type, sort_name = table.partition_type, table.sort_name
    try:
        scalar = key_map[table.partition_name][partition_type]
        sort_scalar = None if sort_name is None else key_map[sort_name][table.sort_type]  # type: ignore[index]
    except KeyError:
        raise ValidationException(KEY_SCHEMA_MISMATCH) from None
    if len(key_map) != (1 if sort_scalar is None else 2):
        raise ValidationException(KEY_SCHEMA_MISMATCH)
    return _key(table, scalar, sort_scalar)


def item_key(table: Table, item: Item) -> Key:
    """The key of a whole item, which may have any other attributes besides."""
    sort_name = table.sort_name
    try:
        scalar = item[table.partition_name][table.partition_type]
        sort_scalar = None if sort_name is None else item[sort_name][table.sort_type]  # type: ignore[index]
    except KeyError:
        raise _item_fault(table, item) from None
    return _key(table, scalar, sort_scalar)


def key_of(table: Table, item: Item) -> Item:
    """The item's key attributes alone, as in LastEvaluatedKey."""
    partition_name, sort_name = table.partition_name, table.sort_name
    if sort_name is None:
        return {partition_name: item[partition_name]}
    return {partition_name: item[partition_name], sort_name: item[sort_name]}


def check_key_value(name: str, key_type: KeyType, scalar: str, *, is_partition: bool) -> None:
    """Refuse a key attribute's scalar that is empty, or longer than keys may be; no number is either."""
    if key_type == "N":
        return
    size_bytes = text_size_bytes(scalar) if key_type == "S" else binary_size_bytes(scalar)
    if not size_bytes:
        raise ValidationException(EMPTY_KEY[key_type].format(name=name))
    if is_partition and size_bytes > PARTITION_KEY_MAX_BYTES:
        raise ValidationException(PARTITION_KEY_TOO_LONG)
    if not is_partition and size_bytes > SORT_KEY_MAX_BYTES:
        raise ValidationException(SORT_KEY_TOO_LONG)


def _key(table: Table, scalar: str, sort_scalar: str | None) -> Key:
    """The key of scalars of the right types."""
    if not 0 < len(scalar) <= _PARTITION_SURELY_SHORT:
        check_key_value(table.partition_name, table.partition_type, scalar, is_partition=True)
    key = encode_partition(table.partition_type, scalar)
    if sort_scalar is None:
        return Key(key)
    sort_name, sort_type = table.sort_name, table.sort_type
    assert sort_name is not None
    assert sort_type is not None
    if not 0 < len(sort_scalar) <= _SORT_SURELY_SHORT:
        check_key_value(sort_name, sort_type, sort_scalar, is_partition=False)
    return Key(key + encode_component(sort_type, sort_scalar))


def _usual_text(value: Any) -> str | None:
    """The text of a value that has no other type beside, if it is short and in ASCII."""
    if value.__class__ is dict and len(value) == 1:
        text = value.get("S")
        if text.__class__ is str and 0 < len(text) <= _SORT_SURELY_SHORT and text.isascii():
            return text
    return None


def _item_fault(table: Table, item: Item) -> ValidationException:
    """Why an item has no key: the first key attribute that is missing or has another type (their order is unconfirmed)."""
    declared = list(zip(table.keys.partition_names, table.keys.partition_types, strict=True))
    declared += zip(table.keys.sort_names, table.keys.sort_types, strict=True)
    for name, expected in declared:
        if name not in item:
            return ValidationException(ITEM_KEY_MISSING.format(name=name))
        if expected not in item[name]:
            actual = type_of(item[name])
            return ValidationException(ITEM_KEY_TYPE.format(name=name, expected=expected, actual=actual))
    raise AssertionError(item)
