"""Which bytes is an item's entry in an index stored at? One function for each index, made once: it runs with every write.

The layout stands in `open_table.py` and docs/formats/keys.md. Must not know rows.
"""

from collections.abc import Callable

from hashrange.items.keys import encode_component, encode_composite_partition, encode_partition_key
from hashrange.items.sizes import value_size_bytes
from hashrange.items.types import Item, Key, Value
from hashrange.limits import PARTITION_KEY_MAX_BYTES, SORT_KEY_MAX_BYTES
from hashrange.tables.schema import KeySchema, KeyType

_UTF8_BYTES_MAX = 4
"""Bytes of one character, at most."""
_SURELY_SHORT = SORT_KEY_MAX_BYTES // _UTF8_BYTES_MAX
"""Characters that are not too long for any key."""

EntryKey = Callable[[Item, Key], Key | None]
"""From an item and its own key to the key of its entry; None when it lacks a key attribute, or has it in another type.

Nor has an item an entry whose key attributes are longer than keys may be: it was there before the index.
"""


def entry_key_function(keys: KeySchema) -> EntryKey:
    """The function of an index with these keys."""
    if len(keys.partition_names) > 1 or len(keys.sort_names) > 1:
        return lambda item, item_key: _general_key(keys, item, item_key)
    return _two_attributes(keys) if keys.sort_names else _one_attribute(keys)


def partition_bytes(keys: KeySchema, values: list[str]) -> bytes:
    """The partition part of a key, from the scalars of all partition key attributes."""
    if len(values) == 1:
        return encode_partition_key(keys.partition_types[0], values[0])
    return encode_composite_partition(list(zip(keys.partition_types, values, strict=True)))


def _one_attribute(keys: KeySchema) -> EntryKey:
    """Of a partition key attribute alone."""
    name, key_type = keys.partition_names[0], keys.partition_types[0]

    def entry_key(item: Item, item_key: Key) -> Key | None:
        try:
            scalar = item[name][key_type]
        except KeyError:
            return None
        if 0 < len(scalar) <= _SURELY_SHORT:
            return encode_partition_key(key_type, scalar) + item_key  # type: ignore[return-value]  # as Key(), without a call
        return _general_key(keys, item, item_key)

    return entry_key


def _two_attributes(keys: KeySchema) -> EntryKey:
    """Of a partition and a sort key attribute. A third of what the general way costs."""
    name, key_type = keys.partition_names[0], keys.partition_types[0]
    sort_name, sort_type = keys.sort_names[0], keys.sort_types[0]

    def entry_key(item: Item, item_key: Key) -> Key | None:
        try:
            scalar = item[name][key_type]
            sort_scalar = item[sort_name][sort_type]
        except KeyError:
            return None
        if 0 < len(scalar) <= _SURELY_SHORT and 0 < len(sort_scalar) <= _SURELY_SHORT:
            return encode_partition_key(key_type, scalar) + encode_component(sort_type, sort_scalar) + item_key  # type: ignore[return-value]  # as above
        return _general_key(keys, item, item_key)

    return entry_key


def _general_key(keys: KeySchema, item: Item, item_key: Key) -> Key | None:
    """Of any number of attributes of any length."""
    partition = _scalars(item, keys.partition_names, keys.partition_types, PARTITION_KEY_MAX_BYTES)
    if partition is None:
        return None
    sort = _scalars(item, keys.sort_names, keys.sort_types, SORT_KEY_MAX_BYTES)
    if sort is None:
        return None
    key = partition_bytes(keys, partition)
    for position, scalar in enumerate(sort):
        key += encode_component(keys.sort_types[position], scalar)
    return Key(key + item_key)


def _scalars(item: Item, names: tuple[str, ...], types: tuple[KeyType, ...], size_max_bytes: int) -> list[str] | None:
    """The scalars of key attributes; None when one is missing, of another type, or empty, or all are too long together."""
    scalars = []
    length = 0
    for name, key_type in zip(names, types, strict=True):
        value: Value | None = item.get(name)
        scalar: str | None = None if value is None else value.get(key_type)
        if not scalar:
            return None
        scalars.append(scalar)
        length += len(scalar)
    if length > size_max_bytes // _UTF8_BYTES_MAX and _sizes_bytes(item, names) > size_max_bytes:
        return None
    return scalars


def _sizes_bytes(item: Item, names: tuple[str, ...]) -> int:
    """Bytes of the values of the named attributes."""
    return sum([value_size_bytes(item[name]) for name in names])
