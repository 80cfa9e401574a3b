"""How long does a write wait when the engine cannot keep up with merging?
Up to ten seconds, in growing delays; then the request fails.
"""

import asyncio
from collections.abc import Callable

from hashrange.errors import StorageBusy
from hashrange.store.embedded.engine import Engine, is_behind, is_flushing
from hashrange.store.embedded.health import Site
from hashrange.store.pause import PAUSE

STALL_DELAYS_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 1.6, 1.6, 1.6, 1.6)
"""How long a request waits before each further attempt while the engine is stalled; after the last attempt it fails."""
BEHIND_LOOK_SECONDS = 0.02
"""Time between two checks of whether the engine's flushes and compactions still lag."""
BEHIND_LOOKS_MAX = 100
"""How often one wait checks, at most, whether the engine's flushes and compactions still lag."""
OPENING_STALLS_MAX = 30
"""After STALL_DELAYS_SECONDS, `commit_now` waits at most this many times 1.6 s more: 50 s, in which the engine writes
gigabytes; then it fails.
"""


class EngineRefused(Exception):
    """The engine failed while a commit was put together or written, perhaps only in a stall; nothing was written."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error
        """The exception of the engine."""


async def wait_out_stall(site: Site, error: Exception, attempt: int) -> None:
    """After attempt `attempt` (from 0) of a request met a stall, wait before the next attempt; other requests run.

    Raises StorageError if `error` is no stall, no attempt is left, or the engine was meanwhile lost, or replaced by one
    that may hold other rows.
    """
    fault = site.fail(error)
    if not isinstance(fault, StorageBusy) or attempt == len(STALL_DELAYS_SECONDS):
        raise fault from error
    generation = site.health.generation
    await PAUSE
    await asyncio.sleep(STALL_DELAYS_SECONDS[attempt])
    await PAUSE  # a hundred requests may wake in one turn, and each would write 1 MB in it
    site.health.require(generation)


async def wait_while_behind(site: Site) -> None:
    """Wait while flushes and compactions lag, at most 2 s, before they stall requests. For work without a request."""
    await _wait_while(is_behind, site)


async def wait_while_flushing(site: Site) -> None:
    """Wait until no memtable waits to be flushed, at most 2 s. For work without a request."""
    await _wait_while(is_flushing, site)


async def _wait_while(is_busy: Callable[[Engine], bool], site: Site) -> None:
    for _ in range(BEHIND_LOOKS_MAX):
        if not is_busy(site.engine):
            return
        await PAUSE
        await asyncio.sleep(BEHIND_LOOK_SECONDS)
