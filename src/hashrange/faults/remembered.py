"""What does a store that meets faults remember? Which table has a source id, how rows were some seconds ago,
what each request is reading now, and which requests have named an item lately.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hashrange.clock import Clock
from hashrange.items.row_layout import row_size_bytes
from hashrange.items.rows import decode_row
from hashrange.items.steps import sort, walk
from hashrange.items.types import Item, Key, Row
from hashrange.store.interface import Catalog, Page
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.source_id import table_id_of
from hashrange.tables.span import Span

# --- tables and indexes by source id --------------------------------------------------------------


class TableRows(NamedTuple):
    """A table's rows, or an index's entries, with the table."""

    table: OpenTable
    read: ReadSource
    """What is read: the table's own source, or the index's."""

    @property
    def index_name(self) -> str | None:
        """Name of the index; None for a table's rows."""
        return None if self.read.index is None else self.read.index.name

    @property
    def is_local_index(self) -> bool:
        """True for the entries of a local index."""
        return self.read.index is not None and not self.read.index.is_global

    def key_of(self, item: Item) -> Key:
        """The key at which the item of a row, or the attributes of an entry, are stored."""
        own_key, entry_key = self.table.item_key(item), self.read.entry_key
        if entry_key is None:
            return own_key
        key = entry_key(item, own_key)
        assert key is not None, "what an index shows is an entry"
        return key


def find_table_rows(catalog: Catalog, source_id: bytes) -> TableRows | None:
    """The table or index with this source id; None if it has been deleted meanwhile."""
    table = catalog.find_id(table_id_of(source_id))
    if table is None:
        return None
    sources = (table.table_source, *table.indexes)
    return next((TableRows(table, one) for one in sources if one.source_id == source_id), None)


# --- rows as they were earlier --------------------------------------------------------------------

CHANGES_MAX = 10_000
"""Most changes that are kept. Reads of items whose older changes are no longer kept are less stale."""
CHANGES_BYTES_MAX = 32 * 1024 * 1024
"""Most bytes of rows that are kept, not counting the last change."""


class StaleRows:
    """The latest changes of rows, from which they are shown as they were before. Entries of local indexes are rows
    too.
    """

    def __init__(self, seconds_max: float) -> None:
        """`seconds_max`: how stale reads can be; older changes are not kept."""
        self._seconds_max = seconds_max
        self._changes: dict[tuple[bytes, Key], deque[tuple[float, Row | None]]] = {}
        """(source id, key) → service time of each change, and the row before it; the oldest change first."""
        self._order: deque[tuple[bytes, Key]] = deque()
        """Source id and key of each change, the oldest first."""
        self._size_bytes = 0

    def note(self, changes: Iterable[Change], now_seconds: float) -> None:
        """Keep changes of one commit, or of what is about to become one at `now_seconds`."""
        for change in changes:
            for source_id, key, old in _rows_before(change):
                place = (source_id, key)
                self._changes.setdefault(place, deque()).append((now_seconds, old))
                self._order.append(place)
                self._size_bytes += len(old or b"")
        while self._order and self._is_oldest_needless(now_seconds):
            self._forget_oldest()

    def _is_oldest_needless(self, now_seconds: float) -> bool:
        if len(self._order) > CHANGES_MAX or (self._size_bytes > CHANGES_BYTES_MAX and len(self._order) > 1):
            return True
        return self._changes[self._order[0]][0][0] < now_seconds - self._seconds_max

    def _forget_oldest(self) -> None:
        place = self._order.popleft()
        changes = self._changes[place]
        self._size_bytes -= len(changes.popleft()[1] or b"")
        if not changes:
            del self._changes[place]

    def row(self, source_id: bytes, key: Key, row: Row | None, since_seconds: float) -> Row | None:
        """The row at a key as it was at `since_seconds`; `row`: as it is now."""
        for at_seconds, old in self._changes.get((bytes(source_id), key), ()):
            if at_seconds > since_seconds:
                return old
        return row

    def page(
        self, source: TableRows, span: Span, page: Page, since_seconds: float, limit_rows: int, limit_bytes: int
    ) -> Page:
        """A page of a source as it was at `since_seconds`; `page`: as it is now, read from `span`.

        It ends with the row that reaches a limit, as `Store.page` does. Gives way; rows that change meanwhile are shown
        as they were.
        """
        lower, upper = span.lower, span.upper
        if page.last_key is not None:
            lower, upper = (page.last_key, upper) if span.is_reverse else (lower, page.last_key + b"\x00")
        source_id = bytes(source.read.source_id)
        changed = [key for found, key in walk(list(self._changes)) if found == source_id and lower <= key < upper]
        if not changed:
            return page
        rows = {source.key_of(decode_row(row)): row for row in walk(page.rows)}
        for key in walk(changed):
            row = self.row(source_id, key, rows.get(key), since_seconds)
            if row is None:
                rows.pop(key, None)
            else:
                rows[key] = row
        keys = sort(rows)
        if span.is_reverse:
            keys.reverse()
        size_bytes = 0
        for count, key in enumerate(walk(keys), 1):
            size_bytes += row_size_bytes(rows[key])
            if count == limit_rows or size_bytes >= limit_bytes:
                return Page([rows[one] for one in keys[:count]], size_bytes, key)
        return Page([rows[key] for key in keys], size_bytes, page.last_key)


def _rows_before(change: Change) -> Iterator[tuple[bytes, Key, Row | None]]:
    """Source id and key of each row that a change alters in its table and the local indexes, and the row before it."""
    if change.old != change.new:
        yield bytes(change.table.source_id), change.key, change.old
    for source, old, new in change.entries:
        if source.index is None or source.index.is_global:
            continue
        if old is not None:
            yield bytes(source.source_id), old.key, old.row
        if new is not None and (old is None or old.key != new.key):
            yield bytes(source.source_id), new.key, None


# --- reads of several accesses --------------------------------------------------------------------


class UnfinishedRead(NamedTuple):
    """A page of a Query or Scan of which slices have been read; the faults that its first slice met hold for all.

    The slices of a page, and the items that are fetched for entries of a local index, are parts of one read, which
    meets its faults once.
    """

    what: TableRows
    last_key: Key | None
    """Key of the last row of the last slice; None if the span ended with it."""
    since_seconds: float | None
    """Service time as of which the page shows rows; None: it shows them as they are now."""

    def goes_on(self, what: TableRows, span: Span) -> bool:
        """True if `span` is the rest of this page."""
        if self.last_key is None or self.what.read.source_id != what.read.source_id:
            return False
        return span.upper == self.last_key if span.is_reverse else span.lower == self.last_key + b"\x00"

    def fetches_from(self, table: OpenTable) -> bool:
        """True if this is a page of a local index of `table`, so that items may be fetched for its entries."""
        return self.what.is_local_index and self.what.table.table_id == table.table_id


# --- requests for one item within some seconds ----------------------------------------------------

RECENT_MAX = 10_000
"""Most items whose last requests are remembered."""
TRANSACTIONAL = frozenset({"TransactWriteItems", "TransactGetItems", "ExecuteTransaction"})
"""The operations that read or write several items as one."""
NEVER = -math.inf


class _Last(NamedTuple):
    """The last requests that named an item, as service times. A condition check of a transaction is a write."""

    write_seconds: float = NEVER
    transaction_seconds: float = NEVER
    """Time of the last transaction that named the item, to write it or to read it."""


class RecentRequests:
    """For each item, when it was last written, and last named by a transaction.

    Two requests that name one item within some seconds are in conflict, though one has ended before the other began,
    if one of them is a transaction, and one of them writes.
    Reads outside of transactions are not remembered: as in the service, they are in conflict with nothing.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: dict[tuple[int, Key], _Last] = {}
        """(table id, key) → the item's last requests; the item that was named the longest time ago first."""

    def note(self, operation: str, table: OpenTable, key: Key, *, is_write: bool) -> None:
        """Note that a request writes an item now, or that a transaction reads one."""
        place = (table.table_id, key)
        last = self._last.pop(place, _Last())
        now_seconds = self._clock.service_time()
        self._last[place] = _Last(
            now_seconds if is_write else last.write_seconds,
            now_seconds if operation in TRANSACTIONAL else last.transaction_seconds,
        )
        if len(self._last) > RECENT_MAX:
            del self._last[next(iter(self._last))]

    def is_in_conflict(
        self, operation: str, table: OpenTable, key: Key, within_seconds: float, *, is_write: bool
    ) -> bool:
        """True if a request named the item at most `within_seconds` ago, and it or `operation` is a transaction,
        and one of the two writes.
        """
        last = self._last.get((table.table_id, key))
        if last is None:
            return False
        in_the_way_seconds = max(
            last.write_seconds if operation in TRANSACTIONAL else NEVER,
            last.transaction_seconds if is_write else NEVER,
        )
        return self._clock.service_time() - in_the_way_seconds <= within_seconds
