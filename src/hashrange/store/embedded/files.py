"""Which files does a store own? What names them, makes them, reads and copies them; who has them is in `identity.py`.

A data folder holds `lock` (ours; flock, with the owner's process id inside), `engine/` (the engine's own files), and while it is
served `synced` (ours; how far syncs have come).
"""

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from hashrange.errors import StorageError
from hashrange.settings import SettingUnusable

ENGINE_FOLDER = "engine"
LOCK_FILE = "lock"
SYNCED_FILE = "synced"
CURRENT_FILE = "CURRENT"
"""The engine's: names its manifest, which names the files that count."""

HELD_FOLDERS = "/proc/self/fd/"
"""Where Linux leads to what this process has open, by descriptor, whatever stands at the path that it was opened by."""
IDENTITY_FILE = "IDENTITY"
"""The engine's: a random name that it gives itself when it is made."""
_TRACES = {"LOCK", "rocksdict-config.json"}
"""With the engine's own log (`LOG`, `LOG.old.…`) what the engine makes before it finds out that a folder holds no data."""

SPARE_BYTES, PIECE_BYTES = 1024 * 1024, 256 * 1024
"""What opening an engine writes beside the rows of its logs, amply; and how much of it is tried at a time."""


class Folder(NamedTuple):
    """A data folder, and how to get at what is in it."""

    place: str
    """As it was named, for people."""
    data: str
    engine: str
    """The engine's folder; like `data`, by its name or as what this process has open (`identity.py`)."""


class FolderUnfit(StorageError, SettingUnusable):
    """What was named as the data folder is none and cannot become one."""


def make_folder(data_dir: str) -> None:
    """Make the data folder if it is missing.

    Raises StorageError, or FolderUnfit when `data_dir` is not a folder or holds something else.
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


def make_engine_folder(data_dir: str) -> None:
    """Make the engine's folder if it is missing, and the names of all these folders durable. Raises OSError."""
    folder = Path(data_dir)
    (folder / ENGINE_FOLDER).mkdir(exist_ok=True)
    for each in (folder, folder.absolute().parent):
        sync_folder(str(each))


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds files but no store of ours: nothing of somebody else's is ever touched."""
    try:
        names = {entry.name for entry in folder.iterdir()}
    except OSError as error:
        raise unreadable(folder, error) from error
    strangers = names - {LOCK_FILE, ENGINE_FOLDER, "lost+found"}
    if strangers and ENGINE_FOLDER not in names:
        raise FolderUnfit(
            f"{folder} holds other files ({min(strangers)}, …) and no Hashrange data. Name an empty or a new folder."
        )


def unreadable(folder: str | Path, error: OSError) -> StorageError:
    """For a folder that this user may not read."""
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


def by_name(data_dir: str) -> Folder:
    """The folder that stands at that path, whichever it is by then."""
    return Folder(data_dir, data_dir, engine_folder(data_dir))


def synced_file(data_dir: str) -> str:
    """Where `synced.py` keeps its number."""
    return str(Path(data_dir) / SYNCED_FILE)


def has_engine(folder: Folder) -> bool:
    """True when the folder holds a store. Raises StorageError when this user may not look."""
    try:
        return (Path(folder.engine) / CURRENT_FILE).is_file()
    except OSError as error:
        raise unreadable(folder.place, error) from error


def may_make_engine(folder: str) -> bool:
    """True unless the engine's `folder` holds an engine's data: then the file that leads to it is missing, and making it anew would
    delete the data.
    """
    return not any(path.suffix in {".sst", ".log"} for path in Path(folder).glob("*"))


def has_only_traces(folder: Folder) -> bool:
    """True if an engine was once opened in the folder, and there is no data in it. Raises StorageError when this user may not look."""
    is_touched = any(is_trace(path.name) for path in Path(folder.engine).glob("*"))
    return is_touched and not has_engine(folder) and may_make_engine(folder.engine)


def is_trace(name: str) -> bool:
    """Does an opening leave a file of that name even where there is no data?"""
    return name in _TRACES or name.startswith("LOG")


def names_of_no_files(folder: str) -> list[str]:
    """What stands in the engine's `folder` where an opening would find or make a file, and is none: a folder, or a link to nowhere."""
    return sorted(
        path.name
        for path in Path(folder).iterdir()
        if (is_trace(path.name) or path.name == IDENTITY_FILE) and not os.path.isfile(path)
    )


def remove_stub(data_dir: str, opened: os.stat_result) -> None:
    """Remove what stands at `data_dir` if it is not the engine's folder that was `opened`, and holds traces of an opening only."""
    folder = engine_folder(data_dir)
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            names = os.listdir(descriptor)
            if names and all(map(is_trace, names)) and not os.path.samestat(os.fstat(descriptor), opened):
                for name in names:
                    os.unlink(name, dir_fd=descriptor)
                os.rmdir(folder)
                os.rmdir(data_dir)
        finally:
            os.close(descriptor)


def require_way_in(folder: Folder) -> None:
    """Raise StorageError if the folder holds an engine's data, and the file that leads to it is missing."""
    if not has_engine(folder) and not may_make_engine(folder.engine):
        raise StorageError(
            f"{folder.place} holds data files, and {ENGINE_FOLDER}/{CURRENT_FILE}, which leads to them, is missing. Put it back, or restore a"
            " backup of the whole folder."
        )


def copy_head(folder: str, logs: Mapping[str, int | None]) -> str:
    """A scratch folder with what tells the engine which of the files in `folder` count: some MB at most. `remove_folder` it later.

    It has copies of these `logs`, cut to their sizes (None: whole).
    """
    scratch = make_scratch_folder()
    try:
        for path in (Path(folder) / CURRENT_FILE, *Path(folder).glob("MANIFEST-*")):
            shutil.copyfile(path, Path(scratch) / path.name)
        for log, size_bytes in logs.items():
            copy = Path(scratch) / Path(log).name
            shutil.copyfile(log, copy)
            if size_bytes is not None:
                os.truncate(copy, size_bytes)
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


def sync_logs(folder: str) -> None:
    """Make durable what the engine's write-ahead logs hold by now, and their names. Raises OSError."""
    for path in log_files(folder):
        try:
            file = open(path, "r+b")  # noqa: SIM115 - closed below; one that is no longer needed may be deleted meanwhile
        except FileNotFoundError:
            continue
        with file:
            os.fsync(file.fileno())
    sync_folder(folder)


def prove_room(folder: str) -> None:
    """Write and sync a nameless file as large as what opening the engine in `folder` writes. Raises OSError, as for a full disk."""
    left_bytes = SPARE_BYTES + sum(os.path.getsize(path) for path in log_files(folder))
    with tempfile.TemporaryFile(dir=folder) as file:
        while left_bytes > 0:
            left_bytes -= file.write(os.urandom(PIECE_BYTES))  # what can be compressed would prove less
        file.flush()
        os.fsync(file.fileno())


def log_name(number: int) -> str:
    """The name of one of the engine's write-ahead logs."""
    return f"{number:06}.log"


def log_number(path: str) -> int:
    """The number of one of the engine's write-ahead logs."""
    return int(Path(path).stem)


def has_log(folder: str, number: int) -> bool:
    """Is that log in the engine's `folder`?"""
    return os.path.exists(os.path.join(folder, log_name(number)))


def newest_log_number(folder: str) -> int:
    """The number of the newest log in the engine's `folder`; 0 if there is none. 15 µs. Raises OSError."""
    return max((int(name[:-4]) for name in os.listdir(folder) if name.endswith(".log")), default=0)


def read_bytes(path: str) -> bytes:
    """All of a file."""
    return Path(path).read_bytes()


def read_head(path: str, size_bytes: int) -> bytes:
    """The first bytes of a file."""
    with open(path, "rb") as file:
        return file.read(size_bytes)


def read_if_there(path: str) -> bytes:
    """All of a file; nothing if there is none."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return b""


def read_manifest(folder: str) -> bytes:
    """All of the engine's MANIFEST; nothing if none is named."""
    name = read_if_there(os.path.join(folder, CURRENT_FILE)).decode("ascii", "replace").strip()
    return read_if_there(os.path.join(folder, os.path.basename(name))) if name else b""


def open_to_overwrite(path: str) -> int:
    """The descriptor of a file, which is made if it is missing. Raises OSError."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o644)


def overwrite(descriptor: int, content: bytes) -> None:
    """Write to the beginning of a file; nothing is synced. Raises OSError."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, content)


def close_file(descriptor: int) -> None:
    """Let go of a file that was opened for overwriting."""
    with contextlib.suppress(OSError):
        os.close(descriptor)


def remove_file(path: str) -> None:
    """Remove a file if it is there; one that cannot be removed stays."""
    with contextlib.suppress(OSError):
        os.remove(path)


def ends_with_zero(path: str) -> bool:
    """Is the last byte of a file 0? False for an empty one."""
    with open(path, "rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\0"


def truncate(path: str, size_bytes: int) -> None:
    """Cut a file off at a size, and sync it."""
    with open(path, "r+b") as file:
        file.truncate(size_bytes)
        os.fsync(file.fileno())


def append_bytes(path: str, content: bytes) -> None:
    """Add to the end of a file and sync it."""
    with open(path, "ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
