"""Which row does a stale read return? The row as it was some seconds of service time earlier, from the changes made
since. Entries of local indexes are rows too.
"""

from collections import deque
from collections.abc import Iterable, Iterator

from hashrange.faults.table_rows import TableRows
from hashrange.items.row_layout import row_size_bytes
from hashrange.items.rows import decode_row
from hashrange.items.types import Key, Row
from hashrange.store.interface import Page
from hashrange.tables.change import Change
from hashrange.tables.span import Span

CHANGES_MAX = 10_000
"""Most changes that are kept. Reads of items whose older changes are no longer kept are less stale."""
CHANGES_BYTES_MAX = 32 * 1024 * 1024
"""Most bytes of rows that are kept, not counting the last change."""


class StaleRows:
    """The latest changes of rows, from which they are shown as they were before."""

    def __init__(self, seconds_max: float) -> None:
        """`seconds_max`: how stale reads can be; older changes are not kept."""
        self._seconds_max = seconds_max
        self._changes: dict[tuple[bytes, Key], deque[tuple[float, Row | None]]] = {}
        """(source id, key) → service time of each change, and the row before it; the oldest change first."""
        self._order: deque[tuple[bytes, Key]] = deque()
        """TableRows id and key of each change, the oldest first."""
        self._size_bytes = 0

    def note(self, changes: Iterable[Change], now_seconds: float) -> None:
        """Keep changes that were just committed."""
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

        It ends with the row that reaches a limit, as `Store.page` does.
        """
        lower, upper = span.lower, span.upper
        if page.last_key is not None:
            lower, upper = (page.last_key, upper) if span.is_reverse else (lower, page.last_key + b"\x00")
        source_id = bytes(source.read.source_id)
        changed = {key for found, key in self._changes if found == source_id and lower <= key < upper}
        if not changed:
            return page
        rows = {source.key_of(decode_row(row)): row for row in page.rows}
        for key in changed:
            row = self.row(source_id, key, rows.get(key), since_seconds)
            if row is None:
                rows.pop(key, None)
            else:
                rows[key] = row
        keys = sorted(rows, reverse=span.is_reverse)
        size_bytes = 0
        for count, key in enumerate(keys, 1):
            size_bytes += row_size_bytes(rows[key])
            if count == limit_rows or size_bytes >= limit_bytes:
                return Page([rows[one] for one in keys[:count]], size_bytes, key)
        return Page([rows[key] for key in keys], size_bytes, page.last_key)


def _rows_before(change: Change) -> Iterator[tuple[bytes, Key, Row | None]]:
    """TableRows id and key of each row that a change alters in its table and the local indexes,
    and the row before it.
    """
    if change.old != change.new:
        yield bytes(change.table.source_id), change.key, change.old
    for source, old, new in change.entries:
        if source.index is None or source.index.is_global:
            continue
        if old is not None:
            yield bytes(source.source_id), old.key, old.row
        if new is not None and (old is None or old.key != new.key):
            yield bytes(source.source_id), new.key, None
