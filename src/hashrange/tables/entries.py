"""Which index entries does a write change? A function of the row before and the row after,
the same for every kind of write.

An entry is a row of its own: the key attributes of table and index, and others that the index projects. An index is
sparse: an item without one of the index's key attributes has no entry. Unchanged entries are not written. This module
must not know a store.
Source: service behaviour, developer guide on secondary indexes.
"""

from typing import NamedTuple

import msgspec

from hashrange.items.row_layout import is_same_item
from hashrange.items.rows import decode_attributes, decode_row, encode_row
from hashrange.items.sizes import item_size_bytes
from hashrange.items.types import Item, Key, Row
from hashrange.tables.open_table import OpenTable, ReadSource


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One row of an index."""

    key: Key
    row: Row


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
    """The changes of indexes that follow from replacing the row `old` at `key` by `new`. About 2 µs per index.

    `old_item` and `new_item`: the decoded rows; a row is decoded here if its item is None.
    """
    sources = table.indexes
    if not sources or is_same_item(old, new):
        return []
    if old_item is None and old is not None:
        old_item = decode_row(old)
    if new_item is None and new is not None:
        new_item = decode_row(new)
    writes = []
    for source in sources:
        after = None if new_item is None or new is None else derive_entry(source, key, new_item, new)
        if old_item is None or old is None:
            before = None
        elif after is not None and new_item is not None and _has_same_key(source, old_item, new_item):
            before = Entry(after.key, _entry_row(source, old_item, old))
        else:
            before = derive_entry(source, key, old_item, old)
        if before != after:
            writes.append(EntryWrite(source, before, after))
    return writes


def _has_same_key(source: ReadSource, old_item: Item, new_item: Item) -> bool:
    """True if both items' entries have the same key; 10 times cheaper than making it. `new_item` must have an entry."""
    for name in source.key_names:  # noqa: SIM110 - a generator takes twice as long
        if old_item.get(name) != new_item[name]:
            return False
    return True


def derive_entry(source: ReadSource, key: Key, item: Item, row: Row) -> Entry | None:
    """The entry in an index of the item at `key`, whose row is `row`; None if the item has no entry."""
    entry_key = source.entry_key
    assert entry_key is not None
    own_key = entry_key(item, key)
    return None if own_key is None else Entry(own_key, _entry_row(source, item, row))


def derive_stored_entry(source: ReadSource, key: Key, row: Row) -> Entry | None:
    """The entry in an index of the item at `key`, from its stored row; None if the item has no entry.

    Of a large row, decodes only the projected attributes; for an index that projects ALL, only the index's key
    attributes.
    """
    names = source.key_names if source.projected_names is None else tuple(sorted(source.projected_names))
    return derive_entry(source, key, decode_attributes(row, names), row)


def _entry_row(source: ReadSource, item: Item, row: Row) -> Row:
    """The row of an item's entry: the attributes that the index projects."""
    names = source.projected_names
    if names is None:
        return row
    projected = {name: value for name, value in item.items() if name in names}
    return encode_row(projected, item_size_bytes(projected))
