"""By how many bytes does a write change the size of its item collection?
By those of its item and of entries in local indexes.

Only tables with local indexes have item collections (`Table.has_item_collections`). A local index has the table's
partition key, so the keys of a collection's items and entries begin with the same bytes. Entries of global indexes do
not count.
Source: service behaviour, developer guide on local secondary indexes.
"""

from hashrange.items.row_layout import row_size_bytes
from hashrange.tables.change import Change


def collection_delta_bytes(change: Change) -> int:
    """Bytes by which a write makes its item collection grow; negative if it shrinks. 0.5 µs, plus 0.3 µs per entry."""
    old, new, entries = change.old, change.new, change.entries
    size_bytes = (0 if new is None else row_size_bytes(new)) - (0 if old is None else row_size_bytes(old))
    for source, before, after in entries:
        if source.index is not None and not source.index.is_global:
            if before is not None:
                size_bytes -= row_size_bytes(before.row)
            if after is not None:
                size_bytes += row_size_bytes(after.row)
    return size_bytes
