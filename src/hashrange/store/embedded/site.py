"""What does everything of a store stand on? Its engine, which may be replaced, what is kept of it, and the way out when it fails."""

import asyncio
from typing import Protocol

from hashrange.clock import Clock
from hashrange.errors import StorageBusy, StorageError
from hashrange.store.embedded.durability import CommitBarrier
from hashrange.store.embedded.engine import Engine, is_behind
from hashrange.store.embedded.faults import storage_error
from hashrange.store.embedded.housekeeping import Housekeeper
from hashrange.store.embedded.read_cache import ReadCache
from hashrange.store.embedded.statistics import SourceStatistics
from hashrange.store.pause import PAUSE

STALL_DELAYS_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 1.6, 1.6, 1.6, 1.6)
"""How long a request waits in a stall before each further attempt; then it fails."""
ROOM_LOOK_SECONDS, ROOM_LOOKS_MAX = 0.02, 100
"""How often, and how many times, work that can wait looks whether the engine has caught up."""


class Doctor(Protocol):
    """What decides about a failed engine: `health.py`."""

    def fail(self, error: StorageError) -> None:
        """A read or a write has failed."""
        ...

    def require(self, generation: int) -> None:
        """Raise StorageError if the engine has been lost since."""
        ...

    @property
    def generation(self) -> int:
        """Grows with each loss."""
        ...


class Site:
    """The engine of one store and what belongs to it. Made by `store.py`, and handed to all its parts."""

    health: Doctor
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
        """There is a loop, so work may be done beside it."""

    def use(self, engine: Engine) -> None:
        """Take another engine: what was read from the one before need not be true of it."""
        self.engine = engine
        self.reads.clear()

    def fail(self, error: Exception) -> StorageError:
        """The StorageError to raise for `error`; unless it is only a stall, less or nothing is served until a reopening."""
        if isinstance(error, StorageError):
            return error
        fault = storage_error(error, self.place)
        if not isinstance(fault, StorageBusy):
            self.health.fail(fault)
        return fault

    async def wait_out_stall(self, error: Exception, attempt: int) -> None:
        """Delay this request, not the loop. Raises unless `error` is a stall and patience is left."""
        fault = self.fail(error)
        if not isinstance(fault, StorageBusy) or attempt == len(STALL_DELAYS_SECONDS):
            raise fault from error
        generation = self.health.generation
        await PAUSE
        await asyncio.sleep(STALL_DELAYS_SECONDS[attempt])
        await PAUSE  # a hundred may wake at once, and each would write 1 MB
        self.health.require(generation)

    async def wait_for_room(self) -> None:
        """For work that can wait: let the engine catch up, before requests feel its stall."""
        for _ in range(ROOM_LOOKS_MAX):
            if not is_behind(self.engine):
                return
            await PAUSE
            await asyncio.sleep(ROOM_LOOK_SECONDS)

    def reclaim(self, lower: bytes, upper: bytes) -> None:
        """Have the room of a deleted range given back, beside the loop, whenever that may be."""
        self.housekeeper.compact(self.engine, lower, upper)

    async def compact(self, lower: bytes, upper: bytes) -> None:
        """Have deleted keys of a range cleared away, beside the loop."""
        engine = self.engine
        await PAUSE
        await asyncio.wrap_future(self.housekeeper.compact(engine, lower, upper))
