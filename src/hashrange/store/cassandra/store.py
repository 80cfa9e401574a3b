"""How is the store of a cluster put together? CassandraStore: slots, transactions, index entries and catalog over one
session.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from hashrange.clock import Clock
from hashrange.errors import StorageError, UnsupportedOperationException
from hashrange.items.types import Key, Row
from hashrange.messages.cluster import NO_VECTORS
from hashrange.store.cassandra.catalog import CassandraCatalog
from hashrange.store.cassandra.global_indexes import GlobalIndexes
from hashrange.store.cassandra.layout import SLOTS, slot_of, table_index_of
from hashrange.store.cassandra.maintenance import CassandraMaintenance
from hashrange.store.cassandra.memory_documents import MemoryDocuments
from hashrange.store.cassandra.no_streams import NoStreams
from hashrange.store.cassandra.reading import SlotReading
from hashrange.store.cassandra.session import ONE, Session
from hashrange.store.cassandra.slot_writer import read_slot_head
from hashrange.store.cassandra.slots import Slots
from hashrange.store.cassandra.transactions import Transactions
from hashrange.store.cassandra.works import Locked, ReplaceItem, conflict
from hashrange.store.interface import (
    IdempotencyToken,
    ItemPlaces,
    Page,
    Payer,
    Transacted,
    TransactionStep,
)
from hashrange.store.request_ids import RequestId
from hashrange.store.statistics import Statistics
from hashrange.tables.change import Change, Origin, Plan
from hashrange.tables.open_table import OpenTable, ReadSource
from hashrange.tables.source_id import partition_prefix
from hashrange.tables.span import Span
from hashrange.vectors.search import FoundEntries, VectorQuery

STATISTICS_SECONDS = 10.0
"""How old item counts and sizes may be."""


class CassandraStore:
    """Rows by key in a cluster that other servers share. Made by `opening.open_cassandra_store`."""

    is_kept = True
    is_clustered = True

    def __init__(self, session: Session, clock: Clock, collection_limit_bytes: int) -> None:
        self.place = session.place
        self._session = session
        self._clock = clock
        self._limit_bytes = collection_limit_bytes
        self._slots = Slots(session, clock.monotonic)
        self.catalog = CassandraCatalog(session, self._slots, clock.service_time, clock.monotonic)
        self.entries = GlobalIndexes(session, self._slots, self.catalog.all_tables)
        self.transactions = Transactions(
            session, self._slots, clock.wall_time, clock.monotonic, self.catalog.find_id, collection_limit_bytes
        )
        self._reading = SlotReading(session, self.transactions)
        self.streams = NoStreams()
        self.documents = MemoryDocuments()
        self.maintenance = CassandraMaintenance(self.catalog, self.entries, self.transactions, clock.monotonic)
        self._counted: dict[int, tuple[float, Mapping[int, Statistics]]] = {}
        """Table id → when its statistics were read, and index id → statistics."""

    # --- rows ------------------------------------------------------------------------------------

    async def get(self, source_id: bytes, key: Key, meter: Payer = None, *, consistent: bool) -> Row | None:
        """See `Store.get`."""
        return await self._reading.row(table_index_of(source_id), key, consistent=consistent)

    def unread(self, source_id: bytes, key: Key, units: float, meter: Payer = None) -> None:
        """Does nothing: this store counts no units."""

    async def page(
        self, source_id: bytes, span: Span, limit_rows: int, limit_bytes: int, meter: Payer = None, *, consistent: bool
    ) -> Page:
        """See `Store.page`."""
        return await self._reading.page(
            source_id, span, limit_rows, limit_bytes, is_global=self._is_global(source_id), consistent=consistent
        )

    def _is_global(self, source_id: bytes) -> bool:
        table = self.catalog.find_id(table_index_of(source_id).table_id)
        return table is not None and any(one.is_global for one in table.indexes if one.source_id == source_id)

    async def search_vectors(
        self, table: OpenTable, source: ReadSource, query: VectorQuery, meter: Payer = None
    ) -> FoundEntries:
        """Refused: a cluster has no vector indexes."""
        raise UnsupportedOperationException(NO_VECTORS)

    async def mutate(
        self,
        table: OpenTable,
        key: Key,
        plan: Plan,
        request_id: RequestId | None = None,
        meter: Payer = None,
        origin: Origin = "client",
    ) -> Change:
        """See `Store.mutate`."""
        place = table.table_id, slot_of(key)
        while True:
            try:
                change: Change = await self._slots.writer(*place).add(
                    ReplaceItem(table, key, plan, origin, self._limit_bytes)
                )
            except Locked as locked:
                if not await self.transactions.settle(place, locked.locks):
                    raise conflict() from None
            else:
                return change

    async def transact(
        self,
        steps: Sequence[TransactionStep],
        token: IdempotencyToken | None,
        request_id: RequestId | None = None,
        meter: Payer = None,
    ) -> Transacted:
        """See `Store.transact`."""
        return await self.transactions.transact(steps, token)

    async def snapshot_get(self, places: ItemPlaces, limit_bytes: int, meter: Payer = None) -> list[Row | None]:
        """See `Store.snapshot_get`."""
        return await self.transactions.snapshot(places)

    async def collection_size_bytes(self, table: OpenTable, key: Key) -> int:
        """See `Store.collection_size_bytes`."""
        return await self._reading.collection_bytes(table.table_id, partition_prefix(key))

    async def statistics(self, sources: Sequence[bytes]) -> Mapping[bytes, Statistics]:
        """Item count and size of each source, as of a moment some seconds ago."""
        found = {}
        for source_id in sources:
            table_id, index_id = table_index_of(source_id)
            at_seconds, counted = self._counted.get(table_id, (float("-inf"), {}))
            if self._clock.monotonic() - at_seconds >= STATISTICS_SECONDS:
                counted = await self._count(table_id)
            found[source_id] = counted.get(index_id, Statistics(0, 0))
        return found

    async def _count(self, table_id: int) -> Mapping[int, Statistics]:
        heads = await asyncio.gather(*[read_slot_head(self._session, table_id, slot, ONE) for slot in range(SLOTS)])
        sums: defaultdict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
        for head in heads:
            for index_id, (count, size_bytes) in head.counts.items():
                sums[index_id] = sums[index_id][0] + count, sums[index_id][1] + size_bytes
        counted = {index_id: Statistics(*both) for index_id, both in sums.items()}
        self._counted[table_id] = self._clock.monotonic(), counted
        return counted

    # --- durability: a commit is durable when it has returned, as far as the nodes' commit logs are ---------------

    def position(self) -> int:
        """Always 0."""
        return 0

    def position_of(self, table: OpenTable) -> int:
        """Always 0."""
        return 0

    def durable_position(self) -> int:
        """Always 0."""
        return 0

    def when_durable(self, position: int, callback: Callable[[StorageError | None], None]) -> None:
        """Call `callback` at once."""
        callback(None)

    async def close(self) -> None:
        """End what is under way, and all connections."""
        await self.transactions.settled()
        await self.entries.stop()
        await self._slots.stop()
        await self._session.close()
