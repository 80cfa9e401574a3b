"""Which reads put the blocks that they needed into the engine's cache? All of them, while everything fits; else one in four.

What is read often gets there all the same, a little later. A read of a store that is much larger than the cache does without the
work of putting a block in and throwing another one out. Rows that are about to be replaced are always kept: they are likely
to be replaced again. Figures: docs/adr/0011-engine-options.md.
"""

from collections.abc import Callable
from itertools import cycle

import rocksdict

from hashrange.store.embedded.engine import Engine, cache_bytes, passing_read_options

KEPT_READS = 4
"""One in so many, when the cache is too small for all."""
STORE_SIZE = "rocksdb.live-sst-files-size"


class Admission:
    """Of one store. Either of its two functions is asked once for each read."""

    def __init__(self, *, is_in_memory: bool) -> None:
        self._cache_bytes = cache_bytes(is_in_memory=is_in_memory)
        self._keep_one_in(1)

    def look(self, engine: Engine) -> None:
        """Called now and then. 2 µs."""
        fits = (engine.property_int_value(STORE_SIZE) or 0) <= self._cache_bytes
        every = 1 if fits else KEPT_READS
        if every != self._every:
            self._keep_one_in(every)

    def _keep_one_in(self, every: int) -> None:
        self._every = every
        passing = [passing_read_options()] * (every - 1)
        self.read_options: Callable[[], rocksdict.ReadOptions | None] = cycle([None, *passing]).__next__
        """For a read of one row; None: the engine's own, which keep what they read."""
        self.is_kept: Callable[[], bool] = cycle([True] + [False] * (every - 1)).__next__
        """For a read of a span."""
