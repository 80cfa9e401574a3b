"""Which files of the init folder has a store taken in?
Each has a document with the hash of the content that was applied.

    init/{name of the file below the folder} → {"sha256": "…"}

A store without the document of a file, or with another hash in it, has yet to apply the file.
"""

from collections.abc import Mapping, Sequence

import msgspec

from hashrange.init.files import InitFile, hash_of
from hashrange.store.documents import Documents

PREFIX = "init/"


class AppliedMark(msgspec.Struct, frozen=True):
    """The document of one file."""

    sha256: str
    """Hash of the file's content, in hexadecimal."""


async def unapplied_files(files: Sequence[InitFile], documents: Documents) -> list[InitFile]:
    """The files that are new or have changed since they were applied to this store, in their order.
    Raises InitError, StorageError.

    Reads every file as a whole.
    """
    marks = dict(documents.below(PREFIX))
    return [file for file in files if marks.get(PREFIX + file.name) != _mark(await hash_of(file))]


def marks_of(hashes: Mapping[str, str]) -> dict[str, bytes]:
    """The documents that say that these files have been applied. `hashes`: name of a file → hash of its content."""
    return {PREFIX + name: _mark(sha256) for name, sha256 in hashes.items()}


def _mark(sha256: str) -> bytes:
    return msgspec.json.encode(AppliedMark(sha256))
