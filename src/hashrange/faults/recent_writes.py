"""Which requests are in conflict, though one has ended before the other began? Those that write or read an item within some seconds, one as part of a transaction."""

from hashrange.clock import Clock
from hashrange.items.types import Key
from hashrange.tables.open_table import OpenTable

RECENT_MAX = 10_000
"""Items whose last write is remembered."""
TRANSACTIONAL = frozenset({"TransactWriteItems", "TransactGetItems", "ExecuteTransaction"})
"""The operations that read or write several items as one."""


class RecentWrites:
    """When items were last written, in service time, and whether by a transaction; checks of a transaction count too."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: dict[tuple[int, Key], tuple[float, bool]] = {}
        """(table id, key) → service time, and True for a transaction; the oldest write first."""

    def note(self, operation: str, table: OpenTable, key: Key) -> None:
        """Note that a request writes an item now."""
        place = (table.table_id, key)
        self._last.pop(place, None)
        self._last[place] = (self._clock.service_time(), operation in TRANSACTIONAL)
        if len(self._last) > RECENT_MAX:
            del self._last[next(iter(self._last))]

    def is_in_conflict(self, operation: str, table: OpenTable, key: Key, within_seconds: float) -> bool:
        """True if an operation would be in conflict with a write of its item that is at most this old."""
        last = self._last.get((table.table_id, key))
        if last is None:
            return False
        at_seconds, was_transaction = last
        is_close = self._clock.service_time() - at_seconds <= within_seconds
        return is_close and (was_transaction or operation in TRANSACTIONAL)
