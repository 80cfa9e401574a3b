"""How is a store opened from settings? With the limits, delays and sizes that they name; for a service, or for a copy of its content."""

import asyncio

from hashrange.clock import Clock
from hashrange.settings import Settings
from hashrange.store.copying import Checkpoint
from hashrange.store.embedded.opening import OpenedFork, open_fork_engine, open_store
from hashrange.store.interface import WholeStore
from hashrange.tables.partitions import CountInitialPartitions, one_partition, partitions_of_service


def open_store_of(
    settings: Settings, clock: Clock, fork: OpenedFork | None = None, lag_seconds: float = 0.0
) -> WholeStore:
    """Open the store of these settings, on the running loop. Raises StorageError.

    `fork`: open a store that begins with this content instead, and is removed when it is closed. `lag_seconds`: the
    longest delay of the index entries that wait in this content.
    """
    index_delay_seconds = max(settings.index_delay_seconds, lag_seconds)
    index_delay = (lambda: index_delay_seconds) if index_delay_seconds else None
    return open_store(
        settings.data_dir,
        clock,
        asyncio.get_running_loop(),
        index_delay,
        settings.item_collection_limit_bytes,
        ttl_delay_seconds=settings.ttl_delay_seconds,
        partition_size_max_bytes=settings.partition_size_bytes,
        initial_partitions=_initial_partitions(settings),
        checkpoint=fork,
    )


async def open_copy_of(
    settings: Settings, clock: Clock, checkpoint: Checkpoint, lag_seconds: float = 0.0
) -> WholeStore:
    """The same as `open_store_of`, for a store that begins with the content of a checkpoint; its files are opened on another thread."""
    return open_store_of(settings, clock, await asyncio.to_thread(open_fork_engine, checkpoint), lag_seconds)


def _initial_partitions(settings: Settings) -> CountInitialPartitions:
    """How many partitions a new table or index begins with. Enforced throughput of fewer partitions than the service's would be too low."""
    is_service = settings.initial_partitions == "service" or settings.throughput == "enforced"
    return partitions_of_service if is_service else one_partition
