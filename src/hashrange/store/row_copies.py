"""How are the rows of a table read as they were at one moment, while the table is written, and how are rows kept after
their table? Backups, restores and exports are made of both.

A *copy* in progress belongs to an *owner*, a name that its maker chooses, and survives restarts. Writes to rows that it
has not passed keep the former row for it; a moment in the past is reached by undoing the changes in the table's change
log. *Kept rows* are rows under a source of their own, with no table: of a backup, or of a table that has been deleted.
Why: docs/adr/0071-row-copies.md.
"""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import msgspec

from hashrange.items.types import Item, Key, Row
from hashrange.store.statistics import Statistics
from hashrange.tables.open_table import OpenTable
from hashrange.tables.schema import Table
from hashrange.tables.source_id import SourceId

NO_ITEMS: Mapping[Key, Item] = {}


class RowCopy(msgspec.Struct, frozen=True):
    """A copy in progress."""

    number: int
    """Which of all copies it is: a copy that begins later has a higher number."""
    source_id: SourceId
    """Whose rows are copied: a table's, or kept ones."""
    at_seconds: float
    """The moment, in service time, as of which rows are read."""
    is_ready: bool
    """False while changes are being undone: no rows can be read yet."""
    passed: Key
    """Key of the last row that is no longer needed; empty at the start."""


class Begun(NamedTuple):
    """What a table was at the moment at which a copy of it began."""

    table: Table
    statistics: Statistics


class CopiedRows(NamedTuple):
    """The next rows of a copy, in order of their keys."""

    rows: Sequence[tuple[Key, Row]]
    """May be empty although more follow."""
    last_key: Key
    """Key up to which rows have been read: where to go on."""
    is_last: bool


class ChangedRow(NamedTuple):
    """What has become of a row between two moments."""

    key: Key
    at_seconds: float
    """The service time of the last change, in whole milliseconds."""
    old: Row | None
    new: Row | None
    """None, as `old`, if there was none. Both are None if it was made and deleted between the moments."""


class ChangedRows(NamedTuple):
    """The next rows of a copy of changes, in order of their keys."""

    rows: Sequence[ChangedRow]
    """May be empty although more follow."""
    last_key: Key
    is_last: bool


class Moved(NamedTuple):
    """What one slice of a copy has moved into another source."""

    row_count: int
    size_bytes: int
    """Sum of their DynamoDB item sizes."""
    is_last: bool


class RowCopies(Protocol):
    """The copies and kept rows of a store. Methods that write raise StorageError."""

    def owners(self) -> Collection[str]:
        """Owners of all copies in progress, as they are at any time; takes the same time however many there are."""

    def copy_of(self, owner: str) -> RowCopy | None:
        """The copy in progress of an owner; None if there is none."""

    def begun_after(self, number: int) -> Sequence[tuple[int, str]]:
        """Number and owner of each copy in progress that has a higher number than this, the lowest first; looks at no
        others.
        """

    def kept(self) -> dict[str, SourceId]:
        """Owner → source of the rows that are kept for it; the owner that has begun to keep rows last is the last."""

    def users(self, source_id: SourceId) -> Collection[str]:
        """Owners for whom these rows are kept, or whose copies in progress read them."""

    @property
    def attended(self) -> AbstractSet[str]:
        """Owners whose copy and rows an operation sees to at this moment: jobs leave them alone."""

    def attending(self, owner: str) -> AbstractContextManager[None]:
        """Within the context, the owner is `attended`."""

    async def begin(self, owner: str, table: Table, at_seconds: float | None = None) -> Begun | None:
        """Begin a copy of a table's rows as of this commit, or as of a moment since which its change log tells
        everything (`restorable_since`); None if the table has been deleted. A copy that the owner has already goes on.
        """

    async def begin_of_changes(
        self, owner: str, table: Table, since_seconds: float, until_seconds: float
    ) -> Begun | None:
        """Begin a copy of the rows that were changed between a moment (included) and another (not included), since the
        first of which the table's change log tells everything; None if the table has been deleted.
        """

    async def read_changes(self, owner: str, after: Key, limit_bytes: int) -> ChangedRows:
        """As `read`, of a copy of changes."""

    async def begin_of_kept(self, owner: str, source_id: SourceId) -> None:
        """Begin a copy of kept rows."""

    async def read(self, owner: str, after: Key, limit_bytes: int) -> CopiedRows:
        """The rows of a copy behind key `after`, which it has passed or read, until their length reaches the limit.

        Until the copy is ready, undoes some changes instead, in one commit. May give way.
        """

    async def passed(self, owner: str, key: Key) -> None:
        """Note that rows of a copy up to `key` are no longer needed."""

    async def move(self, owner: str, target: SourceId | OpenTable) -> Moved:
        """Add the next rows of a copy to kept rows, or to a table that is not served yet, with all that follows from
        them, in the commit that passes them; there may be none although more follow. Until the copy is ready, undoes
        some changes instead.
        """

    async def load(
        self,
        table: OpenTable,
        rows: Mapping[Key, Row],
        items: Mapping[Key, Item] = NO_ITEMS,
        perhaps_there: Collection[Key] | None = None,
    ) -> None:
        """Put rows into a table that is not served yet, in one commit, with their index entries. `items`: those of the
        rows, as far as somebody has decoded them. `perhaps_there`: the keys of which the table may have rows, so that
        nobody needs to look for others; None: all of them. Raises ResourceNotFoundException if the table no longer
        exists.
        """

    async def end(self, owner: str) -> None:
        """End a copy, complete or not, if there is one; rows that only it needed are deleted."""

    async def keep(self, owner: str, table: Table | None) -> SourceId | None:
        """Keep the rows of a table once it is deleted (None if it is deleted already); without a table, rows that
        `move` adds.
        """

    async def drop(self, owner: str) -> None:
        """Keep the owner's rows no longer, if there are any; they are deleted unless a table or copy needs them."""

    def kept_statistics(self, source_id: SourceId) -> Statistics:
        """Item count and size of kept rows, or of a table. After a kill, `move` first counts the rows again that were
        moved last.
        """

    def restorable_since(self, table: Table) -> float | None:
        """The service time since when the table's change log tells everything; None while its recovery is off."""


def row_copies_of(store: object) -> RowCopies:
    """A store's attribute `row_copies`: the copies of tables in progress, and the rows that are kept without a table.
    Nobody asks a store that has none.
    """
    copies: RowCopies | None = getattr(store, "row_copies", None)
    assert copies is not None, "what needs copies of rows is refused by a store without them"
    return copies
