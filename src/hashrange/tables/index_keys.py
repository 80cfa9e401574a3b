"""Does an item fit the keys of its table's secondary indexes, and then its vector indexes (`vector_checks.py`)?
A key attribute may be absent; if present it must be valid.

An item that lacks an index's key attribute has no entry in that index. `items.values` has already checked the values;
this module reads no index. If several indexes share an attribute, messages name the alphabetically first, global or
local. Messages never begin with "1 validation error detected: ". Source: service behaviour, captures to Oct 2026; which
of several faults comes first, and the wording for sizes in whole items, are unconfirmed.
"""

from hashrange.errors import KeyFault, ValidationException, WholeRequestFault
from hashrange.items.sizes import value_size_bytes
from hashrange.items.steps import spend
from hashrange.items.types import Item
from hashrange.items.values import type_of
from hashrange.limits import PARTITION_KEY_MAX_BYTES, SORT_KEY_MAX_BYTES
from hashrange.messages import keys as say
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.schema import Index
from hashrange.tables.vector_checks import check_item_vectors, check_updated_vectors

_SURELY_SHORT = SORT_KEY_MAX_BYTES // 4
"""An index key whose attributes have at most this many characters together is never too long."""


def check_item_index_keys(table: OpenTable, item: Item) -> None:
    """Refuse an item to be put in which an index key attribute has the wrong type, is empty or too long.

    Raises WholeRequestFault for an empty attribute, otherwise ValidationException. May give way.
    """
    if table.entry_steps:
        spend(len(table.index_keys))
    for index, attributes in table.index_keys:
        length = 0
        for name, key_type in attributes:
            value = item.get(name)
            if value is None:
                continue
            scalar = value.get(key_type)
            if scalar is None:
                raise _type_mismatch(index, name, key_type, type_of(value))
            if not scalar:
                raise WholeRequestFault(say.INDEX_KEY_EMPTY[key_type].format(index=index.name, name=name))
            length += len(scalar)
        if length > _SURELY_SHORT:
            _check_index_key_sizes(index, item)
    if table.checked_vectors:
        check_item_vectors(table, item)


def _check_index_key_sizes(index: Index, item: Item) -> None:
    """Raise KeyFault if the item's partition key or sort key of the index is too long."""
    if _size_bytes(item, index.keys.partition_names) > PARTITION_KEY_MAX_BYTES:
        raise KeyFault(say.PARTITION_KEY_TOO_LONG)
    if _size_bytes(item, index.keys.sort_names) > SORT_KEY_MAX_BYTES:
        raise KeyFault(say.SORT_KEY_TOO_LONG)


def check_assigned_index_keys(table: OpenTable, assigned_types: dict[str, str]) -> None:
    """Raise ValidationException if an update assigns an index key attribute a value of a wrong type.

    `assigned_types`: name → type of each attribute that is assigned a value of the request, so no item need be read.
    May give way.
    """
    if table.entry_steps:
        spend(len(table.index_keys))
    for index, attributes in table.index_keys:
        for name, key_type in attributes:
            actual = assigned_types.get(name, key_type)
            if actual != key_type:
                raise _type_mismatch(index, name, key_type, actual)


def check_updated_index_keys(table: OpenTable, item: Item, changed_names: frozenset[str]) -> None:
    """Refuse an update if a changed key attribute of an index is mistyped or empty, or the index's key is too long.

    Raises WholeRequestFault for an empty attribute, otherwise ValidationException. May give way.
    """
    if table.entry_steps:
        spend(2 * len(table.index_keys))
    for index, attributes in table.index_keys:
        if changed_names.isdisjoint(index.keys.partition_names + index.keys.sort_names):
            continue
        for name, key_type in attributes:
            value = item.get(name)
            if value is None or name not in changed_names:
                continue
            if key_type not in value:
                raise ValidationException(say.UPDATED_INDEX_KEY_TYPE)
            if key_type != "N" and not value[key_type]:
                raise WholeRequestFault(say.UPDATED_INDEX_KEY_EMPTY[key_type])
        if (
            _size_bytes(item, index.keys.partition_names) > PARTITION_KEY_MAX_BYTES
            or _size_bytes(item, index.keys.sort_names) > SORT_KEY_MAX_BYTES
        ):
            raise ValidationException(say.UPDATED_INDEX_KEY_TOO_LONG)
    if table.checked_vectors:
        check_updated_vectors(table, item, changed_names)


def check_scan_start_types(table: OpenTable, source: ReadSource, start_item: Item) -> None:
    """Raise ValidationException if a key attribute in a Scan's ExclusiveStartKey has a wrong
    type and the table has indexes.

    The message names the index that is read; for the table's rows the first index with that key attribute, or else the
    first of all. Source: service behaviour, captures to 23 October 2026 (observed-2026-11.md 5).
    """
    indexes = sorted(table.schema.indexes, key=lambda index: index.name)
    if not indexes:
        return
    types = table.schema.attribute_types
    for name in (*source.start_key_names, *sorted(start_item)):
        value, key_type = start_item.get(name), types.get(name)
        if value is None or key_type is None or key_type in value:
            continue
        by_key = (index for index in indexes if name in index.keys.names)
        raise _type_mismatch(source.index or next(by_key, indexes[0]), name, key_type, type_of(value))


def _size_bytes(item: Item, names: tuple[str, ...]) -> int:
    """Total bytes of the values of the named attributes, as far as the item has them."""
    return sum([value_size_bytes(item[name]) for name in names if name in item])


def _type_mismatch(index: Index, name: str, expected: str, actual: str) -> ValidationException:
    return ValidationException(say.INDEX_KEY_TYPE.format(name=name, expected=expected, actual=actual, index=index.name))
