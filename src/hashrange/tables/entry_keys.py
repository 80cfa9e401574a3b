"""At which key is an item's index entry stored? One function per index, made once: it runs with every write.

The layout is described in `open_table.py` and docs/formats/keys.md. This module must not know rows.
"""

from collections.abc import Callable

from hashrange.items.keys import encode_component, encode_composite_partition, encode_partition_key
from hashrange.items.sizes import value_size_bytes
from hashrange.items.types import Item, Key, Value
from hashrange.limits import PARTITION_KEY_MAX_BYTES, SORT_KEY_MAX_BYTES
from hashrange.tables.schema import KeySchema, KeyType

_UTF8_BYTES_MAX = 4
"""Most bytes of one character in UTF-8."""
_SURELY_SHORT = SORT_KEY_MAX_BYTES // _UTF8_BYTES_MAX
"""A scalar of at most this many characters is never too long for a key."""

EntryKey = Callable[[Item, Key], Key | None]
"""A function from an item and its own key to the key of its entry.

It returns None if the item has no entry: a key attribute is missing, of another type, empty or too long. Only items
older than the index may have key attributes of another type, empty or too long.
"""


def entry_key_function(keys: KeySchema) -> EntryKey:
    """The function that makes the keys of entries in an index with this key schema."""
    if len(keys.partition_names) > 1 or len(keys.sort_names) > 1:
        return lambda item, item_key: _general_key(keys, item, item_key)
    return _two_attributes(keys) if keys.sort_names else _one_attribute(keys)


def partition_bytes(keys: KeySchema, values: list[str]) -> bytes:
    """The start of a row's or entry's key that encodes the partition key, from the scalars of its attributes."""
    if len(values) == 1:
        return encode_partition_key(keys.partition_types[0], values[0])
    return encode_composite_partition(list(zip(keys.partition_types, values, strict=True)))


def _one_attribute(keys: KeySchema) -> EntryKey:
    """The function that makes the keys of entries in an index with one key attribute."""
    name, key_type = keys.partition_names[0], keys.partition_types[0]

    def entry_key(item: Item, item_key: Key) -> Key | None:
        try:
            scalar = item[name][key_type]
        except KeyError:
            return None
        if 0 < len(scalar) <= _SURELY_SHORT:
            # Key() would cost a call
            return encode_partition_key(key_type, scalar) + item_key  # type: ignore[return-value]
        return _general_key(keys, item, item_key)

    return entry_key


def _two_attributes(keys: KeySchema) -> EntryKey:
    """The function for an index with one partition and one sort key attribute. A third of `_general_key`'s cost."""
    name, key_type = keys.partition_names[0], keys.partition_types[0]
    sort_name, sort_type = keys.sort_names[0], keys.sort_types[0]

    def entry_key(item: Item, item_key: Key) -> Key | None:
        try:
            scalar = item[name][key_type]
            sort_scalar = item[sort_name][sort_type]
        except KeyError:
            return None
        if scalar and sort_scalar and len(scalar) <= _SURELY_SHORT and len(sort_scalar) <= _SURELY_SHORT:
            # The bytes are not wrapped in Key(), which would cost a call.
            return (
                encode_partition_key(key_type, scalar)  # type: ignore[return-value]
                + encode_component(sort_type, sort_scalar)
                + item_key
            )
        return _general_key(keys, item, item_key)

    return entry_key


def _general_key(keys: KeySchema, item: Item, item_key: Key) -> Key | None:
    """An entry's key, for any number and length of key attributes; None if the item has no entry."""
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
    """Key attributes' scalars; None if one is missing, empty or mistyped, or all together exceed `size_max_bytes`."""
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
    """Total bytes of the values of the named attributes."""
    return sum([value_size_bytes(item[name]) for name in names])
