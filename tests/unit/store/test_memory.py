"""The C allocator's mmap threshold is fixed where the C library supports that."""

import platform

from hashrange.store.embedded.engine import map_large_buffers_apart


def test_glibc_takes_the_threshold_and_others_are_left_alone() -> None:
    assert map_large_buffers_apart() is (platform.libc_ver()[0] == "glibc")
