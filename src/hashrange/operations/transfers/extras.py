"""Which extras are installed that imports need? Those of requests that need another are refused."""

import sys
from importlib.util import find_spec

from hashrange.errors import UnsupportedOperationException
from hashrange.messages.installing import how_to_install
from hashrange.messages.transfers import EXTRA_MISSING

ZSTD_MODULE = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
"""Decompresses zstd."""
ION_MODULE = "amazon.ion"
"""Reads Ion."""


def require_extras(*, ion: bool, zstd: bool) -> None:
    """Raise UnsupportedOperationException if a package is missing that reads Ion or decompresses zstd."""
    if ion and not _is_installed(ION_MODULE):
        raise UnsupportedOperationException(EXTRA_MISSING.format(extra="ion", what="Ion", how=how_to_install("ion")))
    if zstd and not _is_installed(ZSTD_MODULE):
        raise UnsupportedOperationException(EXTRA_MISSING.format(extra="zstd", what="zstd", how=how_to_install("zstd")))


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # nor the package around it
        return False
