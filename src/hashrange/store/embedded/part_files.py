"""How does a file hold a part of a vector index? As the part's sections (`vectors/part_sections.py`), each with its
length before it and a checksum of all bytes so far behind it; an empty section ends the file
(docs/formats/vectors.md).

A file has a random id, with which it begins and by which it is named. It is written under another name, and renamed.
Whether its content is that of the present entries is known by the id alone (`saved_parts.py`).
"""

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from hashrange.store.embedded.files import VECTORS_FOLDER, remove_file
from hashrange.store.embedded.modes import PRIVATE_FILE, PRIVATE_FOLDER

PART_ID_BYTES = 16
SECTION_BYTES_MAX = 256 * 1024 * 1024
SYNCED_BYTES = 32 * 1024 * 1024
"""Bytes that are written between two syncs, which may take long on a slow disk."""
_MAGIC = b"hashrange part 1\n"
_UNFINISHED = ".new"
"""Ends the names of files that are being written."""
_START_BYTES = len(_MAGIC) + PART_ID_BYTES
_number = Struct("<I")
_is_name = re.compile(f"[0-9a-f]{{{2 * PART_ID_BYTES}}}").fullmatch


class PartFileUnusable(Exception):
    """A file cannot be read, or is not what was written."""


class FilePlace(NamedTuple):
    """Up to where a file has been read."""

    offset: int = 0
    checksum: int = 0


def new_part_id() -> bytes:
    """A random id."""
    return secrets.token_bytes(PART_ID_BYTES)


def part_file(data: str, part_id: bytes) -> str:
    """Path of the file with this id in a data folder."""
    return os.path.join(data, VECTORS_FOLDER, part_id.hex())


def make_vectors_folder(data: str) -> None:
    """Make the folder for such files. Raises OSError."""
    with suppress(FileExistsError):
        os.mkdir(os.path.join(data, VECTORS_FOLDER), PRIVATE_FOLDER)


def free_bytes(data: str) -> int:
    """How much room the disk has. Raises OSError."""
    return shutil.disk_usage(data).free


def names_of_part_files(data: str) -> list[str]:
    """Names of all such files in a data folder, unfinished ones too."""
    try:
        names = os.listdir(os.path.join(data, VECTORS_FOLDER))
    except OSError:
        return []
    return [name for name in names if _is_name(name.removesuffix(_UNFINISHED))]


def remove_part_file(data: str, name: str) -> None:
    """Remove one of these files; ignores errors."""
    remove_file(os.path.join(data, VECTORS_FOLDER, name))


def write_part(path: str, part_id: bytes, sections: Iterator[bytes], may_go_on: Callable[[], bool]) -> bool:
    """Write a file, and sync it; False, and no file, if `may_go_on` says so after a section. Raises OSError."""
    unfinished = path + _UNFINISHED
    try:
        if not _write(unfinished, part_id, sections, may_go_on):
            return False
        os.replace(unfinished, path)
    finally:
        remove_file(unfinished)
    return True


def _write(path: str, part_id: bytes, sections: Iterator[bytes], may_go_on: Callable[[], bool]) -> bool:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), PRIVATE_FILE)
    with open(descriptor, "wb") as file:
        start = _MAGIC + part_id
        file.write(start)
        checksum, unsynced_bytes = crc32(start), 0
        for section in chain(sections, (b"",)):
            length = _number.pack(len(section))
            checksum = crc32(section, crc32(length, checksum))
            file.writelines((length, section, _number.pack(checksum)))
            unsynced_bytes += len(section)
            if not section or unsynced_bytes >= SYNCED_BYTES:
                file.flush()
                os.fsync(descriptor)
                unsynced_bytes = 0
            if not may_go_on():
                return False
    return True


def read_section(path: str, part_id: bytes, place: FilePlace) -> tuple[bytes, FilePlace]:
    """The section at a place, and the next place. After an empty one, the whole file is known to be what was written.

    Raises PartFileUnusable.
    """
    try:
        with open(path, "rb") as file:
            offset, checksum = place
            if not offset:
                start = file.read(_START_BYTES)
                if start != _MAGIC + part_id:
                    raise PartFileUnusable("it begins with other bytes than were written")
                offset, checksum = len(start), crc32(start)
            file.seek(offset)
            length = file.read(_number.size)
            size_bytes = _number.unpack(length)[0] if len(length) == _number.size else SECTION_BYTES_MAX + 1
            section = file.read(size_bytes) if size_bytes <= SECTION_BYTES_MAX else b""
            checksum = crc32(section, crc32(length, checksum))
            if file.read(_number.size) != _number.pack(checksum) or (not section and file.read(1)):
                raise PartFileUnusable("its bytes are not those that were written")
            return section, FilePlace(offset + 2 * _number.size + len(section), checksum)
    except OSError as error:
        raise PartFileUnusable(error.strerror or str(error)) from error
