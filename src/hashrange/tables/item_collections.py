"""What is an item collection? All items of one partition key value and their entries in local indexes.

Only tables with local indexes have them (`Table.has_item_collections`). Such an index has the table's partition key, so the
same bytes begin the keys of a collection's items and entries. Entries of global indexes do not count.
Source: service behaviour, developer guide on local secondary indexes.
"""

from hashrange.items.rows import row_size_bytes
from hashrange.items.types import Key
from hashrange.tables.change import Change


def collection_prefix(key: Key) -> bytes:
    """What the keys of one item collection begin with: the partition key."""
    return key[: 10 + int.from_bytes(key[8:10], "big")]


def collection_delta_bytes(change: Change) -> int:
    """By how much a write changes the size of its item collection. 0.5 µs and 0.3 µs an index entry."""
    size_bytes = 0
    if change.old is not None:
        size_bytes -= row_size_bytes(change.old)
    if change.new is not None:
        size_bytes += row_size_bytes(change.new)
    for source, old, new in change.entries:
        index = source.index
        if index is None or index.is_global:
            continue
        if old is not None:
            size_bytes -= row_size_bytes(old.row)
        if new is not None:
            size_bytes += row_size_bytes(new.row)
    return size_bytes
