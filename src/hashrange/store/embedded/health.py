"""May the store be used? After a failed read, write or sync: refuse, read only, or reopen the engine of its `Site`.

After the first failure a stand-in replaces the engine, so that reads and writes need not check for a failure. The sync
thread closes the engine and opens it again; then the store serves what the disk holds. An attempt to reopen begins when
a call is refused after a delay, which grows with each attempt. After damage nothing is reopened: the operator must act.
A reopening makes no store and leaves no new folder: before and after it, the folder must be the one that was opened
(`identity.py`), and the engine must know the last acknowledged commit.

Only after a write that failed because the disk is full do reads continue, with the same engine: the write is neither in
the log nor in memory. Earlier commits still become durable by a sync, and replies still wait for the sync; if it fails,
reads stop too. The engine is reopened once a file as large as a reopening needs could be written. During the reopening
a second engine reads the same files: closing the first engine takes a second, and its reopening may find the disk full
again.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from hashrange.clock import Clock
from hashrange.errors import HashrangeError, StorageBusy, StorageCorruption, StorageError, StorageFull, StorageLost
from hashrange.store.embedded import files
from hashrange.store.embedded.admission import Admission
from hashrange.store.embedded.durability import CommitBarrier, VolatileBarrier
from hashrange.store.embedded.engine import Engine, abandon_engine, cancel_work, close_engine, open_beside, open_engine
from hashrange.store.embedded.engine_errors import is_sync_untried, storage_error
from hashrange.store.embedded.housekeeping import Housekeeper
from hashrange.store.embedded.identity import FolderLock
from hashrange.store.embedded.layout import PROBE_KEY
from hashrange.store.embedded.open_tables import OpenTables
from hashrange.store.embedded.read_cache import ReadCache
from hashrange.store.embedded.stand_ins import ReadOnlyEngine, RefusingEngine
from hashrange.store.embedded.statistics import SourceStatistics
from hashrange.store.embedded.synced import SyncedFile
from hashrange.store.embedded.vector_memory import memory_on
from hashrange.store.embedded.vector_parts import VectorParts
from hashrange.store.pause import PAUSE

REOPEN_DELAY_SECONDS_MIN = 0.1
REOPEN_DELAY_SECONDS_MAX = 5.0

_log = logging.getLogger("hashrange.store")


class Site:
    """What all objects of a store share: its engine, with all that depends on it, and its open tables."""

    engine: Engine
    """The engine, or its stand-in after a failure."""

    def __init__(
        self,
        clock: Clock,
        loop: asyncio.AbstractEventLoop | None,
        lock: FolderLock | None,
        load: Callable[[], None],
        vector_memory_bytes: int,
    ) -> None:
        """`lock` is the lock of the data folder; None: the store is in memory.

        `load` reads all state that is kept in memory from `engine`, which has just been opened.
        `vector_memory_bytes`: the most memory that vectors may take.
        """
        self.is_in_memory = lock is None
        self.place = "memory" if lock is None else lock.folder.place
        """The data folder, or `memory`; for messages to people."""
        self.clock = clock
        self.tables = OpenTables()
        self.reads = ReadCache(Admission(is_in_memory=self.is_in_memory))
        self.statistics = SourceStatistics(self.wake_jobs)
        self.vector_parts = VectorParts(self.statistics.of, self.wake_jobs, memory_on(loop), vector_memory_bytes)
        self.health = Health(self, loop, lock, load)
        self.barrier = self.health.barrier
        self.housekeeper = Housekeeper(self.health.require_folder, partial(self.barrier.report, self.health.lose))
        self.wake: Callable[[], None] = lambda: None
        """Called when there is new work for jobs."""
        self.changed_at: dict[int, int] = {}
        """Table id → position of the last commit known to have changed rows or index entries of that table."""
        self.all_changed_at = 0
        """Position of the last commit not noted in `changed_at`, which may have changed rows of any table."""
        self.is_loaded = False
        """True if an import or a copy has added rows, with other rows in between, since `Upkeep.settle` looked last."""
        self.moves_alone = 0
        """Commits so far that only moved rows of a copy: whatever the engine's pace, they cost the same."""
        self.is_served = loop is not None
        """True if the store has an event loop; without one, the deletion of a table or index starts no compaction."""

    def wake_jobs(self) -> None:
        """Notify the jobs of new work."""
        self.wake()

    def use(self, engine: Engine) -> None:
        """Switch to another engine, and drop what was read of the former one."""
        self.engine = engine
        self.reads.clear()
        self.vector_parts.clear()

    def let_engine_go(self) -> Engine:
        """Sync all commits and return the engine, which may then be closed; the store must take another one."""
        self.barrier.finish()
        self.housekeeper.stop(self.engine)
        self.health.generation += 1
        return self.engine

    def engine_to_write(self) -> Engine:
        """The engine for a commit: a stand-in that refuses if the engine's folder is not at its path.

        Only the first commit of a group looks, in 1.3 µs. The sync of the group looks again, because the folder may go
        meanwhile; what a commit has written by then cannot be taken back.
        """
        if not self.barrier.is_due:
            try:
                self.health.require_folder()
            except StorageLost as error:
                self.health.lose(error)
        return self.engine

    def fail(self, error: Exception) -> StorageError:
        """The StorageError to raise for `error`, an exception of the engine.

        Unless it is a stall (StorageBusy), all calls, or with a full disk writes, are refused until the engine has been
        reopened. A StorageError is returned as it is, without effect.
        """
        if isinstance(error, StorageError):
            return error
        fault = storage_error(error, self.place)
        if not isinstance(fault, StorageBusy):
            self.health.fail(fault)
        return fault

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Turn what the engine raises in the block into the StorageError that `fail` returns; errors of Hashrange pass.
        It takes a microsecond, which single reads and writes do not have.
        """
        try:
            yield
        except HashrangeError:
            raise
        except Exception as error:
            raise self.fail(error) from error

    async def compact(self, lower: bytes, upper: bytes) -> None:
        """Remove deleted keys in `lower <= key < upper` from the data files,
        on the housekeeping thread; wait for it.
        """
        engine = self.engine
        await PAUSE
        await asyncio.wrap_future(self.housekeeper.compact(engine, lower, upper))


class Health:
    """Knows whether the engine works, and reopens it. Methods run on the loop unless their text names a thread."""

    def __init__(
        self, site: Site, loop: asyncio.AbstractEventLoop | None, lock: FolderLock | None, load: Callable[[], None]
    ) -> None:
        """`lock` is the lock of the data folder; None: the store is in memory. `load`: as in `Site`."""
        barrier_kind = VolatileBarrier if lock is None else CommitBarrier
        self.barrier: CommitBarrier = barrier_kind(loop, self._sync, self._sync_failed)
        self.generation = 0
        """Grows when the store loses its engine, or takes one with other rows: rows read before may no longer exist."""
        self.failure: StorageError | None = None
        self._site = site
        self._clock = site.clock
        self._load = load
        self._lock = lock
        self._synced_file: SyncedFile | None = None
        self._broken: Engine = None
        self._reopened: Engine = None
        self._reader: Engine = None
        """Second engine on the same files, for reads while the broken engine is closed and reopened after a full disk.
        Both hold the same rows, because nothing is written.
        """
        self._synced_sequence = 0
        """The engine's sequence number of the last write that a sync covered."""
        self._is_reading = False
        """True while reads are served and writes refused, because the disk is or was full."""
        self._is_reopening = False
        self._delay_seconds = REOPEN_DELAY_SECONDS_MIN
        self._next_attempt_seconds = 0.0

    def begin(self) -> None:
        """Note the newly opened engine's last sequence number, and its LOCK and IDENTITY files. Raises OSError."""
        self._synced_sequence = self._site.engine.latest_sequence_number()
        if self._lock is not None:
            self._lock.note_engine()
            if self._synced_file is not None:
                self._synced_file.close()
            self._synced_file = SyncedFile(self._lock.folder)

    def _sync(self) -> None:
        """On the sync thread: make all commits so far durable, and record the last one's sequence number in `synced`.

        `CommitBarrier.finish` runs it on the calling thread. Raises the engine's bare exceptions, OSError; StorageLost
        if the engine's folder is not at its path.
        """
        engine = self._site.engine
        sequence = engine.latest_sequence_number()
        self._sync_logs(engine)
        self.require_folder()
        if self._synced_file is not None and not self._synced_file.note(sequence, self._clock.monotonic()):
            _log.error(
                "%s: somebody has removed the logs of its engine while it serves. What they held is"
                " moved into data files now.",
                self._site.place,
            )
            engine.flush()
        self._synced_sequence = sequence

    def _sync_logs(self, engine: Engine) -> None:
        """Make all that the engine's logs hold durable. Raises the engine's bare exceptions, OSError."""
        try:
            engine.flush_wal(True)
        except Exception as error:
            if not is_sync_untried(error):
                raise
            assert self._lock is not None
            # A write to the log failed, and the loop has not handled that yet; earlier commits must become durable.
            files.sync_logs(self._lock.folder.engine)

    def _sync_failed(self, error: Exception) -> StorageError:
        """After any failure of a sync, serve nothing until a reopening. Returns the error for waiting callbacks."""
        fault = storage_error(error, self._site.place)
        self.lose(fault)
        return fault

    def require_folder(self) -> None:
        """On any thread: raise StorageLost unless the engine's folder is at its path; never for a store in memory."""
        if self._lock is not None:
            self._lock.require_engine()

    def fail(self, error: StorageError) -> None:
        """After a failed read or write, serve nothing until a reopening; if `error` is StorageFull, refuse only writes.

        A store in memory is never reopened, and serves nothing after any error.
        """
        if isinstance(error, StorageFull) and self._lock is not None:
            self._only_read(error)
        else:
            self.lose(error)

    def _only_read(self, error: StorageFull) -> None:
        """Refuse writes and serve reads, because the disk is full; without effect after an earlier failure."""
        if self.failure is None:
            self._note_failure(error)
            self._is_reading = True
            self._read_from(self._broken)

    def _read_from(self, engine: Engine) -> None:
        assert self._lock is not None
        self._site.use(ReadOnlyEngine(engine, self._lock.folder.engine, self.refusal))

    def lose(self, error: StorageError) -> None:
        """Serve nothing until a reopening: a stand-in refuses every call; callbacks that wait for a sync get `error`.

        Without effect if every call is refused already.
        """
        if self.failure is not None and not self._is_reading:
            return
        self._note_failure(error)
        self._is_reading = False
        self.generation += 1
        self._site.use(RefusingEngine(self.refusal))
        if isinstance(error, StorageLost):
            cancel_work(self._broken)
        self._drop_reader()
        self.barrier.fail(error)

    def _drop_reader(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            close_engine(reader, self._site.place, may_fail=True)

    def _note_failure(self, error: StorageError) -> None:
        if error is not self.failure:
            _log.error("%s", error)
        if self.failure is None:
            self._broken = self._site.engine
        self.failure = error
        self._delay_seconds = REOPEN_DELAY_SECONDS_MIN
        self._next_attempt_seconds = self._clock.monotonic() + self._delay_seconds

    def require(self, generation: int) -> None:
        """Raise StorageError if `self.generation` has grown since a coroutine noted `generation` and suspended."""
        if generation != self.generation:
            raise self.failure or StorageError(f"{self._site.place} had to be reopened meanwhile. Try again.")

    def refusal(self) -> StorageError:
        """The error for a call that is refused now. Starts an attempt to reopen on the sync thread when one is due."""
        error = self.failure
        assert error is not None
        is_hopeless = self._lock is None or isinstance(error, StorageCorruption)
        now_seconds = self._clock.monotonic()
        if not is_hopeless and not self._is_reopening and now_seconds >= self._next_attempt_seconds:
            self._is_reopening = True
            self._delay_seconds = min(2 * self._delay_seconds, REOPEN_DELAY_SECONDS_MAX)
            self._next_attempt_seconds = now_seconds + self._delay_seconds
            self.barrier.run_on_thread(self._find_room if self._is_reading else self._reopen)
        return type(error)(*error.args)

    def shut(self) -> Engine:
        """Refuse all calls for good; returns the engine to be closed. To be called once the sync thread has ended.

        None if no engine is open, or its folder is not at its path: then it is abandoned.
        """
        engine = self._broken or self._reopened if self.failure is not None else self._site.engine
        if engine is not None and self._lock is not None:
            try:
                self._lock.require_engine()
            except StorageLost as error:
                if not isinstance(self.failure, StorageLost):
                    _log.error("%s", error)
                abandon_engine(engine)
                engine = None
        self._broken = self._reopened = None
        self._drop_reader()
        if self._synced_file is not None:
            self._synced_file.close()
        self.failure = StorageError(f"The store of {self._site.place} is closed.")
        self.generation += 1
        self._is_reopening = True
        self._site.use(RefusingEngine(self.refusal))
        return engine

    def forget_synced(self) -> None:
        """Remove the file `synced`: the engine was closed with all its rows in data files, or another one is to be
        opened.
        """
        if self._synced_file is not None:
            self._synced_file.forget()

    def _find_room(self) -> None:
        """On the sync thread, while reads continue: test whether the disk has space for a reopening, and if so open a
        second engine for reads.
        """
        place = self._site.place
        assert self._lock is not None
        try:
            self._lock.require_engine()
            files.require_disk_space(self._lock.folder.engine)
            reader = self._reader or self._opened_beside(self._lock)
        except Exception as error:  # noqa: BLE001 - a reopening would meet any of these errors too
            self.barrier.report(self._still_failing, storage_error(error, place))
        else:
            self.barrier.report(self._found_room, reader)

    def _opened_beside(self, lock: FolderLock) -> Engine:
        """On the sync thread: cancel the broken engine's work, and open a second, read-only engine on its files.

        Raises StorageError if the second engine holds fewer writes than the broken one; OSError, bare exceptions.
        """
        cancel_work(self._broken)
        reader = open_beside(lock.folder.engine, {})
        if reader.latest_sequence_number() < self._broken.latest_sequence_number():
            reader.close()
            raise StorageError(
                f"{self._site.place} holds less than the engine that failed; it is opened again"
                " before anything is served."
            )
        return reader

    def _found_room(self, reader: Engine) -> None:
        """Let `reader` serve reads instead of the broken engine, which is then closed and reopened.

        If reads are refused by now, only closes `reader`.
        """
        if self._is_reading:
            self._reader = reader
            self._read_from(reader)
            self.barrier.run_on_thread(self._reopen)
        else:
            close_engine(reader, self._site.place, may_fail=True)
            self._is_reopening = False

    def _reopen(self) -> None:
        """On the sync thread: close the broken engine, open it again, and prove that writing and syncing work."""
        place = self._site.place
        lock = self._lock
        assert lock is not None
        try:
            lock.require_folder()
            if self._broken is not None:
                lock.require_engine()
                broken, self._broken = self._broken, None
                self._site.housekeeper.stop(broken)
                close_engine(broken, place, may_fail=True)  # errors do not matter: the next engine reads the disk
            self._reopened = self._proved(self._opened_again(lock))
        except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
            self.barrier.report(self._still_failing, storage_error(error, place))
        else:
            self.barrier.report(self._heal)

    def _opened_again(self, lock: FolderLock) -> Engine:
        """On the sync thread: open the engine of the locked folder again. Raises StorageError.

        Where the system has no paths through open descriptors (`lock.is_held` is false), the engine opens whatever is
        at the folder's path; StorageLost if that is another folder, and OSError without a free descriptor.
        """
        try:
            engine = open_engine(self._site.place, folder=lock.folder, may_make=False)
        except StorageError:
            lock.clear_away()
            raise
        if not lock.is_held:
            try:
                lock.require_folder()
            except StorageLost:
                abandon_engine(engine)
                raise
            except OSError:
                self._broken = engine  # the next attempt closes it
                raise
        return engine

    def _proved(self, engine: Engine) -> Engine:
        """On the sync thread: check that the reopened `engine` holds all acknowledged commits, can write and sync, and
        that its folder is at its path; return it. Raises StorageLost, OSError and the engine's bare exceptions.
        """
        assert self._lock is not None
        self._lock.note_engine()
        try:
            shown = self._synced_sequence if self._reader is None else self._reader.latest_sequence_number()
            if engine.latest_sequence_number() < shown:
                raise StorageLost(
                    f"{self._site.place} was opened again and holds less than was acknowledged:"
                    " files are missing or older than they were. Keep a copy of the folder, and put the missing"
                    " files back or restore a backup, with the server stopped."
                )
            engine.put(PROBE_KEY, b"")
            engine.flush_wal(True)
            self._lock.require_engine()
        except Exception:
            self._broken = engine
            raise
        return engine

    def _still_failing(self, error: StorageError) -> None:
        self._is_reopening = False
        if self._is_reading and not isinstance(error, StorageFull):
            self.lose(error)
        elif self.failure is not None and not self._is_reading and str(error) != str(self.failure):
            _log.error("%s", error)
            self.failure = error

    def _heal(self) -> None:
        """Load the store from the reopened engine and serve again.

        If that fails, refuse all calls; only writes if reads were served and the disk is full.
        """
        if self._reopened is None:
            return
        engine, self._reopened = self._reopened, None
        self._site.use(engine)
        try:
            self._load()
        except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
            self._broken = engine
            if self._reader is None:
                self._site.use(RefusingEngine(self.refusal))
            else:
                self._read_from(self._reader)
            self._still_failing(storage_error(error, self._site.place))
            return
        self._drop_reader()
        self._is_reopening = self._is_reading = False
        self.failure = None
        self.barrier.restart()
        _log.warning("%s was reopened and serves again.", self._site.place)
