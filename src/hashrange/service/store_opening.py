"""How is a store opened from settings? With the limits, delays and sizes that they name;
for a service, or for a copy of its content.
"""

import asyncio

from hashrange.clock import Clock
from hashrange.messages.cluster_refusals import DRIVER_MISSING
from hashrange.messages.installing import how_to_install
from hashrange.settings import Settings, SettingUnusable
from hashrange.store.copying import Checkpoint
from hashrange.store.embedded.opening import open_forked_store, open_store
from hashrange.store.embedded.participant import Options
from hashrange.store.interface import WholeStore
from hashrange.tables.partitions import one_partition, partitions_of_service

RECOVERY_MAX_MB, RECOVERY_MAX_MB_IN_MEMORY = 10_000, 256
"""Megabytes of changes that are kept for point-in-time recovery, unless the settings say otherwise."""


async def open_store_of(settings: Settings, clock: Clock) -> WholeStore:
    """Open the store of these settings, on the running loop. Raises StorageError, and SettingUnusable for a cluster."""
    if settings.store is not None:
        return await _open_cluster_store(settings, clock)
    return open_store(settings.data_dir, clock, asyncio.get_running_loop(), _options(settings))


async def _open_cluster_store(settings: Settings, clock: Clock) -> WholeStore:
    # Imported here: most servers use no cluster, and start time counts.
    from hashrange.store.cassandra.address import address_of  # noqa: PLC0415

    address = address_of(settings)
    try:
        from hashrange.store.cassandra.opening import open_cassandra_store  # noqa: PLC0415 - as above
    except ModuleNotFoundError as error:
        if error.name != "acsylla":
            raise
        raise SettingUnusable(DRIVER_MISSING.format(how=how_to_install("cluster"))) from None
    opened: WholeStore = await open_cassandra_store(address, clock, settings.item_collection_limit_bytes)
    return opened


async def open_copy_of(
    settings: Settings, clock: Clock, checkpoint: Checkpoint, lag_seconds: float = 0.0
) -> WholeStore:
    """Open a store with the options of these settings that begins with the content of a checkpoint,
    and is removed when it is closed.

    What takes long is done on another thread. `lag_seconds`: the longest delay of the index entries that wait in this
    content. Raises StorageError.
    """
    return await open_forked_store(checkpoint, clock, _options(settings, lag_seconds))


def _options(settings: Settings, lag_seconds: float = 0.0) -> Options:
    index_delay_seconds = max(settings.index_delay_seconds, lag_seconds)
    # Enforced throughput of fewer partitions than the service's would be too low.
    is_service = settings.initial_partitions == "service" or settings.throughput == "enforced"
    usual_max_mb = RECOVERY_MAX_MB_IN_MEMORY if settings.data_dir is None else RECOVERY_MAX_MB
    return Options(
        (lambda: index_delay_seconds) if index_delay_seconds else None,
        settings.item_collection_limit_bytes,
        settings.ttl_delay_seconds,
        settings.partition_size_bytes,
        partitions_of_service if is_service else one_partition,
        (settings.recovery_max_mb or usual_max_mb) * 1_000_000,
        settings.vector_memory_bytes,
    )
