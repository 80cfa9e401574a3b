"""How are objects compressed and decompressed, piece by piece? None, gzip or zstd.

No piece has more than PIECE_MAX_BYTES, however far an object expands, and the next one is made when it is asked for: so
an object that expands without end costs no memory, and whoever reads it decides when to give it up.
"""

import sys
from collections.abc import Iterator
from typing import Any, Protocol

from zlib_ng import zlib_ng

from hashrange.errors import HashrangeError
from hashrange.items.steps import spend
from hashrange.operations.transfers.import_records import InputCompressionType

PIECE_MAX_BYTES = 256 * 1024
"""Bytes that one step decompresses: about a millisecond."""
GZIP_LEVEL = 2
"""Level of zlib-ng for exports: 0.9 ms for 256 KB of small items. Level 6 takes six times as long for a fifth less."""
_GZIP_WINDOW = 31
"""Window of 32 KB, and the frame of gzip."""
_GZIP_ERROR: type[Exception] = zlib_ng.error  # type: ignore[assignment]  # a class, whatever the stubs say
_STREAM_STEPS = 10
"""Steps of the begin of a member of gzip or a frame of zstd."""


class DamagedObject(HashrangeError):
    """An object cannot be read any further. The text says why."""


class Decompressor(Protocol):
    """Decompresses one object."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what the object's next bytes decompress to, in pieces. Raises DamagedObject."""

    def finish(self) -> None:
        """Raise DamagedObject if the object ends before its compressed data does."""


def decompressor(compression: InputCompressionType) -> Decompressor:
    """The decompressor of one object. Needs the extra for ZSTD (`operations/transfers/transfer_requests.py`)."""
    if compression == "NONE":
        return _Plain()
    return _Gzip() if compression == "GZIP" else _Zstd()


class _Plain:
    """Passes bytes on."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        for start in range(0, len(chunk), PIECE_MAX_BYTES):
            yield chunk[start : start + PIECE_MAX_BYTES]

    def finish(self) -> None:
        """Nothing can be missing."""


class _Gzip:
    """Decompresses members of gzip that follow one another."""

    def __init__(self) -> None:
        self._member = zlib_ng.decompressobj(_GZIP_WINDOW)
        self._is_between = True
        """True before the first byte of a member."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            spend(_STREAM_STEPS)
            if self._member.eof:
                self._member, self._is_between = zlib_ng.decompressobj(_GZIP_WINDOW), True
            if self._is_between and not chunk.strip(b"\x00"):
                return  # padding behind the last member
            self._is_between = False
            try:
                piece = self._member.decompress(chunk, PIECE_MAX_BYTES)
            except _GZIP_ERROR as error:
                raise DamagedObject(f"it is no gzip: {error}") from error
            chunk = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if piece:
                yield piece
        while not self._member.eof and (piece := self._rest()):
            yield piece

    def _rest(self) -> bytes:
        """Bytes that zlib holds back because a piece was full."""
        try:
            return self._member.decompress(b"", PIECE_MAX_BYTES)
        except _GZIP_ERROR as error:
            raise DamagedObject(f"it is no gzip: {error}") from error

    def finish(self) -> None:
        if not self._is_between and not self._member.eof:
            raise DamagedObject("its gzip data is cut off")


class _Zstd:
    """Decompresses frames of zstd that follow one another."""

    def __init__(self) -> None:
        self._frame: Any = None

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            spend(_STREAM_STEPS)
            if self._frame is None:
                self._frame = _zstd().ZstdDecompressor()
            yield from self._frame_pieces(chunk)
            if not self._frame.eof:
                return
            chunk, self._frame = self._frame.unused_data, None

    def _frame_pieces(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what the bytes of one frame decompress to."""
        try:
            piece = self._frame.decompress(chunk, PIECE_MAX_BYTES)
            while piece:
                yield piece
                piece = (
                    b"" if self._frame.eof or self._frame.needs_input else self._frame.decompress(b"", PIECE_MAX_BYTES)
                )
        except (_zstd().ZstdError, EOFError) as error:
            raise DamagedObject(f"it is no zstd: {error}") from error

    def finish(self) -> None:
        if self._frame is not None:
            raise DamagedObject("its zstd data is cut off")


def _zstd() -> Any:
    # Imported here, because few imports are compressed so, and the module belongs to an extra.
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 - see above
    else:
        from backports import zstd  # noqa: PLC0415 - see above
    return zstd


class GzipWriter:
    """Makes one object of gzip. Its functions let other threads run while they compress."""

    def __init__(self) -> None:
        self._compressor = zlib_ng.compressobj(GZIP_LEVEL, zlib_ng.DEFLATED, _GZIP_WINDOW)

    def add(self, text: bytes) -> bytes:
        """The next bytes of the object, perhaps none yet."""
        compressed: bytes = self._compressor.compress(text)
        return compressed

    def finish(self) -> bytes:
        """The last bytes of the object."""
        rest: bytes = self._compressor.flush()
        return rest
