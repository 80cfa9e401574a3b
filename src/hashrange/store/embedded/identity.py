"""Who owns a data folder, and is it still the folder that was opened? Locks a folder, and recognises it again.

Two things are locked: the lock file, which names the owner's process, and the engine's folder itself, so that deleting
the lock file lets no other process in. (Windows cannot lock folders, but does not delete open files; NFS cannot lock
folders either, and there the lock file and the engine's own lock must suffice.)

A folder may be deleted, unmounted or replaced while it is served. The engine does not notice: it continues to write and
sync files to which the folder's path no longer leads. So after each sync the engine's own lock file is looked up by its
path (2 µs, on the sync thread); before a reopening, the folder and the engine's IDENTITY file are looked up. The engine
makes and deletes files by paths. Where the system offers a path to an open folder through its descriptor (Linux), the
engine gets that path and works in the folder that was opened; elsewhere it works in whatever folder is at the plain
path by then. This file opens and compares; folders are made and deleted by `files.py`. See
docs/adr/0012-failures-and-reopening.md.
"""

import contextlib
import errno
import os
from collections.abc import Callable
from functools import partial

from hashrange.errors import StorageError, StorageLocked, StorageLost
from hashrange.store.embedded import copy_folders, files
from hashrange.store.embedded.engine_errors import OPENING, READING, storage_errors, undone_on_failure
from hashrange.store.embedded.modes import PRIVATE_FILE, close_to_others
from hashrange.store.file_lock import try_lock

LOCK_FILE_OF_ENGINE = "LOCK"
"""Name of the engine's own lock file, which the engine makes once, keeps open, and never replaces."""
_HOLD = getattr(os, "O_PATH", os.O_RDONLY)
"""Flags for opening a folder only to recognise it and reach its content; with O_PATH also one that is unreadable."""
_CANNOT_LOCK_FOLDERS = {errno.EBADF, errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK, errno.EACCES, errno.EPERM}


class FolderLock:
    """The right to use a data folder, held until `release` or until the process ends in any way."""

    def __init__(self, data_dir: str, *, is_signed: bool) -> None:
        """Locks nothing yet. `is_signed`: write this process's id to the lock file once it is locked."""
        self._data_dir = data_dir
        self._engine_folder = files.engine_folder(data_dir)
        self._engine_lock_path = os.path.join(self._engine_folder, LOCK_FILE_OF_ENGINE)
        self._engine_lock: tuple[int, int] | None = None
        """Device and inode number of the engine's own lock file; None before the engine is opened."""
        self._identity = b""
        self._is_signed = is_signed
        self._file = self._data = self._folder = -1
        """Descriptors of the lock file (`_file`), the data folder (`_data`) and the engine's folder (`_folder`);
        negative when not open.
        """
        self.folder = files.by_name(data_dir)
        """Paths of the data folder and of its engine folder. On Linux, once both are open,
        the paths lead through their descriptors."""

    def take_file(self, flags: int) -> None:
        """Open the lock file with `flags` and lock it. Raises OSError if it cannot be opened, StorageLocked if it is
        locked already, StorageError if the file system cannot lock it.
        """
        descriptor = os.open(os.path.join(self._data_dir, files.LOCK_FILE), flags, PRIVATE_FILE)
        try:
            is_locked = try_lock(descriptor)
            owner = "" if is_locked else os.read(descriptor, 32).decode("ascii", "replace").strip()
        except OSError as error:
            os.close(descriptor)
            raise StorageError(
                f"{self._data_dir} cannot be locked: {error.strerror}. Name a folder on a file system that has locks."
            ) from error
        if not is_locked:
            os.close(descriptor)
            raise _in_use(self._data_dir, owner)
        self._file = descriptor
        if self._is_signed:
            # The process id only informs the operator; a full disk must not keep the store from opening.
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()}\n".encode())

    def take_folder(self) -> None:
        """Open data folder and engine folder, and lock the latter if the file system can. Does nothing on Windows.

        Raises StorageLocked if it is locked already, OSError.
        """
        if os.name == "nt":
            return
        self._data = os.open(self._data_dir, _HOLD)
        self._hold_engine_folder(os.open(files.ENGINE_FOLDER, os.O_RDONLY, dir_fd=self._data))

    def take_engine_of(self, copy_dir: str) -> Callable[[], None]:
        """Exchange the store's own engine folder for that of the copy in `copy_dir`, and lock the latter.

        Unless `is_held`, neither engine may be open. Returns what unlocks the former folder, once its engine is closed.
        Raises StorageLocked, and OSError, after which the store's own folder is in its place.
        """
        descriptor = -1 if os.name == "nt" else os.open(files.engine_folder(copy_dir), os.O_RDONLY)
        try:
            copy_folders.replace_engine_folder(self._data_dir, copy_dir)
        except OSError:
            if descriptor >= 0:
                os.close(descriptor)
            raise
        unlock = partial(_close_engine_folder, self._folder, self._engine_lock)
        if descriptor >= 0:
            self._hold_engine_folder(descriptor)
        return unlock

    def _hold_engine_folder(self, descriptor: int) -> None:
        """Lock the engine's folder, opened as `descriptor`, if folders can be locked. Raises StorageLocked, OSError."""
        try:
            is_locked = try_lock(descriptor)
        except OSError as error:
            if error.errno not in _CANNOT_LOCK_FOLDERS:
                os.close(descriptor)
                raise
            is_locked = True
        if not is_locked:
            os.close(descriptor)
            raise _in_use(self._data_dir, "")
        self._folder = descriptor
        self.folder = files.Folder(
            self._data_dir, _way(self._data, self._data_dir), _way(descriptor, self._engine_folder)
        )

    @property
    def is_held(self) -> bool:
        """True if the engine uses a path through an open descriptor, which leads to its folder even after a move."""
        return self.folder.engine != self._engine_folder

    def note_engine(self) -> None:
        """Note lock file and IDENTITY of the engine just opened, to recognise its folder. Raises OSError.

        Files that it has made become private (`modes.py`).
        """
        self._engine_lock = _number(os.stat(os.path.join(self.folder.engine, LOCK_FILE_OF_ENGINE)))
        self._identity = files.read_bytes(os.path.join(self.folder.engine, files.IDENTITY_FILE))
        close_to_others(self.folder.engine)

    def require_engine(self) -> None:
        """Raise StorageLost unless the folder of the open engine is at its path. 2 µs."""
        try:
            is_there = _number(os.stat(self._engine_lock_path)) == self._engine_lock
        except OSError:
            is_there = False
        if not is_there:
            raise self._lost()

    def require_folder(self) -> None:
        """For a reopening, raise StorageLost unless folder and engine at the path are those opened before it.
        Raises OSError if the process or the system has no free descriptor.
        """
        try:
            is_same = self._folder < 0 or _number(os.stat(self._engine_folder)) == _number(os.fstat(self._folder))
            identity = files.read_bytes(os.path.join(self._engine_folder, files.IDENTITY_FILE))
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise
            raise self._lost() from error
        if not is_same or identity != self._identity:
            raise self._lost()

    def clear_away(self) -> None:
        """Remove the engine folder that a failed reopening made at the plain path; not if `is_held`, or on Windows."""
        if self._folder >= 0 and not self.is_held:
            files.remove_stub(self._data_dir, os.fstat(self._folder))

    def release(self) -> None:
        """Unlock the folder for other processes; may be called twice.

        If `is_held` and an engine is still open, because it was abandoned or one of its iterators is still referenced,
        its folder stays open and locked until the process ends: such an engine works through the folder's descriptor,
        and the descriptor's number must not come to lead to another folder.
        """
        if self._file >= 0:
            if self._is_signed:
                if self.is_held:
                    close_to_others(self.folder.engine)
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, 0)
            os.close(self._file)
        _close_engine_folder(self._folder, self._engine_lock)
        if self._data >= 0:
            os.close(self._data)
        self._file = self._data = self._folder = -1

    def _lost(self) -> StorageLost:
        return StorageLost(
            f"what stands at {self._data_dir} is not the folder that was opened: that one was deleted, unmounted,"
            " moved or replaced. Put it back, and serving goes on by itself; or start the server anew"
            " to serve what is there now."
        )


def take_folder(data_dir: str) -> FolderLock:
    """Make the data folder and the engine's folder if they are missing, and lock them.

    Raises StorageLocked, StorageReadOnly, StorageFull or another StorageError; FolderUnfit when `data_dir` is not a
    folder, cannot be made, or holds foreign files and no folder `engine`.
    """
    files.make_folder(data_dir)
    lock = FolderLock(data_dir, is_signed=True)
    with storage_errors(data_dir, OPENING), undone_on_failure(lock.release):
        lock.take_file(os.O_RDWR | os.O_CREAT)
        copy_folders.tidy(data_dir)
        files.make_engine_folder(data_dir)
        lock.take_folder()
    return lock


def lock_for_reading(data_dir: str) -> FolderLock:
    """Lock a data folder without changing anything in it.

    Raises StorageLocked, or another StorageError, such as when this user may not read the folder.
    """
    lock = FolderLock(data_dir, is_signed=False)
    with storage_errors(data_dir, READING), undone_on_failure(lock.release):
        try:
            # Some file systems cannot lock files that are open for reading only.
            lock.take_file(os.O_RDWR)
        except FileNotFoundError:
            pass  # no server has run, or the lock file was deleted: `take_folder` below locks the engine's folder
        except OSError as error:
            if error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
                raise
            lock.take_file(os.O_RDONLY)
        lock.take_folder()
    return lock


def _close_engine_folder(folder: int, engine_lock: tuple[int, int] | None) -> None:
    """Close the descriptor `folder` of an engine's folder, unless it is negative, or the engine may still work through
    it: this process still has the engine's own lock file open. Looks at each of the process's open files, if the
    system lists them; elsewhere engines work by plain paths.
    """
    if folder < 0:
        return
    with contextlib.suppress(OSError):
        lock = engine_lock or _number(os.stat(LOCK_FILE_OF_ENGINE, dir_fd=folder))
        for descriptor in os.listdir(files.OPEN_DESCRIPTORS_FOLDER):
            with contextlib.suppress(OSError):  # `os.listdir` has closed its own descriptor, which it lists too
                if _number(os.stat(files.OPEN_DESCRIPTORS_FOLDER + descriptor)) == lock:
                    return
    os.close(folder)


def _way(descriptor: int, path: str) -> str:
    """A path to the open folder through its `descriptor`; its plain `path` on systems without such paths."""
    way = f"{files.OPEN_DESCRIPTORS_FOLDER}{descriptor}"
    try:
        is_way = os.path.samestat(os.stat(os.path.join(way, ".")), os.fstat(descriptor))
    except OSError:
        return path
    return way if is_way else path


def _number(found: os.stat_result) -> tuple[int, int]:
    """Device and inode number, which identify a file as long as it is open in some process."""
    return found.st_dev, found.st_ino


def _in_use(data_dir: str, owner: str) -> StorageLocked:
    process = f" (process {owner})" if owner else ""
    return StorageLocked(f"{data_dir} is in use by another Hashrange{process}. Stop that one, or name another folder.")
