"""The store on one machine: RocksDB, one process, one event loop.

`get`, `mutate`, `transact` and every catalog change run from their read to their commit without suspending: that is the whole
concurrency control. A commit is atomic in the engine, and durable once the barrier says so. After a failed write, sync
or read nothing is served until the engine has been reopened (`health.py`), for only the disk knows what it holds; with a full
disk, reading goes on.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from hashrange.clock import Clock
from hashrange.errors import ApiError, StorageBusy, StorageError
from hashrange.items.types import Item, Key, Row
from hashrange.store.embedded.admission import Admission
from hashrange.store.embedded.backfill import Backfills
from hashrange.store.embedded.catalog import EmbeddedCatalog, existing
from hashrange.store.embedded.durability import Waiter
from hashrange.store.embedded.engine import Engine, close_engine, is_behind, new_batch, open_engine
from hashrange.store.embedded.faults import storage_error
from hashrange.store.embedded.figures import Figures
from hashrange.store.embedded.health import Health
from hashrange.store.embedded.housekeeping import Housekeeper
from hashrange.store.embedded.identity import FolderLock
from hashrange.store.embedded.item_collections import ItemCollections
from hashrange.store.embedded.outbox import IndexDelay, Outbox
from hashrange.store.embedded.read_cache import ReadCache
from hashrange.store.embedded.settling import Settling
from hashrange.store.embedded.tokens import Tokens
from hashrange.store.interface import Backfilled, Check, Page, Statistics, Step, Token, Transacted, TransactionRefused
from hashrange.store.pause import PAUSE
from hashrange.store.steps import plan_steps
from hashrange.tables.change import Change, Plan
from hashrange.tables.derive import changes_statistics, statistics_deltas
from hashrange.tables.entries import derive_entry_writes
from hashrange.tables.schema import Index, Table
from hashrange.tables.span import Span

T = TypeVar("T")

PAGE_SECONDS_MAX = 0.005
"""How long a page may hold the loop before it lets others run."""
STALL_DELAYS_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""How long a request waits in a stall before each further attempt; then it fails."""
ROOM_LOOK_SECONDS, ROOM_LOOKS_MAX = 0.02, 100
"""How often, and how many times, work that can wait looks whether the engine has caught up."""
RECLAIMED_BYTES_MIN = 4_000_000
"""A deleted table of at least this size is compacted away at once; smaller ones go when their neighbours do."""


class EmbeddedStore:
    """Rows by key in one engine. Made by `opening.open_store`."""

    def __init__(
        self,
        data_dir: str | None,
        clock: Clock,
        loop: asyncio.AbstractEventLoop | None,
        lock: FolderLock | None,
        index_delay: IndexDelay | None,
        collection_size_max_bytes: int,
    ) -> None:
        """Opens the engine of a folder that is locked; `None` is memory. Raises StorageError."""
        self.place = data_dir or "memory"
        self._data_dir = data_dir
        self._clock = clock
        self._lock = lock
        self._loop = loop
        self._housekeeper = Housekeeper()
        self._settling = Settling(self._housekeeper, is_in_memory=data_dir is None)
        self._pages_read = 0
        self.figures = Figures()
        self._tokens = Tokens(self._housekeeper)
        self._collections = ItemCollections(collection_size_max_bytes)
        self._backfills = Backfills(self)
        self._outbox = Outbox(self, clock, index_delay)
        self.wake: Callable[[], None] = lambda: None
        """Called whenever there is something new to do for jobs."""
        self._health = Health(self, clock, loop, lock)
        self._barrier = self._health.barrier
        self.catalog = EmbeddedCatalog(self)
        self.engine: Engine = open_engine(data_dir)
        self.reads = ReadCache(Admission(is_in_memory=data_dir is None))
        self.committed = self._barrier.commit
        try:
            self._health.begin()
            self.load()
        except Exception as error:
            close_engine(self.engine, self.place, may_fail=True)
            raise storage_error(error, self.place) from error

    # --- rows ------------------------------------------------------------------------------------

    async def get(self, source: bytes, key: Key, *, consistent: bool) -> Row | None:
        """The row at `key`. Never suspends. Raises StorageError."""
        try:
            return self.reads.row(self.engine, source + key)
        except Exception as error:
            raise self.fail(error) from error

    async def mutate(self, table: Table, key: Key, plan: Plan, item: Item | None = None) -> Change:
        """Replace the row at `key` by `plan(old row)`; a row that stays the same is not written.

        Suspends only when the engine is stalled, and then reads and plans again.
        """
        engine_key = table.source + key
        current = self.catalog.by_id.get
        attempt = 0
        while True:
            stored = current(table.table_id)
            if stored is not table:
                table = existing(stored)
            try:
                old = self.reads.row_to_replace(self.engine, engine_key)
            except Exception as error:
                raise self.fail(error) from error
            new = plan(old)
            if new == old:
                return Change(table, key, old, new)
            entries = derive_entry_writes(table, key, old, new, item) if table.indexes else ()
            change = Change(table, key, old, new, entries)
            try:
                if change.entries or changes_statistics(old, new):
                    batch = new_batch()
                    if table.indexes:
                        self._collections.count(self.engine, batch, change)
                    self._write_changes(batch, (change,))
                else:
                    self.engine.put(engine_key, new)
                    self.reads.written(engine_key, old, new)
            except ApiError:
                raise
            except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
                await self.wait_out_stall(error, attempt)
                attempt += 1
                continue
            self.committed()
            return change

    async def transact(self, steps: Sequence[Step], token: Token | None, check: Check) -> Transacted:
        """Replace the rows of all steps in one commit, or none. Suspends only when the engine is stalled, then starts again."""
        attempt = 0
        while True:
            try:
                report = None if token is None else self._tokens.replayed_report(self.engine, token)
                if report is not None:
                    return Transacted((), report)
                get, engine = self.reads.row_to_replace, self.engine
                rows = [None if key is None else get(engine, table.source + key) for table, key, _ in steps]
            except ApiError:
                raise
            except Exception as error:
                raise self.fail(error) from error
            current = self.catalog.by_id.get
            steps = [step._replace(table=existing(current(step.table.table_id))) for step in steps]
            changes = plan_steps(steps, rows)
            check(changes)
            written = [change for change in changes if change.new != change.old]
            if token is None and not written:
                return Transacted(changes)
            try:
                batch = new_batch()
                self._collections.count_all(self.engine, batch, changes)
                if token is not None:
                    self._tokens.add(self.engine, batch, token, changes)
                self._write_changes(batch, written)
            except TransactionRefused:
                raise
            except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
                await self.wait_out_stall(error, attempt)
                attempt += 1
                continue
            self._tokens.committed()
            self.committed()
            return Transacted(changes)

    async def snapshot_get(self, places: Sequence[tuple[Table, Key]]) -> list[Row | None]:
        """The rows at all these places, as of one point in time. Never suspends. Raises StorageError."""
        try:
            return [self.reads.row(self.engine, table.source + key) for table, key in places]
        except Exception as error:
            raise self.fail(error) from error

    def _write_changes(self, batch: Engine, changes: Sequence[Change]) -> None:
        """Write rows, index entries and the new figures of all their sources, with what stands in the batch."""
        changes = planned = self._backfills.maintained(changes)
        if self._outbox.is_used:
            changes = self._outbox.divert(batch, planned)
        put, delete = batch.put, batch.delete
        for table, key, _, new, entries in changes:
            if new is None:
                delete(table.source + key)
            else:
                put(table.source + key, new)
            for source, before, after in entries:
                if before is not None and (after is None or after.key != before.key):
                    delete(source.source + before.key)
                if after is not None:
                    put(source.source + after.key, after.row)
        self.write_batch(batch, statistics_deltas(changes))
        self.reads.changed(changes)
        if changes is not planned:
            self._outbox.diverted()

    def write_batch(self, batch: Engine, deltas: dict[bytes, tuple[int, int]]) -> None:
        """Write a batch, and with it by how much the figures of sources change. Raises the engine's bare exceptions."""
        changed = self.figures.put_into(batch, deltas)
        self.engine.write(batch)
        self.figures.written(changed)

    # --- work that no request does ----------------------------------------------------------------

    def backfills(self) -> Sequence[tuple[Table, Index]]:
        """The indexes that are CREATING."""
        return self._backfills.going_on()

    async def backfill(self, table: Table, index: Index, limit_rows: int) -> Backfilled:
        """Make the entries of the next rows; suspends only when the engine is stalled or many rows were deleted."""
        return await self._backfills.advance(table, index, limit_rows)

    async def apply_delayed(self, limit_rows: int) -> float | None:
        """Write the entries of the oldest commits whose time has come; suspends only when the engine is stalled."""
        return await self._outbox.apply(limit_rows)

    async def settle(self) -> float:
        """Put in order what writes have left, beside the loop, if none came since the last call."""
        self.reads.admission.look(self.engine)
        is_bulk = bool(self._backfills.positions)
        return self._settling.look(self.engine, self._barrier.position, self._pages_read, is_bulk=is_bulk)

    def on_work(self, wake: Callable[[], None]) -> None:
        """From now on, call `wake` whenever there is something new to do for `backfill` or `apply_delayed`."""
        self.wake = wake

    async def page(self, source: bytes, span: Span, limit_rows: int, limit_bytes: int, *, consistent: bool) -> Page:
        """Rows of `span` until one of the limits is reached; the row that reaches it is included.

        Lets others run every few milliseconds and goes on after the last row read, so a long page is no snapshot.
        """
        reader, was_kept = self.reads.page(self.engine, source, span, limit_rows, limit_bytes)
        self._pages_read += not was_kept
        if isinstance(reader, Page):
            return reader
        monotonic = self._clock.monotonic
        generation = self._health.generation
        while True:
            try:
                page = reader.advance(self.engine, monotonic, monotonic() + PAGE_SECONDS_MAX)
            except Exception as error:
                fault = self.fail(error)
                if not isinstance(fault, StorageBusy) or not reader.skipped_keys_max:
                    raise fault from error
                await self.compact(source + span.lower, source + span.upper)
                reader.skipped_keys_max = 0
                page = None
            if page is not None:
                return page
            await PAUSE
            self._health.require(generation)

    async def collection_size_bytes(self, table: Table, key: Key) -> int:
        """Size of the item collection that `key` belongs to. Never suspends. Raises StorageError."""
        try:
            return self._collections.size_bytes(self.engine, table, key)
        except Exception as error:
            raise self.fail(error) from error

    def statistics(self, source: bytes) -> Statistics:
        """Item count and size of a source; exact, as of the last commit."""
        return self.figures.of(source)

    # --- durability ------------------------------------------------------------------------------

    def position(self) -> int:
        """Number of the last commit; grows by one with each."""
        return self._barrier.position

    def durable_position(self) -> int:
        """Number of the last commit that would survive a power cut; always `position()` for a store in memory."""
        return self._barrier.durable_position

    def when_durable(self, position: int, callback: Waiter) -> None:
        """Call `callback` once everything up to `position` is durable (at once if it is), or with the error."""
        self._barrier.when_durable(position, callback)

    # --- what the catalog needs ------------------------------------------------------------------

    def commit_batch(self, batch: Engine) -> None:
        """Write one batch. Raises StorageBusy when it must be tried again later, or another StorageError."""
        try:
            self.engine.write(batch)
        except Exception as error:
            raise self.fail(error) from error
        self.committed()

    async def attempt(self, step: Callable[[], T]) -> T:
        """Run `step`, which does not suspend, and again from its beginning as long as it raises StorageBusy."""
        attempt = 0
        while True:
            try:
                return step()
            except StorageBusy as error:
                await self.wait_out_stall(error, attempt)
                attempt += 1

    def watch(self, table: Table) -> None:
        """Hear of a table that has other indexes than before."""
        if self._backfills.watch(table):
            self.wake()

    def forget(self, lower: bytes, upper: bytes) -> None:
        """Drop the figures of sources that are gone, and have their room given back if it was large."""
        self._backfills.forget(lower, upper)
        self.reads.clear()
        if self.figures.forget(lower, upper) >= RECLAIMED_BYTES_MIN and self._loop is not None:
            self._housekeeper.compact(self.engine, lower, upper)

    def stop_housekeeping(self, engine: Engine) -> bool:
        """Before `engine` is closed; True when that ended its flushes as well."""
        return self._housekeeper.stop(engine)

    # --- trouble ---------------------------------------------------------------------------------

    def fail(self, error: Exception) -> StorageError:
        """The StorageError to raise for `error`; unless it is only a stall, less or nothing is served until a reopening."""
        if isinstance(error, StorageError):
            return error
        fault = storage_error(error, self.place)
        if not isinstance(fault, StorageBusy):
            self._health.fail(fault)
        return fault

    def use(self, engine: Engine) -> None:
        """Take another engine: what was read from the one before need not be true of it."""
        self.engine = engine
        self.reads.clear()

    def load(self) -> None:
        """Read catalog and figures from the engine, which has just been opened."""
        self._tokens = Tokens(self._housekeeper)
        self.figures.load(self.engine)
        self.catalog.load(self.engine)
        self._backfills.load(self.engine)
        self._outbox.load(self.engine)
        self.wake()

    async def wait_out_stall(self, error: Exception, attempt: int) -> None:
        """Delay this request, not the loop. Raises unless `error` is a stall and patience is left."""
        fault = self.fail(error)
        if not isinstance(fault, StorageBusy) or attempt == len(STALL_DELAYS_SECONDS):
            raise fault from error
        generation = self._health.generation
        await PAUSE
        await asyncio.sleep(STALL_DELAYS_SECONDS[attempt])
        self._health.require(generation)

    async def wait_for_room(self) -> None:
        """For work that can wait: let the engine catch up, before requests feel its stall."""
        for _ in range(ROOM_LOOKS_MAX):
            if not is_behind(self.engine):
                return
            await PAUSE
            await asyncio.sleep(ROOM_LOOK_SECONDS)

    async def compact(self, lower: bytes, upper: bytes) -> None:
        """Have deleted keys of a range cleared away, beside the loop."""
        engine = self.engine
        await PAUSE
        await asyncio.wrap_future(self._housekeeper.compact(engine, lower, upper))

    async def close(self) -> None:
        """Make everything durable and let go of the folder. Raises StorageError if that fails; it is closed anyway."""
        self.close_now()

    def close_now(self) -> None:
        """`close`, for callers without a loop."""
        self._barrier.finish()
        engine = self._health.shut()
        try:
            if engine is not None:
                is_cut_short = self.stop_housekeeping(engine)
                close_engine(engine, self.place, may_fail=is_cut_short or self._data_dir is None)
                if not is_cut_short:
                    self._health.closed_in_order()
        finally:
            if self._lock is not None:
                self._lock.release()
