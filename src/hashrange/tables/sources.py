"""What can be read by key? A source: the rows of a table, or the entries of one of its indexes.

A key of a source, in bytes (docs/formats/keys.md):

    partition ‖ a component for each sort key attribute          the table's rows
    partition ‖ a component for each sort key attribute ‖ key    an index's entries, which end with their item's key

so entries with equal index keys stand apart, in the order of their items' keys.
Derived once per table and kept beside it; must not know rows.
"""

import msgspec

from hashrange.items.keys import encode_component, encode_composite_partition, encode_partition
from hashrange.items.sizes import value_size_bytes
from hashrange.items.types import Item, Key, Value
from hashrange.limits import PARTITION_KEY_MAX_BYTES, SORT_KEY_MAX_BYTES
from hashrange.tables.schema import Index, KeySchema, KeyType, Table

_UTF8_BYTES_MAX = 4
"""Bytes of one character, at most."""
_SURELY_SHORT = SORT_KEY_MAX_BYTES // _UTF8_BYTES_MAX
"""Characters that are not too long for any key."""


class ReadSource(msgspec.Struct, frozen=True, gc=False):
    """A table's rows (`index` is None) or an index's entries."""

    source: bytes
    """The 6 bytes that name it in the store: table id ‖ index id."""
    table: Table
    index: Index | None
    keys: KeySchema
    key_names: tuple[str, ...]
    """Its own key attributes, partition key first."""
    start_names: tuple[str, ...]
    """Attributes of a continue key: the index's key attributes, then the table's that are not among them."""
    projected_names: frozenset[str] | None
    """Attributes that an entry carries, keys included; None for all."""


def read_source(table: Table, index_name: str | None) -> ReadSource | None:
    """The table, or its index of that name; None when there is no such index. Worked out once per table, and kept."""
    if index_name is None:
        source: ReadSource | None = table.__dict__.get("own_read_source")
        if source is None:
            source = table.__dict__["own_read_source"] = _table_source(table)
        return source
    return next((source for source in index_sources(table) if source.index and source.index.name == index_name), None)


def index_sources(table: Table) -> tuple[ReadSource, ...]:
    """The indexes of a table, but for those being deleted, in their order. Worked out once per table, and kept."""
    sources: tuple[ReadSource, ...] | None = table.__dict__.get("index_read_sources")
    if sources is None:
        sources = tuple([_index_source(table, index) for index in table.indexes if index.state != "DELETING"])
        table.__dict__["index_read_sources"] = sources
    return sources


def index_source_id(table: Table, index: Index) -> bytes:
    """The 6 bytes that name an index's entries in the store."""
    return table.table_id.to_bytes(4, "big") + index.index_id.to_bytes(2, "big")


def _table_source(table: Table) -> ReadSource:
    keys = table.keys
    names = keys.partition_names + keys.sort_names
    return ReadSource(table.source, table, None, keys, names, names, None)


def _index_source(table: Table, index: Index) -> ReadSource:
    own_names = index.keys.partition_names + index.keys.sort_names
    table_names = table.keys.partition_names + table.keys.sort_names
    start_names = tuple(dict.fromkeys(own_names + table_names))
    source = index_source_id(table, index)
    projection = index.projection
    projected_names = None if projection.kind == "ALL" else frozenset(start_names + projection.non_key_names)
    return ReadSource(source, table, index, index.keys, own_names, start_names, projected_names)


def partition_bytes(keys: KeySchema, values: list[str]) -> bytes:
    """The partition part of a key, from the scalars of all partition key attributes."""
    if len(values) == 1:
        return encode_partition(keys.partition_types[0], values[0])
    return encode_composite_partition(list(zip(keys.partition_types, values, strict=True)))


def entry_key(index: Index, item: Item, item_key: Key) -> Key | None:
    """The key of an item's entry in an index; None when the item lacks a key attribute, or has it in another type.

    Nor has an item an entry whose key attributes are longer than keys may be: it was there before the index.
    """
    keys = index.keys
    if len(keys.partition_names) == 1 and len(keys.sort_names) <= 1:
        key = _usual_entry_key(keys, item)
        if key is not None:
            return Key(key + item_key)
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


def _usual_entry_key(keys: KeySchema, item: Item) -> bytes | None:
    """The same without the item's key, of one partition key attribute and at most one sort key attribute, both there and short: else None.

    A third of what the general way costs.
    """
    key_type = keys.partition_types[0]
    value = item.get(keys.partition_names[0])
    scalar: str | None = None if value is None else value.get(key_type)
    if not scalar or len(scalar) > _SURELY_SHORT:
        return None
    key = encode_partition(key_type, scalar)
    if not keys.sort_names:
        return key
    key_type = keys.sort_types[0]
    value = item.get(keys.sort_names[0])
    scalar = None if value is None else value.get(key_type)
    if not scalar or len(scalar) > _SURELY_SHORT:
        return None
    return key + encode_component(key_type, scalar)


def start_key_of(source: ReadSource, item: Item) -> Item:
    """The continue key behind an item or entry: its key attributes alone."""
    return {name: item[name] for name in source.start_names}


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
    """Bytes of the strings and binaries among the named attributes; numbers cannot be too long."""
    return sum([value_size_bytes(item[name]) for name in names if "N" not in item[name]])
