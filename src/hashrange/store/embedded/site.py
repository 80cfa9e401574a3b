"""What do all objects of a store share? Its engine, which may be replaced, the read cache, statistics,
commit barrier, and the handling of failures.
"""

import asyncio
from typing import Protocol

from hashrange.clock import Clock
from hashrange.errors import StorageBusy, StorageError, StorageLost
from hashrange.store.embedded.durability import CommitBarrier
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.engine_errors import storage_error
from hashrange.store.embedded.housekeeping import Housekeeper
from hashrange.store.embedded.read_cache import ReadCache
from hashrange.store.embedded.statistics import SourceStatistics
from hashrange.store.pause import PAUSE


class FailureHandler(Protocol):
    """Decides what is served after the engine has failed; implemented by `health.py`."""

    def fail(self, error: StorageError) -> None:
        """After a failed read or write, refuse calls until the engine is reopened; with a full disk, only writes."""
        ...

    def lose(self, error: StorageError) -> None:
        """Refuse all calls until the engine is reopened, because the present one is closed or must not be used."""
        ...

    def require_folder(self) -> None:
        """Raise StorageLost unless the engine's folder is at its path; never for a store in memory."""
        ...

    def require(self, generation: int) -> None:
        """Raise StorageError if the store's generation has grown since the caller read `generation`."""
        ...

    def closed_in_order(self) -> None:
        """Note that the engine was closed with all its rows in data files."""
        ...

    @property
    def generation(self) -> int:
        """Number that grows when the engine is lost, or replaced by one that may hold other rows."""
        ...


class Site:
    """The engine of one store, with read cache, statistics and failure handling; shared by all objects of the store."""

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
        """Table id → position of the last commit known to have changed rows or index entries of that table."""
        self.all_changed_at = 0
        """Position of the last commit not noted in `changed_at`, which may have changed rows of any table."""
        self.is_served = is_served
        """True if the store has an event loop; without one, the deletion of a table or index starts no compaction."""

    def use(self, engine: Engine) -> None:
        """Switch to another engine, and clear the read cache."""
        self.engine = engine
        self.reads.clear()

    def engine_to_write(self) -> Engine:
        """The engine for a commit: a stand-in that refuses if the engine's folder is not at its path.

        Only the first commit of a group looks, in 1.3 µs. The sync of the group looks again, because the folder may go
        meanwhile; what a commit has written by then cannot be taken back.
        """
        if not self.barrier.is_due:
            try:
                self.health.require_folder()
            except StorageLost as error:
                self.health.lose(error)
        return self.engine

    def fail(self, error: Exception) -> StorageError:
        """The StorageError to raise for `error`, an exception of the engine.

        Unless it is a stall (StorageBusy), all calls, or with a full disk writes, are refused until the engine has been
        reopened. A StorageError is returned as it is, without effect.
        """
        if isinstance(error, StorageError):
            return error
        fault = storage_error(error, self.place)
        if not isinstance(fault, StorageBusy):
            self.health.fail(fault)
        return fault

    def reclaim(self, lower: bytes, upper: bytes) -> None:
        """Start freeing the disk space of deleted keys in `lower <= key < upper`, on the housekeeping thread."""
        self.housekeeper.compact(self.engine, lower, upper)

    async def compact(self, lower: bytes, upper: bytes) -> None:
        """Remove deleted keys in `lower <= key < upper` from the data files,
        on the housekeeping thread; wait for it.
        """
        engine = self.engine
        await PAUSE
        await asyncio.wrap_future(self.housekeeper.compact(engine, lower, upper))
