"""Which files does a store own? Names, makes, copies and removes them, refuses a folder with foreign files and no
store; `identity.py` locks the folder.

A data folder holds `lock` (locked while a process has the folder open; a server writes its process id into it),
`engine/` (the engine's own files), `synced` (the number of the last write that a sync covered; removed when a server
ends in order), `vectors/` (parts of vector indexes, `part_files.py`), and at times `copies/` and `engine.former/`
(`copy_folders.py`).
"""

import contextlib
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from hashrange.errors import StorageError
from hashrange.settings import SettingUnusable
from hashrange.store.embedded.modes import PRIVATE_FILE, PRIVATE_FOLDER

ENGINE_FOLDER = "engine"
LOCK_FILE = "lock"
SYNCED_FILE = "synced"
COPIES_FOLDER = "copies"
"""Name of the folder that holds the data folders of the server's checkpoints and forks (`copy_folders.py`)."""
FORMER_ENGINE_FOLDER = "engine.former"
"""Name of the engine's folder while a copy takes its place."""
VECTORS_FOLDER = "vectors"
"""Name of the folder with files of parts of vector indexes, which a server writes when it ends."""
CURRENT_FILE = "CURRENT"
"""File of the engine that names its manifest, which lists the engine's current data files."""

OPEN_DESCRIPTORS_FOLDER = "/proc/self/fd/"
"""Linux folder of links to open files, by descriptor; the links stay valid when the files are moved."""
IDENTITY_FILE = "IDENTITY"
"""File of the engine that contains a random name, which the engine gives itself when it is made."""
_TRACES = {"LOCK", "rocksdict-config.json"}
"""Files that the engine makes, besides `LOG` and `LOG.old.…`, before it finds that a folder holds no data."""

SPARE_BYTES, PIECE_BYTES = 1024 * 1024, 256 * 1024
"""SPARE_BYTES: upper estimate of the bytes that opening an engine writes besides the content of its logs. PIECE_BYTES:
bytes that `require_disk_space` writes at a time.
"""


class Folder(NamedTuple):
    """A data folder, and the paths by which its content is reached."""

    place: str
    """The data folder's path as the operator gave it, for messages."""
    data: str
    engine: str
    """Path of the engine's folder. Like `data`, a plain path or one through an open descriptor (`identity.py`)."""


class FolderUnfit(StorageError, SettingUnusable):
    """The path is not that of a data folder, and no data folder can be made there,
    or none may be (a command that only reads).
    """


def make_folder(data_dir: str) -> None:
    """Make the data folder if it is missing, for this user only. A folder that exists keeps its mode.

    Raises FolderUnfit when `data_dir` is not a folder, cannot be made, or holds foreign files and no folder `engine`;
    StorageError when it cannot be read.
    """
    folder = Path(data_dir)
    try:
        folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise FolderUnfit(f"{data_dir} is not a folder. Name another one with --data-dir.") from error
    except OSError as error:
        raise FolderUnfit(
            f"the folder {data_dir} cannot be made: {error.strerror}. Name another one with --data-dir."
        ) from error
    refuse_foreign(folder)


def make_engine_folder(data_dir: str) -> None:
    """Make the engine's folder if it is missing, and make the names of engine folder and data folder durable. Raises
    OSError.
    """
    folder = Path(data_dir)
    (folder / ENGINE_FOLDER).mkdir(PRIVATE_FOLDER, exist_ok=True)
    for each in (folder, folder.absolute().parent):
        sync_folder(str(each))


def refuse_foreign(folder: Path) -> None:
    """Raise FolderUnfit for a folder that holds foreign files and no folder `engine`, so that they stay untouched.

    Raises StorageError when it cannot be read.
    """
    try:
        names = {entry.name for entry in folder.iterdir()}
    except OSError as error:
        raise unreadable(folder, error) from error
    strangers = names - {LOCK_FILE, ENGINE_FOLDER, FORMER_ENGINE_FOLDER, COPIES_FOLDER, "lost+found"}
    if strangers and ENGINE_FOLDER not in names:
        raise FolderUnfit(
            f"{folder} holds other files ({min(strangers)}, …) and no Hashrange data. Name an empty or a new folder."
        )


def unreadable(folder: str | Path, error: OSError) -> StorageError:
    """The StorageError for a folder that could not be read because of `error`."""
    return StorageError(
        f"{folder} cannot be read ({error.strerror}). Give this user the right to read all that is in it."
    )


def sync_folder(path: str) -> None:
    """Make the names in a folder durable; the engine does this for its own files only. Raises OSError.

    Does nothing on Windows, which has no such call, on file systems that cannot sync folders, and for a folder that
    this user may not open.
    """
    if os.name == "nt":
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        return  # this user may lack the right to read the folder above the data folder
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:  # some file systems cannot sync folders
            raise
    finally:
        os.close(descriptor)


def engine_folder(data_dir: str) -> str:
    """Path of the folder with the engine's own files."""
    return str(Path(data_dir) / ENGINE_FOLDER)


def by_name(data_dir: str) -> Folder:
    """The data folder by its plain path, which leads to whatever folder is there when the path is used."""
    return Folder(data_dir, data_dir, engine_folder(data_dir))


def synced_file(data_dir: str) -> str:
    """Path of the file in which `synced.py` records the last synced write."""
    return str(Path(data_dir) / SYNCED_FILE)


def has_engine(folder: Folder) -> bool:
    """True when the folder holds a store: a file CURRENT of the engine. Raises StorageError when it cannot be read."""
    try:
        return (Path(folder.engine) / CURRENT_FILE).is_file()
    except OSError as error:
        raise unreadable(folder.place, error) from error


def has_former_engine(folder: Folder) -> bool:
    """True if a server died after it had put its engine's folder aside for a copy,
    and before it put the copy in place.
    """
    return not os.path.exists(folder.engine) and (Path(folder.data) / FORMER_ENGINE_FOLDER).is_dir()


def may_make_engine(folder: str) -> bool:
    """False if the engine's `folder` holds data files or logs: without CURRENT, a new engine would delete them."""
    return not any(path.suffix in {".sst", ".log"} for path in Path(folder).glob("*"))


def has_only_traces(folder: Folder) -> bool:
    """True if an engine was once opened in the folder, but the folder holds no data.

    Raises StorageError when it cannot be read.
    """
    is_touched = any(is_trace(path.name) for path in Path(folder.engine).glob("*"))
    return is_touched and not has_engine(folder) and may_make_engine(folder.engine)


def is_trace(name: str) -> bool:
    """True if opening an engine leaves a file of this name even in a folder without data."""
    return name in _TRACES or name.startswith("LOG")


def names_of_non_files(folder: str) -> list[str]:
    """Sorted names in the engine's `folder` of what is no file, such as a folder or broken link, in place of files that
    the engine makes anew: LOCK, LOG, LOG.old.…, rocksdict-config.json, IDENTITY.
    """
    return sorted(
        path.name
        for path in Path(folder).iterdir()
        if (is_trace(path.name) or path.name == IDENTITY_FILE) and not os.path.isfile(path)
    )


def remove_stub(data_dir: str, opened: os.stat_result) -> None:
    """Remove the engine's folder in `data_dir`, if it is not the folder `opened` and holds only traces of an opening;
    then `data_dir` too if it is empty. Ignores errors.
    """
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
    """Raise StorageError if the folder holds data files or logs, but not the file CURRENT, which leads to them."""
    if not has_engine(folder) and not may_make_engine(folder.engine):
        raise StorageError(
            f"{folder.place} holds data files, and {ENGINE_FOLDER}/{CURRENT_FILE}, which leads to them, is missing."
            " Put it back, or restore a backup of the whole folder."
        )


@contextlib.contextmanager
def copied_head(folder: str, logs: Mapping[str, int | None]) -> Iterator[str]:
    """Copy CURRENT and the manifests, some MB at most, to a scratch folder; yield its path, and remove it afterwards.

    Manifests list the engine's data files. Also copies `logs`: path → size to which the copy is cut (None: whole).
    """
    with tempfile.TemporaryDirectory(prefix="hashrange-", ignore_cleanup_errors=True) as scratch:
        for path in (Path(folder) / CURRENT_FILE, *Path(folder).glob("MANIFEST-*")):
            shutil.copyfile(path, Path(scratch) / path.name)
        for log, size_bytes in logs.items():
            copy = Path(scratch) / Path(log).name
            shutil.copyfile(log, copy)
            if size_bytes is not None:
                os.truncate(copy, size_bytes)
        yield scratch


def scratch_path() -> str:
    """A new path for a temporary folder, such as for files that rocksdict writes even for a store
    in memory; nothing is there.
    """
    return os.path.join(tempfile.gettempdir(), f"hashrange-{secrets.token_hex(8)}")


def link_or_copy(source: str, target: str) -> None:
    """Link a file that never changes to a second path, or copy it where links cannot be made. Raises OSError."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def make_private_folder(path: str) -> None:
    """Make a folder that only this user may read. Raises OSError, such as if something is at the path."""
    os.mkdir(path, PRIVATE_FOLDER)


def remove_folder(path: str) -> None:
    """Remove a folder and its content; files that cannot be removed stay."""
    shutil.rmtree(path, ignore_errors=True)


def folder_size_bytes(path: str) -> int:
    """Sum of the sizes of all files below `path`."""
    return sum(entry.stat().st_size for entry in Path(path).rglob("*") if entry.is_file())


def log_files(folder: str) -> list[str]:
    """Paths of the engine's write-ahead logs, oldest first, without empty logs at the end."""
    if not Path(folder).is_dir():
        return []
    logs = sorted((path for path in Path(folder).iterdir() if path.suffix == ".log"), key=lambda path: int(path.stem))
    while logs and not logs[-1].stat().st_size:
        logs.pop()
    return [str(path) for path in logs]


def sync_logs(folder: str) -> None:
    """Make the current content of the engine's write-ahead logs, and their names, durable. Raises OSError."""
    for path in log_files(folder):
        try:
            file = open(path, "r+b")  # noqa: SIM115 - closed below; an unneeded log may be deleted meanwhile
        except FileNotFoundError:
            continue
        with file:
            os.fsync(file.fileno())
    sync_folder(folder)


def require_disk_space(folder: str) -> None:
    """Write, sync and drop a nameless file as large as opening the engine needs. Raises OSError, as on a full disk."""
    left_bytes = SPARE_BYTES + sum(os.path.getsize(path) for path in log_files(folder))
    with tempfile.TemporaryFile(dir=folder) as file:
        while left_bytes > 0:
            left_bytes -= file.write(os.urandom(PIECE_BYTES))  # random, because compressible bytes may need less space
        file.flush()
        os.fsync(file.fileno())


def log_name(number: int) -> str:
    """File name of the write-ahead log with this number."""
    return f"{number:06}.log"


def log_number(path: str) -> int:
    """Number of the write-ahead log at `path`."""
    return int(Path(path).stem)


def has_log(folder: str, number: int) -> bool:
    """True if the engine's `folder` holds the write-ahead log with this number."""
    return os.path.exists(os.path.join(folder, log_name(number)))


def newest_log_number(folder: str) -> int:
    """Number of the newest write-ahead log in the engine's `folder`; 0 if there is none. 15 µs. Raises OSError."""
    return max((int(name[:-4]) for name in os.listdir(folder) if name.endswith(".log")), default=0)


def identity_of(folder: Folder) -> bytes:
    """The random name that the folder's engine has given itself. Raises OSError."""
    return read_bytes(os.path.join(folder.engine, IDENTITY_FILE))


def read_bytes(path: str) -> bytes:
    """The whole content of a file."""
    return Path(path).read_bytes()


def read_head(path: str, size_bytes: int) -> bytes:
    """The first `size_bytes` bytes of a file."""
    with open(path, "rb") as file:
        return file.read(size_bytes)


def read_if_there(path: str) -> bytes:
    """The whole content of a file; empty if there is no file."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return b""


def read_manifest(folder: str) -> bytes:
    """The whole content of the engine's manifest; empty if there is no CURRENT, or not the manifest that it names."""
    name = read_if_there(os.path.join(folder, CURRENT_FILE)).decode("ascii", "replace").strip()
    return read_if_there(os.path.join(folder, os.path.basename(name))) if name else b""


def open_to_overwrite(path: str) -> int:
    """Open a file for writing, made if it is missing, and return its descriptor. Raises OSError."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), PRIVATE_FILE)


def overwrite(descriptor: int, content: bytes) -> None:
    """Write to the beginning of an open file, without a sync. Raises OSError."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, content)


def close_file(descriptor: int) -> None:
    """Close a descriptor from `open_to_overwrite`; ignores errors."""
    with contextlib.suppress(OSError):
        os.close(descriptor)


def remove_file(path: str) -> None:
    """Remove a file if it exists; ignores errors."""
    with contextlib.suppress(OSError):
        os.remove(path)


def ends_with_zero(path: str) -> bool:
    """True if the last byte of a file is 0; False for an empty file."""
    with open(path, "rb") as file:
        if not file.seek(0, os.SEEK_END):
            return False
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\0"


def truncate(path: str, size_bytes: int) -> None:
    """Cut a file to `size_bytes`, and sync it."""
    with open(path, "r+b") as file:
        file.truncate(size_bytes)
        os.fsync(file.fileno())


def append_bytes(path: str, content: bytes) -> None:
    """Append to a file, and sync it."""
    with open(path, "ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
