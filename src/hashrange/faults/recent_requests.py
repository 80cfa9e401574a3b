"""Which requests are in conflict, though one has ended before the other began?
Those that name one item within some seconds, if one of them is a transaction, and one of them writes.
"""

import math
from typing import NamedTuple

from hashrange.clock import Clock
from hashrange.items.types import Key
from hashrange.tables.open_table import OpenTable

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
