"""What does a store do outside of requests? It fills new indexes and queues of expiries, writes delayed entries,
deletes expired items, tends streams, splits partitions, merges row versions.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeVar

from hashrange.errors import ResourceNotFoundException, StorageBusy, ValidationException
from hashrange.items.keys import prefix_upper_bound
from hashrange.items.types import Key
from hashrange.soon import settled
from hashrange.store.embedded import layout
from hashrange.store.embedded.catalog import EmbeddedCatalog
from hashrange.store.embedded.change_log import ChangeLog
from hashrange.store.embedded.commits import Commits
from hashrange.store.embedded.draft import Draft
from hashrange.store.embedded.engine import SKIPPED_KEYS_MAX, Engine
from hashrange.store.embedded.expiries import Due, Expiries, is_left, item_key_of, plan_expiry
from hashrange.store.embedded.index_entries import IndexEntries
from hashrange.store.embedded.ordered_queue import Queued
from hashrange.store.embedded.participant import Options
from hashrange.store.embedded.settling import Settling
from hashrange.store.embedded.stalls import wait_while_behind
from hashrange.store.embedded.streams import EmbeddedStreams
from hashrange.store.embedded.walks import Ahead, Clogged, Limits, Outrun, Walks
from hashrange.store.interface import Backfill, DelayOf, SeeChanges, TransactionStep
from hashrange.store.pause import PAUSE
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import Partition, next_to_split
from hashrange.tables.source_id import SourceId, table_id_of

OUTRUN_MAX = 3
"""After a slice of a walk has raised `walks.Outrun` this often, it derives changed rows without giving way."""


GROUP_ROWS = 16
"""Small expired items that are deleted in one commit, which takes some 0.2 ms; then other requests run."""
GROUP_ITEM_BYTES_MAX = 4096
"""The items of a table count as small if their average size is at most this."""

T = TypeVar("T")


class Upkeep:
    """Implements `interface.LocalMaintenance`."""

    def __init__(
        self, commits: Commits, walks: Walks, catalog: EmbeddedCatalog, streams: EmbeddedStreams, options: Options
    ) -> None:
        site = self._site = commits.site
        self._opened = site.tables
        self._commits = commits
        self._walks = walks
        self._catalog = catalog
        self._streams = streams
        self._options = options
        participants = self._opened.participants
        self._expiries = next(one for one in participants if isinstance(one, Expiries))
        log = next(one for one in participants if isinstance(one, ChangeLog))
        self._delayed, self._windows = log.delayed, log.windows
        self._late = next(one.late for one in participants if isinstance(one, IndexEntries))
        self._settling = Settling(site.housekeeper, is_in_memory=site.is_in_memory)
        self._wanted: dict[bytes, int] = {}
        """Source id → number of partitions that its source is to have."""
        self.pages_read = 0
        """Number of pages read from the engine since the store was opened."""

    def on_work(self, wake: Callable[[], None]) -> None:
        """Implements `LocalMaintenance.on_work`."""
        self._site.wake = wake

    # --- new indexes and queues of expiries -------------------------------------------------------

    def backfills(self) -> Sequence[Backfill]:
        """The walks in progress, which fill new indexes and queues of expiries, in the order in which they began.

        Those in progress when the store was opened come first, in order of table ids.
        """
        found = [(self._opened.find(table_id_of(source_id)), source_id) for source_id in self._walks.positions]
        return [Backfill(table.schema, source_id) for table, source_id in found if table is not None]

    async def backfill(self, source_id: bytes, limit_rows: int) -> None:
        """Implements `LocalMaintenance.backfill`.

        Suspends only if flushes and compactions lag, the engine is stalled, or too many deleted rows stand in the way;
        these are compacted away, and the slice starts again.
        """
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

    async def _backfill(self, source_id: bytes, limits: Limits) -> None:
        """Do one slice of a backfill. Raises Clogged, Outrun, StorageError."""
        table = self._opened.find(table_id_of(source_id))
        if table is None or source_id not in self._walks.positions:
            return
        site = self._site
        with self._engine_errors(limits):
            ahead = self._walks.look_ahead(site.engine, site.barrier.position + 1, table, source_id, limits)
        await self._commits.commit(lambda draft: self._fill(draft, source_id, limits, ahead))

    def _fill(self, draft: Draft, source_id: bytes, limits: Limits, ahead: Ahead) -> None:
        table = self._opened.find(table_id_of(source_id))
        if table is None or source_id not in self._walks.positions:
            return
        with self._engine_errors(limits):
            part = self._walks.next_slice(draft, table, source_id, limits, ahead)
        if part.is_last:
            filled = self._walks.filler(table.schema, source_id).filled(table.schema, source_id)
            if filled is not table.schema:
                self._catalog.put(draft, table.schema, filled)

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

    # --- streams and partitions -------------------------------------------------------------------

    async def tend_streams(self) -> float | None:
        """Implements `LocalMaintenance.tend_streams`. Suspends only if the engine is stalled."""
        return await self._commits.commit(self._streams.tend)

    async def tend_recovery(self) -> float | None:
        """Implements `LocalMaintenance.tend_recovery`. Suspends only if the engine is stalled."""
        return await self._commits.commit(self._windows.tend)

    def want_partitions(self, source_id: bytes, count: int) -> None:
        """Implements `LocalMaintenance.want_partitions`."""
        self._wanted[source_id] = max(count, self._wanted.get(source_id, 1))
        self._site.statistics.has_grown(source_id)

    async def split_partitions(self) -> bool:
        """Implements `LocalMaintenance.split_partitions`. Suspends only if the engine is stalled."""
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

    async def split_partition(self, partition: Partition) -> bool:
        """Implements `LocalMaintenance.split_partition`. Suspends only if the engine is stalled."""
        return await self._commits.commit(lambda draft: self._split_this(draft, partition))

    def _split_this(self, draft: Draft, partition: Partition) -> bool:
        table = self._opened.find(table_id_of(partition.source_id))
        if table is None or partition not in table.partitions.get(partition.source_id, ()):
            return False
        self._catalog.split(draft, table, partition)
        return True

    # --- delayed index entries --------------------------------------------------------------------

    @contextmanager
    def ready_for_delay(self, *, is_wanted: bool) -> Iterator[None]:
        """Implements `LocalMaintenance.ready_for_delay`."""
        delayed = self._delayed
        was_used = delayed.is_used
        delayed.expected += is_wanted
        try:
            if is_wanted and not was_used:
                self._catalog.reopen()
            yield
        finally:
            delayed.expected -= is_wanted
        if was_used and not delayed.is_used:
            self._catalog.reopen()

    def delay_index_entries(self, draw: DelayOf | None, most_seconds: float) -> None:
        """Implements `LocalMaintenance.delay_index_entries`."""
        self._delayed.delay_by(draw, most_seconds)
        self._site.wake_jobs()

    async def apply_delayed(self, limit_rows: int) -> float | None:
        """Implements `LocalMaintenance.apply_delayed`. Suspends only if the engine is stalled."""
        with self._site.failures():
            self._delayed.look_ahead(self._site.engine, limit_rows)
        return await self._commits.commit(lambda draft: self._drain(draft, limit_rows))

    def _drain(self, draft: Draft, limit_rows: int) -> float | None:
        with self._site.failures():
            pauses = [self._delayed.drain(draft, limit_rows), self._late.drain(draft)]
        return min([pause for pause in pauses if pause is not None], default=None)

    # --- expired items ----------------------------------------------------------------------------

    async def expire(self, limit_rows: int, see: SeeChanges) -> float | None:
        """Implements `LocalMaintenance.expire`: items that are due are read from a queue, and deleted in groups.

        Suspends after each group of items, in a stall, while another write claims an item, and while queues with too
        many deleted rows are compacted.
        """
        expiries = self._expiries
        due = await self._look_at_queues(partial(expiries.due, limit_rows))
        if not isinstance(due, Due):
            return due
        left: list[Queued] = []
        for group in self._groups(due):
            if not self._opened.is_current(due.table):
                return 0.0
            try:
                changes = await self._delete(due, list(group), see)
            except ResourceNotFoundException:
                return 0.0
            left += [
                queued
                for queued, change in zip(group.values(), changes, strict=True)
                if is_left(change, queued, due.attribute)
            ]
            await PAUSE
        await self._commits.commit(lambda draft: expiries.taken(draft, due, left))
        expiries.passed(due)
        return 0.0

    async def expire_now(self, table: OpenTable | None, see: SeeChanges) -> int:
        """Implements `LocalMaintenance.expire_now`. Suspends in the same cases as `expire`."""
        now_seconds = self._site.clock.service_time()
        sources = self._expiries.sources() if table is None else [table.source_id]
        deleted = 0
        for source_id in sources:
            deleted += await self._expire_now(source_id, now_seconds, see)
            await PAUSE
        return deleted

    async def _expire_now(self, source_id: bytes, now_seconds: float, see: SeeChanges) -> int:
        """Delete one table's items that have expired by `now_seconds`; return how many."""
        deleted = 0
        start = b""
        while True:
            due = await self._look_at_queues(partial(self._expiries.expired, source_id, now_seconds, start))
            if due is None:
                return deleted
            for group in self._groups(due):
                if not self._opened.is_current(due.table):
                    break  # the table has changed: the rows of the remaining groups are read again
                with suppress(ResourceNotFoundException):
                    changes = await self._delete(due, list(group), see)
                    deleted += sum([change.old is not None and change.new is None for change in changes])
                start = list(group.values())[-1].key + b"\x00"
                await PAUSE

    def _groups(self, due: Due) -> Iterator[dict[Key, Queued]]:
        """Groups of rows of the queue, by item key, for one commit each; of one row if items are large or indexed.

        An item may have several rows in the queue; they are in different groups. If the item has expired, the first of
        them deletes it.
        """
        statistics = self._site.statistics.of(due.table.source_id)
        is_small = statistics.size_bytes <= GROUP_ITEM_BYTES_MAX * statistics.item_count and not due.table.entry_sources
        group: dict[Key, Queued] = {}
        for queued in due.rows:
            key = item_key_of(queued.key)
            if group and (key in group or len(group) == GROUP_ROWS or not is_small):
                yield group
                group = {}
            group[key] = queued
        if group:
            yield group

    async def _delete(self, due: Due, keys: Sequence[Key], see: SeeChanges) -> Sequence[Change]:
        """Delete the items at `keys` that are still expired: in one commit, or one by one if it would be too large."""
        table, plan = due.table, plan_expiry(due)
        changes: list[Change] = []
        if len(keys) > 1:
            with suppress(ValidationException):
                steps = [TransactionStep(table, key, plan) for key in keys]
                changes += (await self._commits.transact(steps, None, origin="ttl")).changes
                see(changes)
                return changes
        for key in keys:
            changes.append(await settled(self._commits.mutate(table, key, plan, origin="ttl")))
            see(changes[-1:])
        return changes

    async def _look_at_queues(self, look: Callable[[Engine], T]) -> T:
        """The result of `look`, which reads queues of expiries. Raises StorageError.

        If `look` meets too many deleted rows, the queues are compacted, and `look` is called once more.
        """
        with suppress(StorageBusy), self._site.failures():
            return look(self._site.engine)
        await self._site.compact(layout.TIME_TO_LIVE_PREFIX, prefix_upper_bound(layout.TIME_TO_LIVE_PREFIX))
        with self._site.failures():
            return look(self._site.engine)

    # --- vector indexes ---------------------------------------------------------------------------

    async def tend_vectors(self) -> float | None:
        """Implements `LocalMaintenance.tend_vectors`, in some 2 ms."""
        return 0.0 if self._site.vector_parts.tend() else None

    # --- order after writes -----------------------------------------------------------------------

    async def settle(self) -> float:
        """Merge old versions of rows away, on the housekeeping thread, if no commit was made since the last call.

        Also sets the engine's pace of merging, and decides which reads fill the block cache. Returns the seconds until
        the next call.
        """
        site = self._site
        site.reads.admission.look(site.engine)
        is_bulk = bool(self._walks.positions) or site.is_loaded
        site.is_loaded = False
        position, moves = site.barrier.position, site.moves_alone
        return self._settling.look(site.engine, position, self.pages_read, moves, is_bulk=is_bulk)
