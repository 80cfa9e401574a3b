"""What does a server of a cluster do without a request? It refreshes the view of tables, and finishes what killed
servers have left: transactions, and changes whose entries in global indexes are due.
"""

from collections.abc import Callable

from hashrange.store.cassandra.catalog import CassandraCatalog
from hashrange.store.cassandra.global_indexes import GlobalIndexes
from hashrange.store.cassandra.transactions import Transactions

VIEW_SECONDS = 1.0
"""How often the view of tables is refreshed."""
LEFT_BEHIND_SECONDS = 30.0
"""How often what others may have left is looked for."""


class CassandraMaintenance:
    """The work of a server of a cluster outside of requests."""

    def __init__(
        self,
        catalog: CassandraCatalog,
        entries: GlobalIndexes,
        transactions: Transactions,
        monotonic: Callable[[], float],
    ) -> None:
        self._catalog = catalog
        self._entries = entries
        self._transactions = transactions
        self._monotonic = monotonic
        self._sweep_at_seconds = float("-inf")

    async def settle(self) -> float:
        """See `Maintenance.settle`. Raises StorageError."""
        await self._catalog.refresh()
        now_seconds = self._monotonic()
        if now_seconds >= self._sweep_at_seconds:
            self._sweep_at_seconds = now_seconds + LEFT_BEHIND_SECONDS
            await self._entries.sweep()
            await self._transactions.sweep()
        return VIEW_SECONDS

    def on_work(self, wake: Callable[[], None]) -> None:
        """Nothing becomes due early."""
