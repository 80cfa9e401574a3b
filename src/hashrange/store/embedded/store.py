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
from hashrange.errors import StorageBusy, StorageError
from hashrange.items.rows import row_size_bytes
from hashrange.items.types import Key, Row
from hashrange.store.embedded.admission import Admission
from hashrange.store.embedded.backfill import Backfills
from hashrange.store.embedded.catalog import EmbeddedCatalog
from hashrange.store.embedded.durability import Waiter
from hashrange.store.embedded.engine import Engine, close_engine, is_behind, open_engine
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
from hashrange.store.embedded.writes import Writes
from hashrange.store.interface import Backfilled, Page, Statistics
from hashrange.store.pause import PAUSE
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
        self._health = Health(self, clock, loop, lock)
        self._barrier = self._health.barrier
        self._housekeeper = Housekeeper(self._health.require_folder, self._health.lost_folder)
        self._settling = Settling(self._housekeeper, is_in_memory=data_dir is None)
        self._pages_read = 0
        self.figures = Figures()
        self.tokens = Tokens(self._housekeeper)
        self._collections = ItemCollections(collection_size_max_bytes)
        self.building = Backfills(self)
        self.outbox = Outbox(self, clock, index_delay)
        self.wake: Callable[[], None] = lambda: None
        """Called whenever there is something new to do for jobs."""
        self.catalog = EmbeddedCatalog(self)
        self.engine: Engine = open_engine(data_dir)
        self.reads = ReadCache(Admission(is_in_memory=data_dir is None))
        self.committed = self._barrier.commit
        writes = Writes(self, self._collections)
        self.mutate = writes.mutate
        self.transact = writes.transact
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

    async def snapshot_get(self, places: Sequence[tuple[Table, Key]], limit_bytes: int) -> list[Row | None]:
        """The rows at all these places, up to so many bytes, as of one point in time. Never suspends. Raises StorageError."""
        rows: list[Row | None] = []
        try:
            for table, key in places:
                row = self.reads.row(self.engine, table.source + key) if limit_bytes >= 0 else None
                rows.append(row)
                if row is not None:
                    limit_bytes -= row_size_bytes(row)
        except Exception as error:
            raise self.fail(error) from error
        return rows

    def write_batch(self, batch: Engine, deltas: dict[bytes, tuple[int, int]]) -> None:
        """Write a batch, and with it by how much the figures of sources change. Raises the engine's bare exceptions."""
        changed = self.figures.put_into(batch, deltas)
        self.engine.write(batch)
        self.figures.written(changed)

    # --- work that no request does ----------------------------------------------------------------

    def backfills(self) -> Sequence[tuple[Table, Index]]:
        """The indexes that are CREATING."""
        return self.building.going_on()

    async def backfill(self, table: Table, index: Index, limit_rows: int) -> Backfilled:
        """Make the entries of the next rows; suspends only when the engine is stalled or many rows were deleted."""
        return await self.building.advance(table, index, limit_rows)

    async def apply_delayed(self, limit_rows: int) -> float | None:
        """Write the entries of the oldest commits whose time has come; suspends only when the engine is stalled."""
        return await self.outbox.apply(limit_rows)

    async def settle(self) -> float:
        """Put in order what writes have left, beside the loop, if none came since the last call."""
        self.reads.admission.look(self.engine)
        is_bulk = bool(self.building.positions)
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
        if self.building.watch(table):
            self.wake()

    def forget(self, lower: bytes, upper: bytes) -> None:
        """Drop the figures of sources that are gone, and have their room given back if it was large."""
        self.building.forget(lower, upper)
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
        self.tokens = Tokens(self._housekeeper)
        self.figures.load(self.engine)
        self.catalog.load(self.engine)
        self.building.load(self.engine)
        self.outbox.load(self.engine)
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
