"""Which requests are in conflict, though one has ended before the other began? Those that use one item within some seconds, if one of them is a transaction."""

from hashrange.clock import Clock
from hashrange.items.types import Key
from hashrange.tables.open_table import OpenTable

RECENT_MAX = 10_000
"""Most items whose last write is remembered."""
TRANSACTIONAL = frozenset({"TransactWriteItems", "TransactGetItems", "ExecuteTransaction"})
"""The operations that read or write several items as one."""


class RecentWrites:
    """For each item, when it was last written, in service time, and whether by a transaction. Condition checks of a
    transaction count as writes.
    """

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
        """True if the item was last written at most `within_seconds` ago, and that write or `operation` is a transaction."""
        last = self._last.get((table.table_id, key))
        if last is None:
            return False
        at_seconds, was_transaction = last
        is_close = self._clock.service_time() - at_seconds <= within_seconds
        return is_close and (was_transaction or operation in TRANSACTIONAL)
