"""How does the memory of the engine's large buffers return to the system? glibc's allocator
maps each of them separately.

By default, once a large buffer is freed, glibc keeps later buffers of that size on its heap, whose holes stay with the
process: 145 MB instead of 90 MB for 100,000 items in memory. With another C library this file does nothing.
"""

import ctypes
import sys
from functools import cache

MAPPED_APART_BYTES_MIN = 2_000_000
"""Smallest buffer mapped separately: larger than nearly every request buffer, smaller than an in-memory engine file."""
KEPT_BYTES = 8_000_000
"""Up to this many free bytes at the heap's end are not returned to the system: to map 1 MB again takes 1 ms."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Numbers of two parameters of mallopt(3)."""


@cache  # a library leaves cycles to the garbage collector
def map_large_buffers_apart() -> bool:
    """Set MAPPED_APART_BYTES_MIN and KEPT_BYTES for the whole process, once.
    False if buffers are not mapped separately.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        library = ctypes.CDLL(None)
        library.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
        return bool(library.mallopt(_M_MMAP_THRESHOLD, MAPPED_APART_BYTES_MIN))
    except (AttributeError, OSError):  # another C library
        return False
