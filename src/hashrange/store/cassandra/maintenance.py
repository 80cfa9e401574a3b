"""What does a server of a cluster do without a request? It refreshes the view of tables, and finishes what killed servers
have left: transactions, deleted tables, and changes whose entries in global indexes are due.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from hashrange.store.cassandra.catalog import CassandraCatalog
from hashrange.store.cassandra.index_entries import IndexEntries
from hashrange.store.cassandra.transactions import Transactions
from hashrange.store.interface import Backfill, DelayOf, SeeChanges
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import Partition

VIEW_SECONDS = 1.0
"""How often the view of tables is refreshed."""
SWEEP_SECONDS = 30.0
"""How often what others may have left is looked for."""


class CassandraMaintenance:
    """The work of a server of a cluster outside of requests."""

    def __init__(self, catalog: CassandraCatalog, entries: IndexEntries, transactions: Transactions) -> None:
        self._catalog = catalog
        self._entries = entries
        self._transactions = transactions
        self._sweep_at_seconds = 0.0

    def backfills(self) -> Sequence[Backfill]:
        """None: indexes are made with their tables."""
        return ()

    async def backfill(self, source_id: bytes, limit_rows: int) -> None:
        """Does nothing."""

    async def apply_delayed(self, limit_rows: int) -> float | None:
        """Nothing is delayed on purpose."""
        return None

    def ready_for_delay(self, *, is_wanted: bool) -> AbstractContextManager[None]:
        """Does nothing."""
        return nullcontext()

    def delay_index_entries(self, draw: DelayOf | None, most_seconds: float) -> None:
        """Does nothing."""

    async def expire(self, limit_rows: int, see: SeeChanges) -> float | None:
        """Nothing expires."""
        return None

    async def expire_now(self, table: OpenTable | None, see: SeeChanges) -> int:
        """Nothing expires."""
        return 0

    async def tend_streams(self) -> float | None:
        """There are no streams."""
        return None

    async def tend_recovery(self) -> float | None:
        """There is no recovery."""
        return None

    async def split_partitions(self) -> bool:
        """Slots are not split."""
        return False

    def want_partitions(self, source_id: bytes, count: int) -> None:
        """Slots are not split."""

    async def split_partition(self, partition: Partition) -> bool:
        """Slots are not split."""
        return False

    async def tend_vectors(self) -> float | None:
        """There are no vector indexes."""
        return None

    async def settle(self) -> float:
        """Refresh the view, and sometimes look for what others have left. Raises StorageError."""
        await self._catalog.refresh()
        now_seconds = time.monotonic()
        if now_seconds >= self._sweep_at_seconds:
            self._sweep_at_seconds = now_seconds + SWEEP_SECONDS
            await self._entries.sweep()
            await self._transactions.sweep()
        return VIEW_SECONDS

    def on_work(self, wake: Callable[[], None]) -> None:
        """Nothing becomes due early."""
