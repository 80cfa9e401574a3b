"""How does memory of the engine's large buffers return to the system? glibc's allocator is told to map each of them separately.

By default, glibc raises its threshold after the first large buffer that is freed and keeps later ones on its heap,
whose holes stay with the process: 145 MB for 100,000 items in memory instead of 90. Without glibc this does nothing.
"""

import ctypes
import sys

MAPPED_APART_BYTES_MIN = 2_000_000
"""Smallest buffer mapped separately: larger than nearly every request buffer, smaller than an in-memory engine file."""
KEPT_BYTES = 8_000_000
"""Free bytes at the heap's end that are kept before memory is returned: mapping a page of 1 MB again takes 1 ms."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt(3)."""


def map_large_buffers_apart() -> bool:
    """Fix the allocator's mapping threshold for the whole process; True if it has one."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        library = ctypes.CDLL(None)
        library.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
        return bool(library.mallopt(_M_MMAP_THRESHOLD, MAPPED_APART_BYTES_MIN))
    except (AttributeError, OSError):  # another C library
        return False
