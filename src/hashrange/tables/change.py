"""What is a write? A Change: one key of one table, the row before and the row after.

Everything that follows from a write (statistics, index entries, stream records) is a function of Changes.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hashrange.items.types import Key, Row
from hashrange.tables.entries import EntryWrite
from hashrange.tables.schema import Table


class Change(NamedTuple):
    """One planned or committed write; `old == new` changed nothing."""

    table: Table
    key: Key
    old: Row | None
    new: Row | None
    entries: Sequence[EntryWrite] = ()
    """What it does to the table's indexes; derived where it is committed."""


Plan = Callable[[Row | None], Row | None]
"""Computes the new row from the old one (None: no item). Pure: it may refuse by raising, and may be called again."""
