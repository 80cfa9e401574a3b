"""How are files compressed? By their names: gzip if one ends in `.gz`, zstd if it ends in `.zst`.

What is written is compressed in pieces that stand alone, members of gzip and frames of zstd: a file that is cut behind
a piece is whole. zstd is in an extra.
"""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, BinaryIO

from zlib_ng import gzip_ng, zlib_ng

from hashrange.messages.installing import how_to_install
from hashrange.toolkit.failures import UsageFault

GZIP, ZSTD = ".gz", ".zst"
ZSTD_MODULE = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
GZIP_LEVEL = 2
"""Level of zlib-ng, as exports have it: level 6 takes six times as long for a fifth less."""
GZIP_WINDOW = 31
"""Window of 32 KB, and the frame of gzip."""
NEEDS_ZSTD = (
    "the file {path} needs zstd, which is not installed. Install it: {install}; or name a file that ends in .gz."
)


def without_compression(path: str) -> str:
    """The name of a file without the ending of its compression."""
    return path.removesuffix(GZIP).removesuffix(ZSTD)


def packer(path: str) -> Callable[[bytes], bytes]:
    """The function that compresses a piece for this file. Raises UsageFault if it needs an extra."""
    if path.endswith(GZIP):
        return _gzip
    if path.endswith(ZSTD):
        compress: Callable[[bytes], bytes] = _zstd(path).compress
        return compress
    return bytes


def open_unpacked(path: str) -> BinaryIO:
    """The file's decompressed content; `-`: standard input. Raises UsageFault, OSError."""
    if path == "-":
        return os.fdopen(os.dup(0), "rb")
    opened: Any
    if path.endswith(GZIP):
        opened = gzip_ng.GzipNGFile(path, "rb")  # type: ignore[no-untyped-call]
    elif path.endswith(ZSTD):
        opened = _zstd(path).open(path, "rb")
    else:
        opened = open(path, "rb")  # noqa: SIM115 - the caller closes it
    found: BinaryIO = opened
    return found


def damage_errors(path: str) -> tuple[type[BaseException], ...]:
    """What reading a file raises if it is no gzip or zstd, or cut off."""
    errors: list[Any] = [OSError, EOFError, zlib_ng.error]
    if path.endswith(ZSTD):
        errors.append(_zstd(path).ZstdError)
    return tuple(errors)


def _gzip(piece: bytes) -> bytes:
    packed: bytes = zlib_ng.compress(piece, GZIP_LEVEL, GZIP_WINDOW)
    return packed


def _zstd(path: str) -> Any:
    try:
        return import_module(ZSTD_MODULE)
    except ImportError:
        raise UsageFault(NEEDS_ZSTD.format(path=path, install=how_to_install("zstd"))) from None
