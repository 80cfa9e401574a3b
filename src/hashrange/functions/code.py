"""How does a function's code become a folder? A zip is unpacked below one temporary folder of the server;
code that is a folder or module is used in place and watched.

A zip comes from a stranger: nothing is written outside its folder, and no link, device or over-large content is written
at all. Source of the limits and of how members keep their modes: Lambda's developer guide, *.zip file archives*.
"""

import hashlib
import importlib.machinery
import io
import os
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from hashrange.errors import HashrangeError
from hashrange.functions.removal import remove_tree
from hashrange.limits import CODE_FILES_MAX, CODE_UNZIPPED_BYTES_MAX, CODE_ZIPPED_BYTES_MAX
from hashrange.messages import functions as messages
from hashrange.work_threads import WorkThread

_CENTRAL_ENTRY = b"PK\x01\x02"
"""Begins each entry of a zip's directory."""
_CREATED_ON_UNIX = 3
_CHUNK_BYTES = 256 * 1024
_NAME_BYTES_MAX = 255
_PATH_BYTES_MAX = 1024
_UNWATCHED = frozenset({"__pycache__", ".git", ".venv", "node_modules"})
"""Folders in which changes are not noticed: they hold what is derived or installed,
often tens of thousands of files."""


class CodeUnusable(HashrangeError):
    """A function's code cannot be used; the message says why, in Lambda's words where it has them."""


class CodeInPlace(NamedTuple):
    """Code that is used where it is."""

    folder: str
    """Absolute path of the folder that imports start from."""
    handler: str | None
    """`package.module.function`, if the code was named by its function."""
    watched: str
    """Absolute path of the folder or file whose changes matter."""


def unpack_code(zipped: bytes, folder: str) -> None:
    """Unpack a zip into `folder`, which must not exist and appears at once, complete. Blocks; call it in a thread.

    Files of mode x stay executable; all other modes, owners and times are dropped. Raises CodeUnusable for a zip that
    is broken, encrypted or too large, or has members outside its folder, links or devices; OSError if the disk refuses.
    """
    if len(zipped) > CODE_ZIPPED_BYTES_MAX:
        raise CodeUnusable(messages.ZIP_TOO_LARGE.format(size_bytes=len(zipped), most_bytes=CODE_ZIPPED_BYTES_MAX))
    if _entries_max(zipped) > CODE_FILES_MAX:  # before zipfile makes an object of each
        raise CodeUnusable(messages.TOO_MANY_FILES.format(most=CODE_FILES_MAX))
    unfinished = f"{folder}.unfinished"
    remove_tree(unfinished)
    try:
        with zipfile.ZipFile(io.BytesIO(zipped)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > CODE_UNZIPPED_BYTES_MAX:
                raise CodeUnusable(messages.UNZIPPED_TOO_LARGE.format(most_bytes=CODE_UNZIPPED_BYTES_MAX))
            paths = [_path_of(member) for member in members]
            os.makedirs(unfinished)
            for member, path in zip(members, paths, strict=True):
                _write_member(archive, member, os.path.join(unfinished, *path))
        os.rename(unfinished, folder)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise CodeUnusable(messages.NOT_A_ZIP) from error
    finally:
        remove_tree(unfinished)


def _entries_max(zipped: bytes) -> int:
    """The most entries that the zip's directory can have.
    Counted in pieces, because a count holds up all other threads.
    """
    whole = memoryview(zipped)
    over = len(_CENTRAL_ENTRY) - 1
    starts = range(0, len(zipped), _CHUNK_BYTES)
    return sum(bytes(whole[start : start + _CHUNK_BYTES + over]).count(_CENTRAL_ENTRY) for start in starts)


def _path_of(member: zipfile.ZipInfo) -> list[str]:
    """The parts of a member's path below the folder; raises CodeUnusable for all but files and folders inside of it."""
    name = member.filename
    parts = name.replace("\\", "/").split("/")
    kind = stat.S_IFMT(member.external_attr >> 16)
    reason = None
    if member.flag_bits & 0x1:
        reason = "is encrypted"
    elif member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        reason = "is compressed by a method that is not supported"
    elif member.create_system == _CREATED_ON_UNIX and kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
        reason = "is no file or folder"
    elif not name:
        reason = "has no name"
    elif name.startswith(("/", "\\")) or ":" in parts[0] or ".." in parts:
        reason = "is outside of the folder"
    elif len(os.fsencode(name)) > _PATH_BYTES_MAX or any(len(os.fsencode(part)) > _NAME_BYTES_MAX for part in parts):
        reason = "has too long a name"
    if reason:
        raise CodeUnusable(messages.UNSAFE_MEMBER.format(name=name[:200], reason=reason))
    return [part for part in parts if part not in {"", "."}]


def _write_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: str) -> None:
    """Write one file or folder; a later member of the same name replaces an earlier one."""
    try:
        if member.is_dir():
            os.makedirs(path, exist_ok=True)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        left_bytes = member.file_size
        with archive.open(member) as source, open(path, "wb") as target:
            while chunk := source.read(_CHUNK_BYTES):
                left_bytes -= len(chunk)
                if left_bytes < 0:
                    raise zipfile.BadZipFile
                target.write(chunk)
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
        reason = "is both a file and a folder"
        raise CodeUnusable(messages.UNSAFE_MEMBER.format(name=member.filename[:200], reason=reason)) from error
    is_executable = member.create_system == _CREATED_ON_UNIX and member.external_attr >> 16 & 0o111
    os.chmod(path, 0o755 if is_executable else 0o644)


def find_code(code: str) -> CodeInPlace:
    """Find code that is used in place: the path of a folder, or `package.module:function` on the server's import path.

    Nothing is imported. Raises CodeUnusable if it is not there.
    """
    if os.path.isdir(code):
        folder = os.path.abspath(code)
        return CodeInPlace(folder, None, folder)
    module, colon, function = code.rpartition(":")
    if not colon or not all(part.isidentifier() for part in (*module.split("."), *function.split("."))):
        raise CodeUnusable(messages.code_not_found(code, "it is neither a folder nor of the form module:function"))
    top = module.split(".", maxsplit=1)[0]
    path = [os.getcwd(), *(part for part in sys.path if part)]
    spec = importlib.machinery.PathFinder.find_spec(top, path)
    if spec is None or not (spec.submodule_search_locations or spec.has_location):
        raise CodeUnusable(messages.code_not_found(code, f"no module {top} is on the import path"))
    if spec.submodule_search_locations:
        watched = os.path.abspath(next(iter(spec.submodule_search_locations)))
        return CodeInPlace(os.path.dirname(watched), f"{module}.{function}", watched)
    folder = os.path.dirname(os.path.abspath(str(spec.origin)))
    return CodeInPlace(folder, f"{module}.{function}", folder)


def fingerprint(watched: str) -> str:
    """A text that changes when a file below a folder is added, removed or written (path, mtime, size); no file is read.

    Derived and installed files (`_UNWATCHED`) do not count, nor files beyond the first CODE_FILES_MAX. Blocks for some
    2 µs per file; call it in a thread.
    """
    digest = hashlib.blake2b(digest_size=16)
    for number, (path, mtime_ns, size_bytes) in enumerate(_files_below(watched)):
        if number >= CODE_FILES_MAX:
            break
        digest.update(f"{path}\0{mtime_ns}\0{size_bytes}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()


def _files_below(folder: str) -> Iterator[tuple[str, int, int]]:
    """Path, mtime and size of each file, always in the same order; what vanishes meanwhile is left out."""
    folders = [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                members = sorted(found, key=lambda member: member.name)
        except OSError:
            continue
        for member in members:
            try:
                if member.is_dir(follow_symlinks=False):
                    if member.name not in _UNWATCHED:
                        folders.append(member.path)
                    continue
                status = member.stat()
            except OSError:
                continue
            yield member.path, status.st_mtime_ns, status.st_size


# --- folders of unpacked code ---------------------------------------------------------------------

_SHORT_ZIP_BYTES_MAX = 64 * 1024
"""Longest zip that is unpacked on the thread for short zips. A zip of this length has some 600 files at most; a longer
one may have 25,000, which take seconds."""
_UNPACKING_SHORT, _UNPACKING_LONG = WorkThread("hashrange-short-zips"), WorkThread("hashrange-long-zips")
"""Read all zips of the process, one after the other, but short ones do not wait for long ones."""
_REMOVING = WorkThread("hashrange-removing")
"""Another thread, as a handler may have written so much that its removal takes long."""


def thread_for(zipped: bytes) -> WorkThread:
    """The thread that reads this zip."""
    return _UNPACKING_SHORT if len(zipped) <= _SHORT_ZIP_BYTES_MAX else _UNPACKING_LONG


class CodeFolders:
    """The folders of unpacked code. The temporary folder is made when it is first needed,
    and only its owner may enter it.
    """

    def __init__(self) -> None:
        self._root: str | None = None
        self._number = 0

    @property
    def root(self) -> str:
        """The temporary folder. Raises OSError if the disk refuses."""
        if self._root is None:
            self._root = tempfile.mkdtemp(prefix="hashrange-functions-")
        return self._root

    async def unpack(self, zipped: bytes) -> str:
        """Unpack a zip into a new folder and return its path. Raises CodeUnusable, and OSError if the disk refuses."""
        self._number += 1
        folder = os.path.join(self.root, str(self._number))
        await thread_for(zipped).run(unpack_code, zipped, folder)
        return folder

    async def remove(self, folder: str) -> None:
        """Remove a folder and what handlers have written into it."""
        await _REMOVING.run(remove_tree, folder)

    async def close(self) -> None:
        """Remove all folders."""
        if self._root is not None:
            await self.remove(self._root)
            self._root = None
