"""Which files of a data folder hold its content? Those of the engine that lead to rows, and `synced`.

What the engine makes anew when it is opened is left out: LOCK, LOG, IDENTITY.
"""

import os
import re
import shutil
from collections.abc import Sequence
from hashlib import sha256

from hashrange.store.copying import StoredFile
from hashrange.store.embedded import files

FINGERPRINTED_BYTES = 16 * 1024
"""Length of the end of a data file whose digest is the fingerprint. A data file ends with its properties, some 2 KB,
which include a random name of the engine's session and the file's number in it: no two files have the same.
"""
DATA_FILE_ENDING = ".sst"
"""Data files never change, so that links to them stay good."""

_is_content = re.compile(
    r"CURRENT|MANIFEST-[0-9]+|OPTIONS-[0-9]+|rocksdict-config\.json|[0-9]+\.sst|[0-9]+\.log"
).fullmatch


def list_files(data_dir: str) -> list[StoredFile]:
    """The files with the content of a data folder that nobody writes, sorted by name. Raises OSError."""
    folder = files.engine_folder(data_dir)
    found = [_stored(folder, name) for name in sorted(os.listdir(folder)) if _is_content(name)]
    listed = [one._replace(name=f"{files.ENGINE_FOLDER}/{one.name}") for one in found]
    if os.path.exists(files.synced_file(data_dir)):
        listed.append(_stored(data_dir, files.SYNCED_FILE))
    return listed


def _stored(folder: str, name: str) -> StoredFile:
    path = os.path.join(folder, name)
    if not name.endswith(DATA_FILE_ENDING):
        return StoredFile(name, os.path.getsize(path), "")
    with open(path, "rb") as file:
        size_bytes = file.seek(0, os.SEEK_END)
        file.seek(max(0, size_bytes - FINGERPRINTED_BYTES))
        return StoredFile(name, size_bytes, sha256(file.read()).hexdigest())


def link_content(data_dir: str, copy_dir: str) -> None:
    """Give the data folder `copy_dir` the content of another one that nobody writes; data files are linked.

    Opening an engine in one of them changes nothing in the other. Raises OSError.
    """
    files.make_private_folder(files.engine_folder(copy_dir))
    for file in list_files(data_dir):
        source, target = os.path.join(data_dir, file.name), os.path.join(copy_dir, file.name)
        if file.name.endswith(DATA_FILE_ENDING):
            files.link_or_copy(source, target)
        else:
            shutil.copyfile(source, target)


def read_piece(data_dir: str, name: str, offset: int, limit_bytes: int) -> bytes:
    """At most `limit_bytes` of a file of a data folder, from `offset` on; empty at its end. Raises OSError."""
    with open(os.path.join(data_dir, name), "rb", buffering=0) as file:
        file.seek(offset)
        return file.read(limit_bytes)


class ListedFiles:
    """The files of a data folder that belongs to them, and in which nothing changes."""

    def __init__(self, data_dir: str) -> None:
        """Raises OSError."""
        self._data_dir = data_dir
        self.files: Sequence[StoredFile] = list_files(data_dir)
        """Sorted by name."""
        self._names = {one.name for one in self.files}

    def read(self, name: str, offset: int, limit_bytes: int) -> bytes | None:
        """At most `limit_bytes` of one of `files`; empty at its end. None: there is no such file. Raises OSError."""
        return read_piece(self._data_dir, name, offset, limit_bytes) if name in self._names else None

    def remove(self) -> None:
        """Remove the folder. Ignores errors."""
        files.remove_folder(self._data_dir)
