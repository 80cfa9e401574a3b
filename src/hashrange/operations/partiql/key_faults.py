"""Why does the key in a statement not fit its table? PartiQL has its own words for key values of a wrong type.

Called when a key was refused, and before a read whose own conditions do not show all key values. Source: service
behaviour, captures to 23 October 2026.
"""

from collections.abc import Iterable

from hashrange.errors import ValidationException
from hashrange.items.sizes import binary_size_bytes, text_size_bytes
from hashrange.items.types import Item, Value
from hashrange.items.values import type_of
from hashrange.limits import PARTITION_KEY_MAX_BYTES, SORT_KEY_MAX_BYTES
from hashrange.messages.partiql import KEY_TYPE_OTHER, KEY_TYPE_UNKNOWN
from hashrange.tables.keys import check_key_value
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import KeySchema, KeyType

_KEY_TYPES = ("S", "N", "B")
_SURELY_SHORT = SORT_KEY_MAX_BYTES // 4
"""A key value of at most this many characters is never too long."""


def surely_fit(keys: KeySchema, partitions: Iterable[Value], sorts: Iterable[Value]) -> bool:
    """True if all values have the types of their key attributes, and are neither empty nor long. 0.1 µs a value."""
    for key_type, values in zip(keys.partition_types + keys.sort_types, (partitions, sorts), strict=False):
        for value in values:
            if not 0 < len(value.get(key_type, "")) <= _SURELY_SHORT:
                return False
    return True


def check_read_values(keys: KeySchema, partitions: list[Value], sorts: Iterable[Value]) -> None:
    """Refuse values of a wrong type, empty values and values that are too long, those of the partition key first.

    Of several partition key values, each may be too long: no item has it.
    """
    name, key_type = keys.partition_names[0], keys.partition_types[0]
    for value in partitions:
        check_key_type(name, key_type, value)
        if len(partitions) == 1 or not value[key_type]:
            check_key_value(name, key_type, value[key_type], is_partition=True)
    for value in sorts:
        name, key_type = keys.sort_names[0], keys.sort_types[0]
        check_key_type(name, key_type, value)
        check_key_value(name, key_type, value[key_type], is_partition=False)


def check_key_types(table: OpenTable, key_item: Item) -> None:
    """Refuse a key attribute in `key_item`, a key or a whole item, of another type than the table's."""
    for name, key_type in table.keys.attributes:
        if name in key_item:
            check_key_type(name, key_type, key_item[name])


def check_inserted_types(table: OpenTable, item: Item) -> None:
    """As `check_key_types`, in the words of an INSERT, which does not tell types that no key has from others."""
    for name, key_type in table.keys.attributes:
        if name in item and key_type not in item[name]:
            raise ValidationException(KEY_TYPE_OTHER.format(name=name))


def check_key_type(name: str, key_type: KeyType, value: Value) -> None:
    """Refuse a value of another type than the key attribute's."""
    if key_type not in value:
        type_name = type_of(value)
        message = KEY_TYPE_OTHER if type_name in _KEY_TYPES else KEY_TYPE_UNKNOWN
        raise ValidationException(message.format(name=name, type_name=type_name))


def is_too_long(keys: KeySchema, value: Value) -> bool:
    """True for a value of the partition key's type that is longer than a partition key may be."""
    key_type = keys.partition_types[0]
    scalar = value[key_type]
    if key_type == "N":
        return False
    size_bytes = text_size_bytes(scalar) if key_type == "S" else binary_size_bytes(scalar)
    return size_bytes > PARTITION_KEY_MAX_BYTES


def has_no_key_type(value: Value) -> bool:
    """True for a value of a type that no key can have."""
    return type_of(value) not in _KEY_TYPES
