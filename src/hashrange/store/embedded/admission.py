"""Which reads of items by requests fill the engine's block cache?
All, while the store fits into the cache; otherwise one in four.

So in a large store, three of four reads save the work of inserting a block and evicting another one; blocks that are
read often still get into the cache, a little later. Reads of rows that are about to be replaced always fill the cache:
such rows are likely to be replaced again. Measurements: docs/adr/0011-engine-options.md.
"""

from collections.abc import Callable
from itertools import cycle

import rocksdict

from hashrange.store.embedded.engine import Engine, cache_bytes, passing_read_options

KEPT_READS = 4
"""One read in this many fills the block cache, if the cache is smaller than the store."""
STORE_SIZE = "rocksdb.live-sst-files-size"


class Admission:
    """Decides which reads of items by requests fill the engine's block cache.

    A read of one row calls `read_options` once, a read of a span `is_kept`; reads of rows to be replaced call neither.
    """

    def __init__(self, *, is_in_memory: bool) -> None:
        self._cache_bytes = cache_bytes(is_in_memory=is_in_memory)
        self._keep_one_in(1)

    def look(self, engine: Engine) -> None:
        """Decide anew whether all reads or one in KEPT_READS fill the block cache; called by a job. 2 µs."""
        fits = (engine.property_int_value(STORE_SIZE) or 0) <= self._cache_bytes
        every = 1 if fits else KEPT_READS
        if every != self._every:
            self._keep_one_in(every)

    def _keep_one_in(self, every: int) -> None:
        self._every = every
        passing = [passing_read_options()] * (every - 1)
        self.read_options: Callable[[], rocksdict.ReadOptions | None] = cycle([None, *passing]).__next__
        """Returns the options for reading one row; None: the engine's defaults, which fill the block cache."""
        self.is_kept: Callable[[], bool] = cycle([True] + [False] * (every - 1)).__next__
        """Called once by each read of a span; returns True if the read is to fill the block cache."""
