"""What is a change? One key of one table, with its row before and after a write.

Everything that follows from a write (statistics, index entries, stream records) is a function of Changes.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from hashrange.errors import ApiError
from hashrange.items.row_layout import is_packed, row_size_bytes
from hashrange.items.rows import decode_attributes
from hashrange.items.steps import PIECE_BYTES
from hashrange.items.types import Item, Key, Row
from hashrange.tables.entries import EntryWrite, derive_entry_writes
from hashrange.tables.open_table import OpenTable

Origin = Literal["client", "ttl", "replica", "import", "restore"]
"""What causes a write: a client's request, time to live, replication, an import or a restore."""


class Change(msgspec.Struct, frozen=True, gc=False):
    """One planned or committed write: a key with its row before and after; with `old == new`, nothing changed."""

    table: OpenTable
    key: Key
    old: Row | None
    new: Row | None
    entries: Sequence[EntryWrite] = ()
    """Changes of the table's indexes, which the store derives from the other fields before it commits the write."""
    origin: Origin = "client"
    at_seconds: float = 0.0
    """Service time of the commit; may be 0 if no participant of the table uses it, or if the row stays the same."""
    position: int = 0
    """Position of the commit; greater than those of earlier commits, over restarts too. May be 0 without a commit."""
    old_item: Item | None = None
    """The decoded `old`, or None if it is not decoded; of a large item perhaps only the attributes of the table's key
    and of time to live (`followed_item`).
    """
    new_item: Item | None = None
    """The decoded `new`, with the same exceptions."""


class Planned(msgspec.Struct, frozen=True, gc=False):
    """A plan's result, with the items that the plan decoded, so that the store need not decode them again."""

    new: Row | None
    old_item: Item | None = None
    """The item of the old row, if the plan decoded it."""
    new_item: Item | None = None
    reason: ApiError | None = None
    """The step's reason if another step cancels the transaction, although this one refuses nothing."""
    derived: tuple[OpenTable, Sequence[EntryWrite]] | None = None
    """The changes of indexes, if the plan has derived them (`with_entries`), and the table for which. The store uses
    them unless the table has changed meanwhile."""


Plan = Callable[[Row | None], Planned | Row | None]
"""Computes the new row from the old one (None: no item). Pure: it may refuse by raising, and may be called again.

A plan that has decoded no items may return the row instead of a `Planned`.
"""


def followed_item(table: OpenTable, row: Row | None, item: Item | None) -> Item | None:
    """What a Change keeps of `item`: of a large or packed row only the table's `followed_names`, otherwise all.

    For such a row these attributes are decoded if `item` is None, which may give way, so that no commit has to do it. A
    decoded item of 400 KB can take 50 MB of memory. Rows are packed by `items/rows.py`. 0.1 µs for a small row.
    """
    if row is None or (len(row) <= PIECE_BYTES and not is_packed(row)):
        return item
    names = table.followed_names
    return decode_attributes(row, names) if item is None else {name: item[name] for name in names if name in item}


def entries_of(planned: Planned | Row | None, table: OpenTable, key: Key, old: Row | None) -> Sequence[EntryWrite]:
    """The changes of the table's indexes that follow from a plan's result."""
    if not isinstance(planned, Planned):
        return derive_entry_writes(table, key, old, planned)
    if planned.derived is not None and planned.derived[0] is table:
        return planned.derived[1]
    return derive_entry_writes(table, key, old, planned.new, planned.old_item, planned.new_item)


def with_entries(planned: Planned | Row | None, table: OpenTable, key: Key, old: Row | None) -> Planned:
    """The result of a plan, with the changes of the table's indexes as `derived`."""
    if not isinstance(planned, Planned):
        planned = Planned(planned)
    return msgspec.structs.replace(planned, derived=(table, entries_of(planned, table, key, old)))


def collection_growth_bytes(change: Change) -> int:
    """Bytes by which a write makes its item collection grow; negative if it shrinks. 0.5 µs, plus 0.3 µs per entry.

    They are those of its item and of entries in local indexes. A local index has the table's partition key, so the keys
    of a collection's items and entries begin with the same bytes. Entries of global indexes do not count.
    Source: service behaviour, developer guide on local secondary indexes.
    """
    old, new, entries = change.old, change.new, change.entries
    size_bytes = (0 if new is None else row_size_bytes(new)) - (0 if old is None else row_size_bytes(old))
    for source, before, after in entries:
        if source.index is not None and not source.index.is_global:
            if before is not None:
                size_bytes -= row_size_bytes(before.row)
            if after is not None:
                size_bytes += row_size_bytes(after.row)
    return size_bytes
