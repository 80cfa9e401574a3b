"""What is a write? A Change: one key of one table, the row before and the row after.

Everything that follows from a write (statistics, index entries, stream records) is a function of Changes.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from hashrange.items.types import Item, Key, Row
from hashrange.tables.entries import EntryWrite
from hashrange.tables.open_table import OpenTable

Origin = Literal["client", "ttl", "replica", "import", "restore"]
"""Who wanted a write."""


class Change(msgspec.Struct, frozen=True, gc=False):
    """One planned or committed write; `old == new` changed nothing."""

    table: OpenTable
    key: Key
    old: Row | None
    new: Row | None
    entries: Sequence[EntryWrite] = ()
    """What it does to the table's indexes; derived where it is committed."""
    origin: Origin = "client"
    at_seconds: float = 0.0
    """Service time of the commit; 0 where nobody follows the table."""
    position: int = 0
    """Place among all commits: it grows with each, over restarts too, and no two have the same. 0 before the commit."""
    old_item: Item | None = None
    """The item of `old`, where somebody has decoded it; of a large one perhaps only the table's `followed_names`."""
    new_item: Item | None = None
    """The same of `new`."""


class Planned(msgspec.Struct, frozen=True, gc=False):
    """What a plan came to, with the items that it has at hand, so that nobody decodes them again."""

    new: Row | None
    old_item: Item | None = None
    """Of the row that the plan was given."""
    new_item: Item | None = None


Plan = Callable[[Row | None], Planned | Row | None]
"""Computes the new row from the old one (None: no item). Pure: it may refuse by raising, and may be called again.

One that has no items at hand gives just the row.
"""
