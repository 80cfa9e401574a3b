"""What is in a snapshot file? A line that begins the file, and all rows of a store in order of their keys, compressed.

The layout is described in docs/formats/snapshot.md. Rows are copied as they are stored, so a snapshot of an older store
format can be opened wherever a data folder of that format can.
"""

import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from struct import Struct
from typing import Annotated, BinaryIO

import msgspec
from msgspec import Meta

from hashrange.settings import SettingUnusable

FIRST_WORDS = b"Hashrange snapshot "
VERSION = 1
COMPRESSION_LEVEL = 9
"""The best compression of zlib, because a snapshot is written once, and kept in a repository."""
READ_BYTES = 1024 * 1024
SERVICE_SECONDS_MAX = 1e10
"""Service time is less than this, so that milliseconds since the epoch have at most thirteen digits:
until the year 2286."""

_lengths = Struct(">II")
"""Before each row: the length of its key and of its value, in bytes."""
_end = Struct(">IQ")
"""After the last row: END_MARK and the number of rows."""
END_MARK = 0xFFFF_FFFF

FilePath = str | os.PathLike[str]
StoredRow = tuple[bytes, bytes]
"""Key and value of a row, as the storage engine has them."""


class SnapshotFileError(SettingUnusable):
    """A snapshot file cannot be read; the message names the file and the reason."""


class _Version(msgspec.Struct, frozen=True):
    """The member of the first line that every version has."""

    version: int


class Header(msgspec.Struct, frozen=True):
    """The JSON in the first line of a file."""

    version: int
    """Version of this layout."""
    service_time: Annotated[float, Meta(ge=0, lt=SERVICE_SECONDS_MAX)]
    """Service time at which the snapshot was taken, in seconds since the epoch."""


class SnapshotWriter:
    """Writes one snapshot file, front to back. The file is not complete until `finish`."""

    def __init__(self, file: BinaryIO, service_seconds: float) -> None:
        """Write the first line. Raises OSError, as the other methods do."""
        self._file = file
        self._compressor = zlib.compressobj(COMPRESSION_LEVEL)
        self._rows = 0
        file.write(FIRST_WORDS + msgspec.json.encode(Header(VERSION, service_seconds)) + b"\n")

    def write(self, rows: Iterable[StoredRow]) -> None:
        """Write further rows; over all calls, their keys ascend."""
        compress, write = self._compressor.compress, self._file.write
        for key, value in rows:
            write(compress(_lengths.pack(len(key), len(value)) + key + value))
            self._rows += 1

    def finish(self) -> None:
        """Write the end of the file; the caller closes the file."""
        self._file.write(self._compressor.compress(_end.pack(END_MARK, self._rows)) + self._compressor.flush())


class SnapshotReader:
    """Reads one snapshot file, front to back."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        """Read the first line. `name`: the file's name, for messages. Raises SnapshotFileError."""
        self._file = file
        self._name = name
        try:
            line = file.readline(READ_BYTES)
            if not line.startswith(FIRST_WORDS):
                raise ValueError
            version = msgspec.json.decode(line.removeprefix(FIRST_WORDS), type=_Version).version
            if version != VERSION:
                raise self._error(f"has version {version}; this Hashrange reads version {VERSION}")
            self.header = msgspec.json.decode(line.removeprefix(FIRST_WORDS), type=Header)
        except OSError as error:
            raise self._error(f"cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError):
            raise self._error("is no snapshot file of Hashrange") from None

    def rows(self) -> Iterator[StoredRow]:
        """Yield all rows in order. Raises SnapshotFileError if the file is damaged, incomplete or unreadable."""
        pieces = _Pieces(self._file)
        count = 0
        try:
            while (key_bytes := int.from_bytes(pieces.take(4), "big")) != END_MARK:
                value_bytes = int.from_bytes(pieces.take(4), "big")
                yield pieces.take(key_bytes), pieces.take(value_bytes)
                count += 1
            is_whole = int.from_bytes(pieces.take(8), "big") == count and pieces.is_at_end()
        except (zlib.error, EOFError):
            is_whole = False
        except OSError as error:
            raise self._error(f"cannot be read: {error.strerror or error}") from error
        if not is_whole:
            raise self._error("is damaged or incomplete")

    def _error(self, what: str) -> SnapshotFileError:
        return SnapshotFileError(f"{self._name} {what}.")


class _Pieces:
    """The bytes that a file's compressed part holds."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decompressor = zlib.decompressobj()
        self._ready = b""
        self._at = 0

    def take(self, count: int) -> bytes:
        """The next `count` bytes. Raises EOFError if the file has fewer, and zlib.error if it is damaged."""
        ready_bytes = len(self._ready) - self._at
        if ready_bytes < count:
            parts = [self._ready[self._at :]]
            while ready_bytes < count:
                parts.append(self._more())
                if not parts[-1]:
                    raise EOFError
                ready_bytes += len(parts[-1])
            self._ready, self._at = b"".join(parts), 0
        self._at += count
        return self._ready[self._at - count : self._at]

    def is_at_end(self) -> bool:
        """True if all bytes were taken, and the compressed part is whole and ends the file."""
        if self._at < len(self._ready) or self._more() or not self._decompressor.eof:
            return False
        return self._decompressor.unused_data == b"" and self._file.read(1) == b""

    def _more(self) -> bytes:
        """At most READ_BYTES further decompressed bytes; none at the end."""
        decompressor = self._decompressor
        while not decompressor.eof:
            compressed = decompressor.unconsumed_tail or self._file.read(READ_BYTES)
            if not compressed:
                return b""
            if data := decompressor.decompress(compressed, READ_BYTES):
                return data
        return b""


@contextmanager
def opened_snapshot(path: FilePath) -> Iterator[SnapshotReader]:
    """Yield the reader of a file. Raises SnapshotFileError."""
    name = os.fspath(path)
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
        raise SnapshotFileError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    with file:
        yield SnapshotReader(file, name)


@contextmanager
def replaced_file(path: FilePath) -> Iterator[BinaryIO]:
    """Yield a new file, for this user only, that takes the place of `path` if the block ends
    without an error. Raises OSError.
    """
    path = os.fspath(path)
    descriptor, draft = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=os.path.basename(path) + ".")
    try:
        with open(descriptor, "wb") as file:
            yield file
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise
