"""What does a repository hold? A manifest for each copy, and the files that copies need, each once, under its digest.

    hashrange-repository                  says that the folder is a repository; whoever removes files relies on it
    manifests/2026-11-30T08-15-03Z.json   one for each copy
    files/9f86d081884c7d65…               a file of a data folder, named after its SHA-256
    unfinished/                           what is being written; whoever writes next removes it
    lock                                  locked while a process writes

Readers lock nothing, so that a copy can be restored from a disk that is read-only, or beside a backup. A manifest
appears after all its files, by a renaming, and goes before them.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import NamedTuple, Self

from hashrange.errors import HashrangeError, StorageError, StorageFull, StorageLocked
from hashrange.settings import SettingUnusable
from hashrange.store.embedded import files
from hashrange.store.embedded.modes import PRIVATE_FILE, PRIVATE_FOLDER
from hashrange.store.file_lock import try_lock
from hashrange.store.repository.manifests import (
    CopiedFile,
    Manifest,
    ManifestDamaged,
    ManifestNewer,
    decode_manifest,
    encode_manifest,
    is_copy_name,
    is_digest,
)

MARK_FILE, LOCK_FILE = "hashrange-repository", "lock"
MANIFESTS_FOLDER, FILES_FOLDER, UNFINISHED_FOLDER = "manifests", "files", "unfinished"
MARK = b"`hashrange backup` keeps copies of data folders here, and removes what no copy needs.\n"
"""Content of MARK_FILE, for people: only that there is such a file counts."""
MANIFEST_ENDING = ".json"
MANIFEST_BYTES_MAX = 1 << 30
PIECE_BYTES = 1024 * 1024
"""Length of the pieces in which files are read."""
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class RepositoryUnfit(StorageError, SettingUnusable):
    """The path leads to no repository, and none can be made there, or the repository has no such copy."""


class RepositoryError(StorageError):
    """A repository cannot be read or written, or a copy in it is damaged."""


class FileDamaged(StorageError):
    """A file of a repository is missing, cut or changed. The message says which of these, behind the file's name."""


class Manifests(NamedTuple):
    """All manifests of a repository."""

    sound: dict[str, Manifest]
    """By the names of the copies, the oldest first."""
    damaged: dict[str, ManifestDamaged]
    """By the names of the copies: why they cannot be read."""

    def needed(self) -> dict[str, list[str]]:
        """Digest of each file that copies need → their names, the oldest first."""
        found: dict[str, list[str]] = {}
        for name, manifest in self.sound.items():
            for digest in {one.sha256 for one in manifest.files}:
                found.setdefault(digest, []).append(name)
        return found

    def newest(self) -> str | None:
        """Name of the newest copy, readable or not; None if there is none."""
        return max([*self.sound, *self.damaged], default=None)


def is_repository(path: str) -> bool:
    """True if `hashrange backup` has written to a folder."""
    return os.path.isfile(os.path.join(path, MARK_FILE))


class Repository:
    """A folder of copies, for reading."""

    def __init__(self, path: str) -> None:
        """Raises RepositoryUnfit if there is no repository at the path."""
        self.path = path
        if not is_repository(path):
            raise RepositoryUnfit(f"{path} holds no copies. Name the folder that `hashrange backup` has written to.")

    def names(self) -> list[str]:
        """Names of the copies, the oldest first. Raises RepositoryError."""
        with reading(self.path):
            try:
                found = os.listdir(os.path.join(self.path, MANIFESTS_FOLDER))
            except FileNotFoundError:
                return []  # a first backup was killed
        names = [one.removesuffix(MANIFEST_ENDING) for one in found if one.endswith(MANIFEST_ENDING)]
        return sorted(filter(is_copy_name, names))

    def manifests(self) -> Manifests:
        """Read all manifests. Raises RepositoryError."""
        sound, damaged = {}, {}
        for name in self.names():
            try:
                sound[name] = self.manifest(name)
            except FileNotFoundError:
                continue  # a backup has removed the copy meanwhile
            except ManifestDamaged as error:
                damaged[name] = error
        return Manifests(sound, damaged)

    def manifest(self, name: str) -> Manifest:
        """Read one manifest. Raises ManifestDamaged, and FileNotFoundError if there is no such copy."""
        try:
            content = files.read_head(self.manifest_path(name), MANIFEST_BYTES_MAX)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise ManifestDamaged(f"it cannot be read: {error.strerror or error}") from error
        return decode_manifest(content, name)

    def manifest_path(self, name: str) -> str:
        """Path of the manifest of a copy."""
        return os.path.join(self.path, MANIFESTS_FOLDER, name + MANIFEST_ENDING)

    def file_path(self, digest: str) -> str:
        """Path of the file with this SHA-256."""
        return os.path.join(self.path, FILES_FOLDER, digest)

    def pieces(self, file: CopiedFile) -> Iterator[bytes]:
        """The content of a file, in pieces. Raises FileDamaged, at the end if the content is not as it was written."""
        digest, size_bytes = sha256(), 0
        try:
            with open(self.file_path(file.sha256), "rb") as opened:
                while piece := opened.read(PIECE_BYTES):
                    digest.update(piece)
                    size_bytes += len(piece)
                    yield piece
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                raise FileDamaged("is missing") from error
            raise FileDamaged(f"cannot be read: {error.strerror or error}") from error
        if size_bytes != file.bytes:
            raise FileDamaged(f"has {size_bytes:,} bytes instead of {file.bytes:,}")
        if digest.hexdigest() != file.sha256:
            raise FileDamaged("is not as it was written")

    def fault_of(self, file: CopiedFile, on_piece: Callable[[int], None]) -> str | None:
        """What is wrong with a file of a copy, behind its name; None if it is sound.

        Reads all of it; `on_piece` gets the length of each piece.
        """
        try:
            for piece in self.pieces(file):
                on_piece(len(piece))
        except FileDamaged as error:
            return str(error)
        return None

    def has_file(self, file: CopiedFile) -> bool:
        """True if there is a file of this digest and length; its content is not read."""
        try:
            return os.path.getsize(self.file_path(file.sha256)) == file.bytes
        except OSError:
            return False

    def link_files(self, manifest_files: Iterable[CopiedFile], data_dir: str) -> None:
        """Link files of a copy into a new data folder, for reading only. Raises OSError."""
        os.makedirs(files.engine_folder(data_dir), PRIVATE_FOLDER)
        for file in manifest_files:
            files.link_or_copy(self.file_path(file.sha256), os.path.join(data_dir, file.name))


class WrittenRepository(Repository):
    """A repository that this process writes, in a `with` block."""

    def __init__(self, path: str) -> None:
        """Make the folder if it is missing, and lock it. Raises RepositoryUnfit, StorageLocked or RepositoryError."""
        self.path = path
        self._lock = -1
        with writing(path):
            self._make()
            self._lock = _locked(path)
        try:
            with writing(path):
                if not is_repository(path):
                    write_private_file(os.path.join(path, MARK_FILE), [MARK])
                for name in (FILES_FOLDER, MANIFESTS_FOLDER):
                    os.makedirs(os.path.join(path, name), PRIVATE_FOLDER, exist_ok=True)
                files.sync_folder(path)
                self._begin()
        except BaseException:
            os.close(self._lock)
            raise
        super().__init__(path)

    def _make(self) -> None:
        try:
            os.makedirs(self.path, PRIVATE_FOLDER, exist_ok=True)
            names = set(os.listdir(self.path))
        except (FileExistsError, NotADirectoryError):
            raise RepositoryUnfit(f"{self.path} is not a folder. Name another one.") from None
        strangers = names - {LOCK_FILE, "lost+found"}
        if strangers and not is_repository(self.path):
            raise RepositoryUnfit(
                f"{self.path} holds other files ({min(strangers)}, …) and no copies. Name an empty or a new folder."
            )

    def _begin(self) -> None:
        """Make an empty folder for what is unfinished. While it is there, there may be files that no copy needs."""
        if not os.path.isdir(self.unfinished) and not self.names() and self._digests():
            raise RepositoryError(
                f"{self.path} has files of copies, and no manifest that names them. Put {MANIFESTS_FOLDER} back, or"
                f" delete what is in {FILES_FOLDER}."
            )
        os.makedirs(self.unfinished, PRIVATE_FOLDER, exist_ok=True)
        for entry in list(os.scandir(self.unfinished)):
            if entry.is_dir(follow_symlinks=False):
                files.remove_folder(entry.path)
            else:
                os.remove(entry.path)

    def _digests(self) -> list[str]:
        """The names of all files."""
        entries = os.scandir(os.path.join(self.path, FILES_FOLDER))
        return [one.name for one in entries if is_digest(one.name) and one.is_file(follow_symlinks=False)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Remove what is unfinished, also files of a copy that did not appear, and unlock the folder."""
        try:
            with contextlib.suppress(HashrangeError):
                if error is not None:
                    self.sweep()
                files.remove_folder(self.unfinished)
        finally:
            os.close(self._lock)

    @property
    def unfinished(self) -> str:
        """Path of the folder for what is being written."""
        return os.path.join(self.path, UNFINISHED_FOLDER)

    @property
    def content_folder(self) -> str:
        """Path of a data folder for the check of a copy's content."""
        return os.path.join(self.unfinished, "content")

    def add_file(self, name: str, pieces: Iterable[bytes], fingerprint: str) -> tuple[CopiedFile, bool]:
        """Write a file durably, in place of one of the same content. Returns it as a manifest names it, and True if
        there was none of this content. Raises RepositoryError, and what `pieces` raises.
        """
        draft = os.path.join(self.unfinished, "file")
        with writing(self.path):
            digest, size_bytes = write_private_file(draft, pieces)
            file = CopiedFile(name, size_bytes, digest, fingerprint)
            is_new = not self.has_file(file)
            os.replace(draft, self.file_path(digest))
        return file, is_new

    def add_manifest(self, manifest: Manifest) -> None:
        """Let a copy appear, whose files have been added. Raises RepositoryError."""
        draft = os.path.join(self.unfinished, "manifest")
        with writing(self.path):
            files.sync_folder(os.path.join(self.path, FILES_FOLDER))
            write_private_file(draft, [encode_manifest(manifest)])
            os.replace(draft, self.manifest_path(manifest.name))
            files.sync_folder(os.path.join(self.path, MANIFESTS_FOLDER))

    def remove_copies(self, names: Iterable[str]) -> None:
        """Remove copies; `sweep` removes the files that only these have needed. Raises RepositoryError."""
        with writing(self.path):
            for name in names:
                os.remove(self.manifest_path(name))
            files.sync_folder(os.path.join(self.path, MANIFESTS_FOLDER))

    def sweep(self) -> int:
        """Remove the files that no copy needs; returns their length. Nothing is removed while a manifest is damaged.

        Raises RepositoryError.
        """
        manifests = self.manifests()
        if manifests.damaged:
            return 0
        needed, removed_bytes = manifests.needed(), 0
        with writing(self.path):
            for digest in self._digests():
                if digest not in needed:
                    removed_bytes += os.path.getsize(self.file_path(digest))
                    os.remove(self.file_path(digest))
        return removed_bytes

    def require_known(self, manifests: Manifests) -> None:
        """Raise RepositoryError if a manifest has the format of a newer Hashrange, which may need other files."""
        for name, error in manifests.damaged.items():
            if isinstance(error, ManifestNewer):
                raise RepositoryError(
                    f"{self.path} was written by a newer Hashrange: {error} (copy {name})."
                    " Update this one, or name another folder."
                )


def is_within(path: str, folder: str) -> bool:
    """True if a path leads to a folder or into it, by whatever links."""
    own, other = os.path.realpath(path), os.path.realpath(folder)
    return own == other or own.startswith(other.rstrip(os.sep) + os.sep)


def _locked(path: str) -> int:
    """Lock a repository; returns the descriptor of its lock file. Raises StorageLocked, OSError."""
    descriptor = os.open(os.path.join(path, LOCK_FILE), os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    is_locked = False
    try:
        is_locked = try_lock(descriptor)
    finally:
        if not is_locked:
            os.close(descriptor)
    if not is_locked:
        raise StorageLocked(f"another backup into {path} is running. Wait for its end, or name another folder.")
    return descriptor


def write_private_file(path: str, pieces: Iterable[bytes]) -> tuple[str, int]:
    """Write a new file for this user only, and sync it; returns its SHA-256 and its length.

    Raises OSError, and what `pieces` raises.
    """
    digest, size_bytes = sha256(), 0
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags, PRIVATE_FILE), "wb", buffering=0) as file:
        for piece in pieces:
            digest.update(piece)
            size_bytes += len(piece)
            rest = memoryview(piece)
            while rest:
                rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    return digest.hexdigest(), size_bytes


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn an OSError of the block into a RepositoryError: `path` cannot be read."""
    try:
        yield
    except OSError as error:
        raise RepositoryError(f"{path} cannot be read: {error.strerror or error}.") from error


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Turn an OSError of the block into a StorageError: `path` cannot be written."""
    try:
        yield
    except HashrangeError:
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFull(f"the disk that holds {path} is full. Make room, and try again.") from error
        raise RepositoryError(f"{path} cannot be written: {error.strerror or error}.") from error
