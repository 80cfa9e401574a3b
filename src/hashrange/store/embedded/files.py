"""Which files does a store own? The only place of the embedded store that touches the file system itself.

A data folder holds `lock` (ours; flock, with the owner's process id inside) and `engine/` (the engine's own files).
"""

import contextlib
import errno
import os
import shutil
import tempfile
from pathlib import Path

from hashrange.errors import StorageError, StorageLocked, StorageReadOnly
from hashrange.settings import SettingUnusable

ENGINE_FOLDER = "engine"
LOCK_FILE = "lock"
CURRENT_FILE = "CURRENT"
"""The engine's: names its manifest, which names the files that count."""

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


class FolderUnfit(StorageError, SettingUnusable):
    """What was named as the data folder is none and cannot become one."""


class FolderLock:
    """The right to use a data folder, held until `release` or the end of the process, however it ends."""

    def __init__(self, descriptor: int, *, is_signed: bool) -> None:
        """Below 0 the descriptor is that of no file: there is nothing to lock. `is_signed`: the file names this process."""
        self._descriptor = descriptor
        self._is_signed = is_signed

    def release(self) -> None:
        """Let another process have the folder; may be called twice."""
        if self._descriptor >= 0:
            if self._is_signed:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1


def prepare_folder(data_dir: str) -> FolderLock:
    """Make the folder if it is missing and lock it.

    Raises StorageLocked, StorageReadOnly, or FolderUnfit when `data_dir` is not a folder or holds something else.
    """
    folder = Path(data_dir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise FolderUnfit(f"{data_dir} is not a folder. Name another one with --data-dir.") from error
    except OSError as error:
        raise FolderUnfit(
            f"the folder {data_dir} cannot be made: {error.strerror}. Name another one with --data-dir."
        ) from error
    _refuse_foreign(folder)
    lock = _lock(folder)
    try:
        (folder / ENGINE_FOLDER).mkdir(exist_ok=True)
        for each in (folder, folder.absolute().parent):
            sync_folder(str(each))
    except OSError as error:
        lock.release()
        raise _unwritable(data_dir, error) from error
    return lock


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds files but no store of ours: nothing of somebody else's is ever touched."""
    try:
        names = {entry.name for entry in folder.iterdir()}
    except OSError as error:
        raise _unreadable(folder, error) from error
    strangers = names - {LOCK_FILE, ENGINE_FOLDER, "lost+found"}
    if strangers and ENGINE_FOLDER not in names:
        raise FolderUnfit(
            f"{folder} holds other files ({min(strangers)}, …) and no Hashrange data. Name an empty or a new folder."
        )


def _lock(folder: Path) -> FolderLock:
    try:
        descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise _unwritable(folder, error) from error
    _take(folder, descriptor)
    with contextlib.suppress(OSError):  # the process id is a courtesy; a full disk must not keep the store from opening
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
    return FolderLock(descriptor, is_signed=True)


def lock_for_reading(data_dir: str) -> FolderLock:
    """Lock a folder and change nothing in it. One without a lock file is a copy that no server has had: it needs none.

    Raises StorageLocked, or StorageError when this user may not look.
    """
    folder = Path(data_dir)
    try:
        try:
            # Some file systems lock nothing that is open for reading only.
            descriptor = os.open(folder / LOCK_FILE, os.O_RDWR)
        except OSError as error:
            if error.errno not in {errno.EACCES, errno.EPERM, errno.EROFS}:
                raise
            descriptor = os.open(folder / LOCK_FILE, os.O_RDONLY)
    except FileNotFoundError:
        return FolderLock(-1, is_signed=False)
    except OSError as error:
        raise _unreadable(folder, error) from error
    _take(folder, descriptor)
    return FolderLock(descriptor, is_signed=False)


def _take(folder: Path, descriptor: int) -> None:
    """Lock an open lock file, or close it and raise StorageLocked, or StorageError where files cannot be locked."""
    try:
        if _try_lock(descriptor):
            return
        owner = os.read(descriptor, 32).decode("ascii", "replace").strip()
    except OSError as error:
        os.close(descriptor)
        raise StorageError(
            f"{folder} cannot be locked: {error.strerror}. Name a folder on a file system that has locks."
        ) from error
    os.close(descriptor)
    process = f" (process {owner})" if owner else ""
    raise StorageLocked(f"{folder} is in use by another Hashrange{process}. Stop that one, or name another folder.")


def _unwritable(folder: str | Path, error: OSError) -> StorageReadOnly:
    return StorageReadOnly(f"{folder} cannot be written ({error.strerror}). Give this user the right to write there.")


def _unreadable(folder: str | Path, error: OSError) -> StorageError:
    return StorageError(
        f"{folder} cannot be read ({error.strerror}). Give this user the right to read all that is in it."
    )


def sync_folder(path: str) -> None:
    """Make the names in a folder durable: the engine does so for its own files only. Windows has no such call."""
    if os.name == "nt":
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        return  # a parent that may not be read is not ours to sync
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # file systems that cannot sync folders
            raise
    finally:
        os.close(descriptor)


def engine_folder(data_dir: str) -> str:
    """Where the engine's own files are."""
    return str(Path(data_dir) / ENGINE_FOLDER)


def has_engine(data_dir: str) -> bool:
    """True when the folder holds a store. Raises StorageError when this user may not look."""
    try:
        return (Path(data_dir) / ENGINE_FOLDER / CURRENT_FILE).is_file()
    except OSError as error:
        raise _unreadable(data_dir, error) from error


def copy_head(data_dir: str) -> str:
    """A scratch folder with what tells the engine which of its files count: some MB at most. `remove_folder` it later."""
    scratch = make_scratch_folder()
    try:
        engine = Path(data_dir) / ENGINE_FOLDER
        for path in (engine / CURRENT_FILE, *engine.glob("MANIFEST-*")):
            shutil.copyfile(path, Path(scratch) / path.name)
    except BaseException:
        remove_folder(scratch)
        raise
    return scratch


def make_scratch_folder() -> str:
    """A folder for what the engine's Python shell writes even for a store in memory; `remove_folder` it at once."""
    return tempfile.mkdtemp(prefix="hashrange-")


def remove_folder(path: str) -> None:
    """Remove a folder and all it holds; what cannot be removed stays."""
    shutil.rmtree(path, ignore_errors=True)


def folder_size_bytes(path: str) -> int:
    """Sum of the sizes of all files below `path`."""
    return sum(entry.stat().st_size for entry in Path(path).rglob("*") if entry.is_file())


def log_files(folder: str) -> list[str]:
    """Paths of the engine's write-ahead logs, oldest first, up to the last that holds anything."""
    if not Path(folder).is_dir():
        return []
    logs = sorted((path for path in Path(folder).iterdir() if path.suffix == ".log"), key=lambda path: int(path.stem))
    while logs and not logs[-1].stat().st_size:
        logs.pop()
    return [str(path) for path in logs]


def read_bytes(path: str) -> bytes:
    """All of a file."""
    return Path(path).read_bytes()


def append_bytes(path: str, content: bytes) -> None:
    """Add to the end of a file and sync it."""
    with open(path, "ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
