"""What do all parts of a store share? Its engine, which may be replaced, what is kept of it, and the handling of its failures."""

import asyncio
from typing import Protocol

from hashrange.clock import Clock
from hashrange.errors import StorageBusy, StorageError
from hashrange.store.embedded.durability import CommitBarrier
from hashrange.store.embedded.engine import Engine, is_behind
from hashrange.store.embedded.engine_errors import storage_error
from hashrange.store.embedded.housekeeping import Housekeeper
from hashrange.store.embedded.read_cache import ReadCache
from hashrange.store.embedded.statistics import SourceStatistics
from hashrange.store.pause import PAUSE

STALL_DELAYS_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 1.6, 1.6, 1.6, 1.6)
"""Waits of a request before each further attempt in a stall; then it fails."""
ROOM_LOOK_SECONDS, ROOM_LOOKS_MAX = 0.02, 100
"""Interval, and largest number, of the checks with which work that can wait lets the engine catch up."""


class FailureHandler(Protocol):
    """Decides about a failed engine: `health.py`."""

    def fail(self, error: StorageError) -> None:
        """Note a failed read or write."""
        ...

    def require(self, generation: int) -> None:
        """Raise StorageError if the engine has been lost since `generation`."""
        ...

    @property
    def generation(self) -> int:
        """Number that grows with each loss of the engine."""
        ...


class Site:
    """The engine of one store and what belongs to it. Made by `store.py`, and passed to all parts of the store."""

    health: FailureHandler
    barrier: CommitBarrier
    housekeeper: Housekeeper
    engine: Engine

    def __init__(
        self, place: str, clock: Clock, reads: ReadCache, statistics: SourceStatistics, *, is_served: bool
    ) -> None:
        self.place = place
        self.clock = clock
        self.reads = reads
        self.statistics = statistics
        self.changed_at: dict[int, int] = {}
        """Table id → position of the last commit that changed its rows."""
        self.all_changed_at = 0
        """Position of the last commit that may have changed the rows of any table."""
        self.is_served = is_served
        """True if there is an event loop, beside which threads may work."""

    def use(self, engine: Engine) -> None:
        """Switch to another engine, and clear the read cache."""
        self.engine = engine
        self.reads.clear()

    def fail(self, error: Exception) -> StorageError:
        """The StorageError to raise for `error`; unless it is a stall, less or nothing is served until a reopening."""
        if isinstance(error, StorageError):
            return error
        fault = storage_error(error, self.place)
        if not isinstance(fault, StorageBusy):
            self.health.fail(fault)
        return fault

    async def wait_out_stall(self, error: Exception, attempt: int) -> None:
        """Delay this request, not the loop. Raises StorageError if `error` is no stall, or no attempt is left."""
        fault = self.fail(error)
        if not isinstance(fault, StorageBusy) or attempt == len(STALL_DELAYS_SECONDS):
            raise fault from error
        generation = self.health.generation
        await PAUSE
        await asyncio.sleep(STALL_DELAYS_SECONDS[attempt])
        await PAUSE  # a hundred requests may wake at once, and each would write 1 MB
        self.health.require(generation)

    async def wait_for_room(self) -> None:
        """Let the engine catch up before it stalls requests. For work that can wait."""
        for _ in range(ROOM_LOOKS_MAX):
            if not is_behind(self.engine):
                return
            await PAUSE
            await asyncio.sleep(ROOM_LOOK_SECONDS)

    def reclaim(self, lower: bytes, upper: bytes) -> None:
        """Start freeing the space of a deleted range, on the housekeeping thread."""
        self.housekeeper.compact(self.engine, lower, upper)

    async def compact(self, lower: bytes, upper: bytes) -> None:
        """Clear away a range's deleted keys, on the housekeeping thread, and wait for that."""
        engine = self.engine
        await PAUSE
        await asyncio.wrap_future(self.housekeeper.compact(engine, lower, upper))
