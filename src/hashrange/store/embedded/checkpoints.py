"""How is the whole content of a store copied? By a checkpoint: an engine's files,
linked to a second folder in milliseconds.

A checkpoint is an engine of its own, which no request uses: stores are restored and forked from further links to its
files. It can also be made of given rows, such as those of a snapshot file, which are written to a new engine. Copies of
a store on disk are data folders in the folder `copies` of the first store's data folder; they belong to the running
server, and the next server deletes what is left of them. See docs/adr/0037-checkpoints.md.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any, NamedTuple

from hashrange.errors import StorageError
from hashrange.store.copying import Checkpoint, Opened, StoredFiles
from hashrange.store.embedded import copy_folders, files, layout
from hashrange.store.embedded.engine import (
    Engine,
    Memory,
    cancel_work,
    close_engine,
    link_engine,
    link_in_memory,
    new_batch,
    new_memory,
    open_engine,
    remove_memory,
)
from hashrange.store.embedded.engine_errors import storage_error, storage_errors, undone_on_failure
from hashrange.store.embedded.health import Site
from hashrange.store.embedded.identity import FolderLock
from hashrange.store.embedded.loading import StoredContent
from hashrange.store.embedded.stand_ins import require_engine
from hashrange.store.embedded.store_files import ListedFiles, link_content
from hashrange.store.snapshot_file import StoredRow
from hashrange.work_threads import free_entries

LOADED_TOGETHER_BYTES = 4 * 1024 * 1024
"""Size of the batches in which `checkpoint_of` writes rows to a new engine."""
NEW_SEQUENCE = 1
"""Number of the last write of a new engine: the row with the format version."""
UNFLUSHED_BYTES_MAX = 256 * 1024
"""Bytes in memtables that linking may flush on the event loop, in about 1 ms; more is flushed before, on a thread."""


class Home(NamedTuple):
    """Where an engine keeps its files, its *home*: `memory`, or the data folder `data_dir`; the other is None."""

    memory: Memory | None
    data_dir: str | None
    copies: str | None = None
    """On disk, the folder for copies of this engine: that of the first store, also for copies of copies."""
    is_copy: bool = False
    """True for a data folder made for a copy: deleted once the checkpoint is released or the fork is closed."""
    has_content: bool = False
    """True if the folder holds an engine. If its files are missing, no new engine may take its place."""

    @property
    def place(self) -> str:
        """The data folder, or `memory`; for messages."""
        return self.data_dir or "memory"


def home_in(data_dir: str | None) -> Home:
    """The `Home` of a store that is no copy: its data folder or, if `data_dir` is None, a new folder in memory."""
    if data_dir is None:
        return Home(new_memory(), None)
    return Home(None, data_dir, copy_folders.copies_folder(data_dir))


def empty_home_beside(home: Home) -> Home:
    """A new, empty folder for an engine: in the memory file system of `home`, or on disk in its folder for copies."""
    if home.memory is not None:
        return Home(new_memory(home.memory.file_system), None)
    assert home.copies is not None
    return Home(None, copy_folders.make_copy_folder(home.copies), home.copies, is_copy=True)


def copy_home(engine: Engine, home: Home) -> Home:
    """Link the files of the open engine in `home` to a new folder, in memory or on disk as the engine is.

    Raises OSError and the engine's bare exceptions.
    """
    if home.memory is not None:
        return Home(link_in_memory(engine, home.memory), None, has_content=True)
    copy = empty_home_beside(home)
    assert copy.data_dir is not None
    with undone_on_failure(lambda: remove_home(copy)):
        link_engine(engine, files.engine_folder(copy.data_dir))
    return copy._replace(has_content=True)


def open_home(home: Home, lock: FolderLock | None = None) -> Engine:
    """Open the engine in `home`, memory or a data folder; `lock`: its lock, unless no store has
    locked it. Raises StorageError.
    """
    folder = None if lock is None else lock.folder
    return open_engine(home.data_dir, folder=folder, memory=home.memory, may_make=not home.has_content)


def remove_home(home: Home) -> None:
    """Delete the files of a closed engine in `home`; copies keep the files that they share with it. Ignores errors."""
    if home.memory is not None:
        remove_memory(home.memory)
    elif home.data_dir is not None:
        files.remove_folder(home.data_dir)


class EngineCheckpoint:
    """The content of a store at one moment, until `release`. Its engine is opened at the first copy, read or check.

    Forks on several threads may use one checkpoint.
    """

    def __init__(self, home: Home, *, is_new: bool = False) -> None:
        """`home`, which holds an engine that is not open, belongs to the checkpoint from now on.

        `is_new`: the engine holds nothing but what every new engine holds, so copies can be new engines, too.
        """
        self._home = home._replace(has_content=True)
        self.place = home.place
        """Where the content is, for messages."""
        self._is_new = is_new
        self._engine: Engine | None = None
        self._lock = Lock()
        self._is_last_use = False
        self._is_released = False
        self._listed: ListedFiles | None = None

    def copy(self) -> Home:
        """Link the content to a new folder, on disk or in memory. A folder for the content of a new engine stays empty.

        Raises StorageError, OSError and the engine's bare exceptions.
        """
        with self._lock:
            if self._is_last_use and self._engine is None and not self._is_released:
                self._is_released = True
                return self._home
            if self._is_new and not self._is_released:
                return empty_home_beside(self._home)
            return copy_home(self._opened(), self._home)

    def hand_over(self) -> None:
        """Let the next store that is restored or forked from this checkpoint take the files, without another copy."""
        self._is_last_use = True

    def rows(self, after: bytes | None, limit_bytes: int) -> list[StoredRow]:
        """Rows in order of their keys, from the first after key `after` (None: the first of all); empty at the end.

        The last one is that with which the length of all keys and values reaches `limit_bytes`. Raises StorageError.
        """
        rows: list[StoredRow] = []
        with storage_errors(self.place), self._lock:
            for key, value in self._opened().items(from_key=b"" if after is None else after + b"\x00"):
                rows.append((key, value))
                limit_bytes -= len(key) + len(value)
                if limit_bytes <= 0:
                    break
        return rows

    def files(self) -> StoredFiles | None:
        """The files of a data folder with this content, the same ones at each call; None: the content is in memory.

        Raises StorageError.
        """
        if self._home.memory is not None:
            return None
        with storage_errors(self.place), self._lock:
            if self._listed is None:
                self._require_kept()
                self._listed = ListedFiles(self._linked())
            return StoredFiles(layout.FORMAT_VERSION, self._listed.files)

    def _linked(self) -> str:
        """A data folder with this content, in which no engine is opened. Before this checkpoint's own engine has been
        opened, its data files are those of the store, so that later checkpoints have them, too.
        """
        if self._engine is not None:
            data_dir = copy_home(self._engine, self._home).data_dir
            assert data_dir is not None
            return data_dir
        assert self._home.data_dir is not None
        data_dir = empty_home_beside(self._home).data_dir
        assert data_dir is not None
        with undone_on_failure(lambda: files.remove_folder(data_dir)):
            link_content(self._home.data_dir, data_dir)
        return data_dir

    def read_file(self, name: str, offset: int, limit_bytes: int) -> bytes | None:
        """At most `limit_bytes` of one of `files`; empty at its end. None: there is no such file.

        Raises StorageError.
        """
        if self._listed is None:
            self.files()
        with storage_errors(self.place):
            return None if (listed := self._listed) is None else listed.read(name, offset, limit_bytes)

    def _require_kept(self) -> None:
        if self._is_released:
            raise StorageError("The snapshot has been released, so its content is gone. Take another one.")

    def _opened(self) -> Engine:
        self._require_kept()
        if self._engine is None:
            self._engine = open_home(self._home)
        return self._engine

    def release(self) -> None:
        """Free what only the checkpoint holds; stores that were made from it keep their content."""
        with self._lock:
            if self._listed is not None:
                self._listed.remove()
                self._listed = None
            if self._is_released:
                return
            self._is_released = True
            if self._engine is not None:
                close_engine(self._engine, self._home.place, may_fail=True)
            remove_home(self._home)


def _fill(home: Home, rows: Iterable[StoredRow]) -> None:
    """Write rows to a new engine in `home`, which is empty; close the engine.

    Raises StorageError, and the HashrangeErrors that `rows` raises.
    """
    engine = open_home(home)
    try:
        with storage_errors(home.place):
            batch, size_bytes = new_batch(), 0
            for key, value in rows:
                batch.put(key, value)
                size_bytes += len(key) + len(value)
                if size_bytes >= LOADED_TOGETHER_BYTES:
                    engine.write(batch)
                    batch, size_bytes = new_batch(), 0
            engine.write(batch)
            engine.flush()
    finally:
        close_engine(engine, home.place, may_fail=True)


ReadEngine = Callable[[Engine], StoredContent]
"""Reads what a store keeps in memory of a newly opened engine's content, on any thread."""
TakeEngine = Callable[[Engine, StoredContent], Sequence[dict[Any, Any]]]
"""Lets a store serve the content of a newly opened engine that has been read;
returns what takes long to free of the former content."""


class OpenedCheckpoint:
    """A copy of a checkpoint's content for one restore, which opening has proved good, with all read that is kept in
    memory of it; after the restore, the content that it has replaced.
    """

    def __init__(self, home: Home, read: ReadEngine) -> None:
        """Open the engine in `home`, which makes a missing one. One on disk is closed again:
        its files are to take the place of the store's.

        Raises StorageError, and the engine's bare exceptions.
        """
        self.home = home
        self.replaced: Sequence[dict[Any, Any]] = ()
        """As in `Opened`."""
        self.engine: Engine | None = open_home(home)
        """The engine in `home`; None: it is closed."""
        self._unlock: Callable[[], None] = lambda: None
        with undone_on_failure(self.release):
            self.stored = read(self.engine)
            if home.data_dir is not None:
                engine, self.engine = self.engine, None
                close_engine(engine, home.place, may_fail=False)

    def take_over(self, engine: Engine, unlock: Callable[[], None]) -> None:
        """Note that the replaced engine is in `home`, still open; `unlock` unlocks its folder, once it is closed."""
        self.engine, self._unlock = engine, unlock

    def release(self) -> None:
        """Free the content that no store has, and what is in `replaced`; on any thread."""
        free_entries(*self.replaced)
        if self.engine is not None:
            close_engine(self.engine, self.home.place, may_fail=True)
        self._unlock()
        remove_home(self.home)


class Copies:
    """Implements `copying.Copying`: makes checkpoints of one store or of given rows, and restores it from them."""

    def __init__(
        self, site: Site, read: ReadEngine, take_engine: TakeEngine, lock: FolderLock | None, home: Home
    ) -> None:
        """`lock`: the lock of the store's data folder; None: the store is in memory."""
        self._site = site
        self._read = read
        self._take_engine = take_engine
        self._lock = lock
        self._home = home
        self.is_kept = home.memory is None and not home.is_copy
        """False if the content is deleted once the store is closed: it is in memory, or was made from a checkpoint (a
        fork).
        """

    def open_engine(self) -> Engine:
        """Open the store's own engine. Raises StorageError."""
        return open_home(self._home, self._lock)

    def closed(self) -> None:
        """Free the content of a closed store, unless it is kept."""
        if not self.is_kept:
            remove_home(self._home)

    async def prepare_checkpoint(self) -> None:
        """Flush memtables that are too large to copy, on a thread, so that the next checkpoint only links files; again
        if the content is replaced meanwhile. Raises StorageError.
        """
        site = self._site
        generation = -1
        while generation != site.health.generation:
            generation = site.health.generation
            require_engine(site.engine)
            with storage_errors(site.place):
                if (site.engine.property_int_value("rocksdb.cur-size-all-mem-tables") or 0) > UNFLUSHED_BYTES_MAX:
                    await asyncio.wrap_future(site.housekeeper.run(site.engine.flush))

    async def checkpoint(self) -> EngineCheckpoint:
        """Copy the whole content, as of the last commit when this method returns. Raises StorageError."""
        site = self._site
        await self.prepare_checkpoint()
        with storage_errors(site.place):
            is_new = site.engine.latest_sequence_number() <= NEW_SEQUENCE
            return EngineCheckpoint(copy_home(site.engine, self._home), is_new=is_new)

    def checkpoint_of(self, rows: Iterable[StoredRow]) -> EngineCheckpoint:
        """Make a checkpoint whose content is `rows`. Raises StorageError, and what `rows` raises."""
        home = empty_home_beside(self._home)
        with undone_on_failure(lambda: remove_home(home)):
            _fill(home, rows)
            checkpoint = EngineCheckpoint(home)
            checkpoint.rows(None, 0)  # opens the engine, which also converts an older format
        return checkpoint

    async def open_checkpoint(self, checkpoint: Checkpoint | None) -> OpenedCheckpoint:
        """Do what takes long of a restore, on a thread; the result is for `restore`,
        and to be released after it. Raises StorageError.
        """
        return await asyncio.to_thread(self._open, checkpoint)

    def _open(self, checkpoint: Checkpoint | Opened | None) -> OpenedCheckpoint:
        assert isinstance(checkpoint, EngineCheckpoint | None), "a checkpoint of another kind of store"
        with storage_errors(self._site.place):
            home = empty_home_beside(self._home) if checkpoint is None else checkpoint.copy()
            return OpenedCheckpoint(home, self._read)

    def restore(self, checkpoint: Checkpoint | Opened | None) -> None:
        """Replace the whole content by that of `checkpoint`; None: by nothing. Raises StorageError.

        `checkpoint`: made by this store, by a fork of it, or by a store that it was forked from;
        or what `open_checkpoint` returned.

        Positions go on; all else is as it was in the store whose content or rows the checkpoint holds, when they were
        copied. A request that is suspended meanwhile may raise StorageError; its client may then send it again.
        """
        require_engine(self._site.engine)
        opened = checkpoint if isinstance(checkpoint, OpenedCheckpoint) else self._open(checkpoint)
        replace = self._replace_in_memory if self._lock is None else self._replace_on_disk
        try:
            with storage_errors(self._site.place):
                opened.replaced = replace(opened)
        finally:
            if opened is not checkpoint:
                opened.release()

    def _replace_in_memory(self, opened: OpenedCheckpoint) -> Sequence[dict[Any, Any]]:
        engine, opened.engine = opened.engine, self._site.let_engine_go()
        self._home, opened.home = opened.home, self._home
        return self._take_engine(engine, opened.stored)

    def _replace_on_disk(self, opened: OpenedCheckpoint) -> Sequence[dict[Any, Any]]:
        lock = self._lock
        assert lock is not None
        assert opened.home.data_dir is not None
        former = self._site.let_engine_go()
        try:
            # The commits of the former engine are synced, so that it flushes nothing more, and an error of its closing,
            # lose nothing.
            cancel_work(former)
            if not lock.is_held:  # its paths will lead to the other engine's files
                close_engine(former, self._site.place, may_fail=True)
            self._site.health.forget_synced()
            opened.take_over(former, lock.take_engine_of(opened.home.data_dir))
            self._home = self._home._replace(has_content=True)
            return self._take_engine(self.open_engine(), opened.stored)
        except Exception as error:
            fault = storage_error(error, self._site.place)
            self._site.health.lose(fault)
            raise fault from error
