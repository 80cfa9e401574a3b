"""What does a store do outside of requests? It fills new indexes and queues of expiries, writes delayed entries,
tends streams, splits partitions, merges row versions.

Expired items are deleted by `expired_items.py`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hashrange.errors import StorageBusy
from hashrange.store.embedded import layout
from hashrange.store.embedded.catalog import EmbeddedCatalog
from hashrange.store.embedded.commits import Commits
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import SKIPPED_KEYS_MAX
from hashrange.store.embedded.open_tables import OpenTables
from hashrange.store.embedded.participant import Options
from hashrange.store.embedded.settling import Settling
from hashrange.store.embedded.site import Site
from hashrange.store.embedded.stalls import wait_while_behind
from hashrange.store.embedded.streams import EmbeddedStreams
from hashrange.store.embedded.walks import Ahead, Clogged, Limits, Outrun, Walks
from hashrange.store.interface import WHOLE_LEASE, Backfill, Backfilled, Lease
from hashrange.tables.partitions import Partition, next_to_split
from hashrange.tables.source_id import SourceId, table_id_of

OUTRUN_MAX = 3
"""After a slice of a walk has raised `walks.Outrun` this often, it derives changed rows without giving way."""


class Upkeep:
    """The maintenance of one store, in slices that jobs call."""

    def __init__(
        self,
        site: Site,
        catalog: EmbeddedCatalog,
        opened: OpenTables,
        walks: Walks,
        commits: Commits,
        settling: Settling,
        streams: EmbeddedStreams,
        options: Options,
    ) -> None:
        self._site = site
        self._catalog = catalog
        self._opened = opened
        self._walks = walks
        self._commits = commits
        self._settling = settling
        self._streams = streams
        self._options = options
        self._wanted: dict[bytes, int] = {}
        """Source id → number of partitions that its source is to have."""
        self.pages_read = 0
        """Number of pages read from the engine since the store was opened."""

    def backfills(self) -> Sequence[Backfill]:
        """The walks in progress, which fill new indexes and queues of expiries, in the order in which they began.

        Those in progress when the store was opened come first, in order of table ids.
        """
        found = [(self._opened.find(table_id_of(source_id)), source_id) for source_id in self._walks.positions]
        return [Backfill(table.schema, source_id) for table, source_id in found if table is not None]

    async def backfill(self, source_id: bytes, lease: Lease, limit_rows: int) -> Backfilled:
        """Implements `Maintenance.backfill`.

        Suspends only if flushes and compactions lag, the engine is stalled, or too many deleted rows stand in the way;
        these are compacted away, and the slice starts again.
        """
        assert lease == WHOLE_LEASE
        limits = Limits(limit_rows, SKIPPED_KEYS_MAX, OUTRUN_MAX)
        while True:
            await wait_while_behind(self._site)
            try:
                return await self._backfill(source_id, limits)
            except Outrun:
                limits = limits._replace(patience=limits.patience - 1)
            except Clogged:
                limits = limits._replace(skipped_keys=0)
                await self._site.compact(*layout.table_range(table_id_of(source_id)))

    async def _backfill(self, source_id: bytes, limits: Limits) -> Backfilled:
        """Do one slice of a backfill. Raises Clogged, Outrun, StorageError."""
        table = self._opened.find(table_id_of(source_id))
        if table is None or source_id not in self._walks.positions:
            return Backfilled(0, is_complete=True)
        site = self._site
        with self._engine_errors(limits):
            ahead = self._walks.look_ahead(site.engine, site.barrier.position + 1, table, source_id, limits)
        return await self._commits.commit(lambda draft: self._fill(draft, source_id, limits, ahead))

    def _fill(self, draft: Draft, source_id: bytes, limits: Limits, ahead: Ahead) -> Backfilled:
        table = self._opened.find(table_id_of(source_id))
        if table is None or source_id not in self._walks.positions:
            return Backfilled(0, is_complete=True)
        with self._engine_errors(limits):
            part = self._walks.next_slice(draft, table, source_id, limits, ahead)
        if part.is_last:
            filled = self._walks.filled(table.schema, source_id)
            if filled is not table.schema:
                self._catalog.put(draft, table.schema, filled)
        return Backfilled(len(part.rows), part.is_last)

    @contextmanager
    def _engine_errors(self, limits: Limits) -> Iterator[None]:
        """Turn engine errors into Clogged if too many deleted rows stood in the way, otherwise into StorageError."""
        try:
            yield
        except Outrun:
            raise
        except Exception as error:
            fault = self._site.fail(error)
            if isinstance(fault, StorageBusy) and limits.skipped_keys:
                raise Clogged from error
            raise fault from error

    async def tend_streams(self, lease: Lease) -> float | None:
        """Implements `Maintenance.tend_streams`. Suspends only if the engine is stalled."""
        assert lease == WHOLE_LEASE
        return await self._commits.commit(self._streams.tend)

    def want_partitions(self, source_id: bytes, count: int) -> None:
        """Implements `Maintenance.want_partitions`."""
        self._wanted[source_id] = max(count, self._wanted.get(source_id, 1))
        self._site.statistics.has_grown(source_id)

    async def split_partitions(self, lease: Lease) -> bool:
        """Implements `Maintenance.split_partitions`. Suspends only if the engine is stalled."""
        assert lease == WHOLE_LEASE
        return bool(self._site.statistics.grown) and await self._commits.commit(self._split)

    def _split(self, draft: Draft) -> bool:
        statistics = self._site.statistics
        for source_id in list(statistics.grown):
            table = self._opened.find(table_id_of(source_id))
            if table is None or source_id not in table.partitions:
                self._split_enough(source_id)  # it was deleted after its partitions were wanted
                continue
            size_bytes = statistics.of(source_id).size_bytes
            size_max_bytes = self._options.partition_size_max_bytes
            initial_count = self._options.initial_partitions(table.schema, SourceId(source_id))
            least_count = max(initial_count, self._wanted.get(source_id, 1))
            partition = next_to_split(table.partitions[source_id], size_bytes, size_max_bytes, least_count)
            if partition is not None:
                self._catalog.split(draft, table, partition)
                return True
            self._split_enough(source_id)
        return False

    def _split_enough(self, source_id: bytes) -> None:
        self._site.statistics.grown.discard(source_id)
        self._wanted.pop(source_id, None)

    async def split_partition(self, lease: Lease, partition: Partition) -> bool:
        """Implements `Maintenance.split_partition`. Suspends only if the engine is stalled."""
        assert lease == WHOLE_LEASE
        return await self._commits.commit(lambda draft: self._split_this(draft, partition))

    def _split_this(self, draft: Draft, partition: Partition) -> bool:
        table = self._opened.find(table_id_of(partition.source_id))
        if table is None or partition not in table.partitions.get(partition.source_id, ()):
            return False
        self._catalog.split(draft, table, partition)
        return True

    async def apply_delayed(self, lease: Lease, limit_rows: int) -> float | None:
        """Implements `Maintenance.apply_delayed`. Suspends only if the engine is stalled."""
        assert lease == WHOLE_LEASE
        return await self._commits.commit(lambda draft: self._drain(draft, limit_rows))

    def _drain(self, draft: Draft, limit_rows: int) -> float | None:
        pauses = []
        for participant in self._opened.participants:
            try:
                pauses.append(participant.drain(draft, limit_rows))
            except Exception as error:
                raise self._site.fail(error) from error
        return min([pause for pause in pauses if pause is not None], default=None)

    def settle(self) -> float:
        """Merge old versions of rows away, on the housekeeping thread, if no commit was made since the last call.

        Also sets the engine's pace of merging, and decides which reads fill the block cache. Returns the seconds until
        the next call.
        """
        site = self._site
        site.reads.admission.look(site.engine)
        is_bulk = bool(self._walks.positions)
        return self._settling.look(site.engine, site.barrier.position, self.pages_read, is_bulk=is_bulk)
