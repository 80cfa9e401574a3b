"""Which index entries does a write change? A function of the row before and the row after,
the same for every kind of write.

An entry is a row of its own: the key attributes of table and index, and others that the index projects. An index is
sparse: an item without one of the index's key attributes has no entry. `vector_entries.py` says what the entries of
vector indexes are. Unchanged entries are not written. This module must not know a store.
Source: service behaviour, developer guide on secondary indexes.
"""

from typing import NamedTuple

import msgspec

from hashrange.items.row_layout import is_same_item, row_size_bytes
from hashrange.items.rows import decode_attributes, decode_row, encode_row
from hashrange.items.sizes import item_size_bytes
from hashrange.items.steps import spend
from hashrange.items.types import Item, Key, Row
from hashrange.tables.open_table import OpenTable, ReadSource, projected_attributes
from hashrange.tables.vector_entries import (
    PackedVectors,
    own_vector,
    packed_vector,
    packed_vectors,
    vector_key,
    vector_row,
)


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One row of an index."""

    key: Key
    row: Row
    list_bytes: int = 0
    """Of an entry in a vector index: size of the list of numbers that the item's vector is."""
    vector: bytes = b""
    """Of an entry in a vector index: its 32-bit floats, which need not be read from the row again."""
    tested: Item | None = None
    """Of an entry in a vector index: its attributes that conditions of searches may read."""


class EntryWrite(NamedTuple):
    """The change of one index by a write: the item's entry before and after, which differ; at most one is None.

    Of an entry that is written later, the row before may be shortened to its header, which tells its size.
    """

    source: ReadSource
    old: Entry | None
    new: Entry | None


def derive_entry_writes(
    table: OpenTable,
    key: Key,
    old: Row | None,
    new: Row | None,
    old_item: Item | None = None,
    new_item: Item | None = None,
) -> list[EntryWrite]:
    """The changes of indexes that follow from replacing the row `old` at `key` by `new`. About 2 µs per index, however
    many attributes the item has. May give way.

    `old_item` and `new_item`: the decoded rows; a row is decoded here if its item is None.
    """
    if not table.entry_sources or is_same_item(old, new):
        return []
    if table.entry_steps:
        spend(table.entry_steps)
    if old_item is None and old is not None:
        old_item = decode_row(old)
    if new_item is None and new is not None:
        new_item = decode_row(new)
    writes = []
    for source in table.indexes:
        after = None if new_item is None or new is None else _derive_entry(source, key, new_item, new)
        if old_item is None or old is None:
            before = None
        elif after is not None and new_item is not None and _has_same_key(source, old_item, new_item):
            names = source.projected_names
            before = Entry(after.key, old if names is None else _entry_row(names, old_item))
        else:
            before = _derive_entry(source, key, old_item, old)
        if before != after:
            writes.append(EntryWrite(source, before, after))
    if table.vector_sources:
        writes += _vector_writes(table, key, (old, old_item), (new, new_item))
    return writes


def _has_same_key(source: ReadSource, old_item: Item, new_item: Item) -> bool:
    """True if both items' entries have the same key; 10 times cheaper than making it. `new_item` must have an entry."""
    for name in source.key_names:  # noqa: SIM110 - a generator takes twice as long
        if old_item.get(name) != new_item[name]:
            return False
    return True


_Read = tuple[Row | None, Item | None]
"""A row and its item; both are None if there is no item."""


def _vector_writes(table: OpenTable, key: Key, former: _Read, present: _Read) -> list[EntryWrite]:
    """The changes of the table's vector indexes. 0.2 µs per dimension of each vector attribute that changes.

    If only digits change that 32-bit floats do not have, the entry stays the same except for the size of the list.
    """
    (old_row, old_item), (new_row, new_item) = former, present
    after = {} if new_item is None or new_row is None else packed_vectors(table, new_item, row_size_bytes(new_row))
    before: PackedVectors = {}
    if old_item is not None and old_row is not None:
        size_bytes = row_size_bytes(old_row)
        for name, dimensions in table.vector_attributes.items():
            is_kept = new_item is not None and old_item.get(name) == new_item.get(name)
            before[name] = after[name] if is_kept else own_vector(old_item, name, dimensions, size_bytes)
    writes = []
    for source in table.vector_sources:
        old = None if old_item is None else _vector_entry(source, key, old_item, before)
        new = None if new_item is None else _vector_entry(source, key, new_item, after)
        if old != new:
            writes.append(EntryWrite(source, old, new))
    return writes


def _vector_entry(source: ReadSource, key: Key, item: Item, packed: PackedVectors) -> Entry | None:
    """The entry in a vector index of the item at `key`, whose vectors are `packed`; None if the item has no entry."""
    vectors = source.vectors
    assert vectors is not None
    attribute = vectors.index.attribute
    vector = packed[attribute]
    own_key = None if vector is None else vector_key(vectors, item, key)
    if vector is None or own_key is None:
        return None
    row = vector_row(source, attribute, item, vector.floats)
    tested = {name: item[name] for name in vectors.index.search_names if name in item}
    return Entry(own_key, row, vector.list_bytes, vector.floats, tested)


def derive_entry(source: ReadSource, key: Key, item: Item, row: Row) -> Entry | None:
    """The entry in an index of the item at `key`, whose row is `row`; None if the item has no entry."""
    if source.vectors is None:
        return _derive_entry(source, key, item, row)
    index = source.vectors.index
    packed = packed_vector(item.get(index.attribute), index.dimensions)
    return _vector_entry(source, key, item, {index.attribute: packed})


def _derive_entry(source: ReadSource, key: Key, item: Item, row: Row) -> Entry | None:
    """`derive_entry` for a secondary index."""
    entry_key = source.entry_key
    assert entry_key is not None
    own_key = entry_key(item, key)
    if own_key is None:
        return None
    names = source.projected_names
    return Entry(own_key, row if names is None else _entry_row(names, item))


def derive_stored_entry(source: ReadSource, key: Key, row: Row) -> Entry | None:
    """The entry in an index of the item at `key`, from its stored row; None if the item has no entry.

    Of a large row, decodes only the projected attributes; for an index that projects ALL, only the index's key
    attributes. For a vector index, decodes the whole row.
    """
    if source.vectors is not None:
        return derive_entry(source, key, decode_row(row), row)
    names = source.key_names if source.projected_names is None else tuple(sorted(source.projected_names))
    return derive_entry(source, key, decode_attributes(row, names), row)


def _entry_row(names: frozenset[str], item: Item) -> Row:
    """The row of an item's entry in an index that does not project all attributes, but those with these names."""
    projected = projected_attributes(item, names)
    return encode_row(projected, item_size_bytes(projected))
