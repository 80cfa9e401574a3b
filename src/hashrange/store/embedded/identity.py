"""Whose is a data folder, and is it still the one that was opened? Locks on it, and what tells one folder from another.

Two things are locked: the lock file, which names the owner's process, and the engine's folder itself, so that deleting the
lock file lets nobody in. (Windows locks no folders, but deletes no file that is open; NFS locks none either, and there
the lock file and the engine's own lock must do.)

A folder may be deleted, unmounted or replaced while it is served. The engine notices nothing: it goes on writing and syncing files
that no name leads to. So after each sync the engine's own lock file is looked up by its path (2 µs, on the sync thread), and before a
reopening the folder and the engine's IDENTITY file. What the engine makes and deletes it makes and deletes by paths. Where the system leads to
an open folder through its descriptor (Linux), the engine is given such a path, so all of that happens in the folder that was opened;
elsewhere it happens in whatever folder is there by then. This file opens and compares; it makes no folder and deletes nothing.
See docs/adr/0012-failures-and-reopening.md.
"""

import contextlib
import errno
import os

from hashrange.errors import StorageError, StorageLocked, StorageLost
from hashrange.store.embedded import files
from hashrange.store.embedded.faults import OPENING, READING, storage_error

LOCK_FILE_OF_ENGINE = "LOCK"
"""The engine makes it once, holds it open, and never replaces it."""
_HOLD = getattr(os, "O_PATH", os.O_RDONLY)
"""Enough for a folder to be held and found again, whether this user may read it or not."""
_CANNOT_LOCK_FOLDERS = {errno.EBADF, errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK, errno.EACCES, errno.EPERM}

if os.name == "nt":  # pragma: no cover - exercised on Windows only
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class FolderLock:
    """The right to use a data folder, held until `release` or the end of the process, however it ends."""

    def __init__(self, data_dir: str, *, is_signed: bool) -> None:
        """Holds nothing yet. `is_signed`: the lock file names this process."""
        self._data_dir = data_dir
        self._engine_folder = files.engine_folder(data_dir)
        self._engine_lock_path = os.path.join(self._engine_folder, LOCK_FILE_OF_ENGINE)
        self._engine_lock: tuple[int, int] | None = None
        """Device and number of the engine's lock file, while an engine is open."""
        self._identity = b""
        self._is_signed = is_signed
        self._file = self._data = self._folder = -1
        """Descriptors of the lock file, the data folder and the engine's folder; below 0 there is none."""
        self.folder = files.by_name(data_dir)
        """How to get at the locked folder."""

    def take_file(self, flags: int) -> None:
        """Lock the lock file, opened with `flags`. Raises StorageLocked, StorageError where files cannot be locked, OSError."""
        descriptor = os.open(os.path.join(self._data_dir, files.LOCK_FILE), flags, 0o644)
        try:
            is_locked = _try_lock(descriptor)
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
            # The process id is a courtesy; a full disk must not keep the store from opening.
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()}\n".encode())

    def take_folder(self) -> None:
        """Lock the engine's folder, where folders can be locked, and hold it and the data folder. Raises StorageLocked, OSError."""
        if os.name == "nt":
            return
        self._data = os.open(self._data_dir, _HOLD)
        descriptor = os.open(files.ENGINE_FOLDER, os.O_RDONLY, dir_fd=self._data)
        try:
            is_locked = _try_lock(descriptor)
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
        """The engine works in the folder that was opened, whatever stands at its path."""
        return self.folder.engine != self._engine_folder

    def note_engine(self) -> None:
        """The engine of this folder has just been opened. Raises OSError."""
        self._engine_lock = _number(os.stat(os.path.join(self.folder.engine, LOCK_FILE_OF_ENGINE)))
        self._identity = files.read_bytes(os.path.join(self.folder.engine, files.IDENTITY_FILE))

    def require_engine(self) -> None:
        """Raise StorageLost unless the folder of the open engine stands at its path. 2 µs."""
        try:
            is_there = _number(os.stat(self._engine_lock_path)) == self._engine_lock
        except OSError:
            is_there = False
        if not is_there:
            raise self._lost()

    def require_folder(self) -> None:
        """Raise StorageLost unless the folder, and the engine in it, are those that were opened: before they are opened again."""
        try:
            is_same = self._folder < 0 or _number(os.stat(self._engine_folder)) == _number(os.fstat(self._folder))
            identity = files.read_bytes(os.path.join(self._engine_folder, files.IDENTITY_FILE))
        except OSError as error:
            raise self._lost() from error
        if not is_same or identity != self._identity:
            raise self._lost()

    def clear_away(self) -> None:
        """An engine could not be opened again: where that was tried by the folder's name, nothing may be left at its path."""
        if self._folder >= 0 and not self.is_held:
            files.remove_stub(self._data_dir, os.fstat(self._folder))

    def release(self) -> None:
        """Let another process have the folder; may be called twice.

        An engine that is left over keeps the engine's folder until the process ends: it goes on working by its descriptor, whose number
        must not come to lead to another folder, and with it as long as anything that was read from it has not been let go of.
        """
        if self._file >= 0:
            if self._is_signed:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, 0)
            os.close(self._file)
        if self._folder >= 0 and not (self.is_held and self._is_engine_left()):
            os.close(self._folder)
        if self._data >= 0:
            os.close(self._data)
        self._file = self._data = self._folder = -1

    def _is_engine_left(self) -> bool:
        """True if this process still has the engine's own lock file open. One look at each file that is open."""
        try:
            lock = self._engine_lock or _number(os.stat(os.path.join(self.folder.engine, LOCK_FILE_OF_ENGINE)))
        except OSError:
            return False
        for descriptor in os.listdir(files.HELD_FOLDERS):
            with contextlib.suppress(OSError):  # the listing itself is closed by now
                if _number(os.stat(files.HELD_FOLDERS + descriptor)) == lock:
                    return True
        return False

    def _lost(self) -> StorageLost:
        return StorageLost(
            f"what stands at {self._data_dir} is not the folder that was opened: that one was deleted, unmounted, moved or"
            " replaced. Put it back, and serving goes on by itself; or start the server anew to serve what is there now."
        )


def take_folder(data_dir: str) -> FolderLock:
    """Make the folder if it is missing and lock it.

    Raises StorageLocked, StorageReadOnly, StorageFull, or FolderUnfit when `data_dir` is not a folder or holds something else.
    """
    files.make_folder(data_dir)
    lock = FolderLock(data_dir, is_signed=True)
    try:
        lock.take_file(os.O_RDWR | os.O_CREAT)
        files.make_engine_folder(data_dir)
        lock.take_folder()
    except OSError as error:
        lock.release()
        raise storage_error(error, data_dir, OPENING) from error
    except BaseException:
        lock.release()
        raise
    return lock


def lock_for_reading(data_dir: str) -> FolderLock:
    """Lock a folder and change nothing in it.

    Raises StorageLocked, or StorageError when this user may not look.
    """
    lock = FolderLock(data_dir, is_signed=False)
    try:
        try:
            # Some file systems lock nothing that is open for reading only.
            lock.take_file(os.O_RDWR)
        except FileNotFoundError:
            pass  # a copy that no server has had, or the file was deleted: the folder itself says whether it is in use
        except OSError as error:
            if error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
                raise
            lock.take_file(os.O_RDONLY)
        lock.take_folder()
    except OSError as error:
        lock.release()
        raise storage_error(error, data_dir, READING) from error
    except BaseException:
        lock.release()
        raise
    return lock


def _way(descriptor: int, path: str) -> str:
    """A path to the folder that is open as `descriptor`, wherever it is; `path`, by which it was opened, if this system has none."""
    way = f"{files.HELD_FOLDERS}{descriptor}"
    try:
        is_way = os.path.samestat(os.stat(os.path.join(way, ".")), os.fstat(descriptor))
    except OSError:
        return path
    return way if is_way else path


def _number(found: os.stat_result) -> tuple[int, int]:
    """What tells a file from every other, as long as somebody has it open."""
    return found.st_dev, found.st_ino


def _in_use(data_dir: str, owner: str) -> StorageLocked:
    process = f" (process {owner})" if owner else ""
    return StorageLocked(f"{data_dir} is in use by another Hashrange{process}. Stop that one, or name another folder.")
