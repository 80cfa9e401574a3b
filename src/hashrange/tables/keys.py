"""At which key is an item stored? Key maps and items become Keys, or are refused in the service's words,
without "1 validation error detected: ".

A table's key functions are made once, when it is opened, because they run with every request. `items.values` has
checked the values before, except those passed to the function `usual`, which handles the usual case in one step.
Order of checks: names, number and types of the key attributes; then the partition key's value, then the sort key's:
empty, too long.
Source: service behaviour, captures to Oct 2026.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from hashrange.errors import KeyFault, ValidationException, WholeRequestFault
from hashrange.items.keys import encode_component, encode_partition_key, encode_texts
from hashrange.items.sizes import binary_size_bytes, text_size_bytes
from hashrange.items.types import Item, Key
from hashrange.items.values import type_of
from hashrange.limits import PARTITION_KEY_MAX_BYTES, SORT_KEY_MAX_BYTES
from hashrange.messages import keys as say
from hashrange.tables.schema import KeySchema, KeyType

KEY_SCHEMAS_KEPT = 256
"""Key schemas whose functions are kept for the next table:
making them takes a quarter of the time of opening a table."""
_PARTITION_SURELY_SHORT = PARTITION_KEY_MAX_BYTES // 4
"""A partition key of at most this many characters is never longer than PARTITION_KEY_MAX_BYTES."""
_SORT_SURELY_SHORT = SORT_KEY_MAX_BYTES // 4


class KeyFunctions(NamedTuple):
    """The functions that make the keys of one table."""

    usual: Callable[[Item], Key | None]
    """The key of a key map that holds just the table's key attributes, as ASCII strings that are surely short enough.

    None means *not the simple case*: then `items.values` must check the values, and `lookup` make the key; these two
    cost twice as much as `usual`.
    """
    lookup: Callable[[Item], Key]
    """The key of a key map. Raises ValidationException unless it holds just the table's key attributes, all valid."""
    item: Callable[[Item], Key]
    """The key of a whole item. Raises ValidationException unless it holds the table's key attributes, all valid."""


@lru_cache(KEY_SCHEMAS_KEPT)
def key_functions(keys: KeySchema) -> KeyFunctions:
    """The key functions of tables with this key schema, which these share."""
    return _two_attributes(keys) if keys.sort_names else _one_attribute(keys)


def key_of(keys: KeySchema, item: Item) -> Item:
    """The key map of an item: its table's key attributes only. Raises KeyError if one is missing."""
    key_map = {keys.partition_names[0]: item[keys.partition_names[0]]}
    if keys.sort_names:
        key_map[keys.sort_names[0]] = item[keys.sort_names[0]]
    return key_map


def check_key_value(name: str, key_type: KeyType, scalar: str, *, is_partition: bool) -> None:
    """Refuse the scalar of a key attribute if it is empty or too long; a number is neither.

    Raises WholeRequestFault for an empty scalar, KeyFault for one that is too long.
    """
    if key_type == "N" or 0 < len(scalar) <= _SORT_SURELY_SHORT:
        return
    size_bytes = text_size_bytes(scalar) if key_type == "S" else binary_size_bytes(scalar)
    if not size_bytes:
        raise WholeRequestFault(say.EMPTY_KEY[key_type].format(name=name))
    if is_partition and size_bytes > PARTITION_KEY_MAX_BYTES:
        raise KeyFault(say.PARTITION_KEY_TOO_LONG)
    if not is_partition and size_bytes > SORT_KEY_MAX_BYTES:
        raise KeyFault(say.SORT_KEY_TOO_LONG)


def _one_attribute(keys: KeySchema) -> KeyFunctions:
    """The key functions of a table with only a partition key."""
    name, key_type = keys.partition_names[0], keys.partition_types[0]

    def usual(key_map: Item) -> Key | None:
        try:
            value = key_map[name]
            scalar = value["S"]
            is_usual = (
                len(key_map) == len(value) == 1 and 0 < len(scalar) <= _PARTITION_SURELY_SHORT and scalar.isascii()
            )
        except (KeyError, TypeError, AttributeError):  # a member is missing, or has another JSON type
            return None
        # Key() would cost a call
        return encode_partition_key("S", scalar) if is_usual else None  # type: ignore[return-value]

    def lookup(key_map: Item) -> Key:
        try:
            scalar = key_map[name][key_type]
        except KeyError:
            raise ValidationException(say.KEY_SCHEMA_MISMATCH) from None
        if len(key_map) != 1:
            raise ValidationException(say.KEY_SCHEMA_MISMATCH)
        return key(scalar)

    def item_key(item: Item) -> Key:
        try:
            scalar = item[name][key_type]
        except KeyError:
            raise _item_fault(keys, item) from None
        return key(scalar)

    def key(scalar: str) -> Key:
        if not scalar or len(scalar) > _PARTITION_SURELY_SHORT:
            check_key_value(name, key_type, scalar, is_partition=True)
        return encode_partition_key(key_type, scalar)  # type: ignore[return-value]  # Key() would cost a call

    return KeyFunctions(usual if key_type == "S" else _nothing_usual, lookup, item_key)


def _two_attributes(keys: KeySchema) -> KeyFunctions:  # noqa: C901 - a function for each pair of key types
    """The key functions of a table with a partition and a sort key."""
    name, key_type = keys.partition_names[0], keys.partition_types[0]
    sort_name, sort_type = keys.sort_names[0], keys.sort_types[0]
    are_texts = key_type == sort_type == "S"

    def usual(key_map: Item) -> Key | None:
        try:
            value, sort_value = key_map[name], key_map[sort_name]
            scalar, sort_scalar = value["S"], sort_value["S"]
            both = scalar + sort_scalar
            if not scalar or not sort_scalar or len(both) > SORT_KEY_MAX_BYTES or not both.isascii():
                return None
            if len(key_map) + len(value) + len(sort_value) > 4:  # 2, 1 and 1, if nothing else is there
                return None
        except (KeyError, TypeError, AttributeError):  # a member is missing, or has another JSON type
            return None
        return encode_texts(scalar, sort_scalar)  # type: ignore[return-value]  # Key() would cost a call

    def lookup(key_map: Item) -> Key:
        try:
            scalar, sort_scalar = key_map[name][key_type], key_map[sort_name][sort_type]
        except KeyError:
            raise ValidationException(say.KEY_SCHEMA_MISMATCH) from None
        if len(key_map) != 2:
            raise ValidationException(say.KEY_SCHEMA_MISMATCH)
        return key(scalar, sort_scalar)

    def item_key(item: Item) -> Key:
        try:
            scalar, sort_scalar = item[name][key_type], item[sort_name][sort_type]
        except KeyError:
            raise _item_fault(keys, item) from None
        return key(scalar, sort_scalar)

    def key(scalar: str, sort_scalar: str) -> Key:
        if not scalar or len(scalar) > _PARTITION_SURELY_SHORT:
            check_key_value(name, key_type, scalar, is_partition=True)
        if not sort_scalar or len(sort_scalar) > _SORT_SURELY_SHORT:
            check_key_value(sort_name, sort_type, sort_scalar, is_partition=False)
        if are_texts:
            return encode_texts(scalar, sort_scalar)  # type: ignore[return-value]  # Key() would cost a call
        # The bytes are not wrapped in Key(), which would cost a call.
        return (
            encode_partition_key(key_type, scalar)  # type: ignore[return-value]
            + encode_component(sort_type, sort_scalar)
        )

    return KeyFunctions(usual if are_texts else _nothing_usual, lookup, item_key)


def _nothing_usual(key_map: Item) -> Key | None:
    """`KeyFunctions.usual`, the quick way for string keys, of tables with other key attributes: returns None."""
    return None


def _item_fault(keys: KeySchema, item: Item) -> ValidationException:
    """The error for the first key attribute that is missing or of another type (order unconfirmed)."""
    for name, expected in keys.attributes:
        if name not in item:
            return ValidationException(say.ITEM_KEY_MISSING.format(name=name))
        if expected not in item[name]:
            actual = type_of(item[name])
            return ValidationException(say.ITEM_KEY_TYPE.format(name=name, expected=expected, actual=actual))
    raise AssertionError(item)
