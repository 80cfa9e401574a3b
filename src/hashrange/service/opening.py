"""How is a service opened from its settings? The store is opened; table states that would last longer than the configured delay are ended."""

import asyncio
from collections.abc import Mapping

from hashrange.clock import Clock
from hashrange.operations.operation import Operation
from hashrange.operations.overlong_deadlines import shorten_overlong_deadlines
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.copying import Checkpoint
from hashrange.store.embedded.opening import open_store
from hashrange.tables.partitions import one_partition, partitions_of_service


async def open_service(
    settings: Settings,
    clock: Clock,
    operations: Mapping[str, Operation] = ALL_OPERATIONS,
    checkpoint: Checkpoint | None = None,
) -> Service:
    """Open a service over the store of these settings, on the running loop; jobs do not run yet. Raises StorageError.

    `checkpoint`: serve a fork that begins with this content, instead of the settings' `data_dir`.

    The caller has to close the service's store.
    """
    index_delay_seconds = settings.index_delay_seconds
    index_delay = (lambda: index_delay_seconds) if index_delay_seconds else None
    store = open_store(
        settings.data_dir,
        clock,
        asyncio.get_running_loop(),
        index_delay,
        settings.item_collection_limit_bytes,
        ttl_delay_seconds=settings.ttl_delay_seconds,
        partition_size_max_bytes=settings.partition_size_bytes,
        initial_partitions=partitions_of_service if settings.initial_partitions == "service" else one_partition,
        checkpoint=checkpoint,
    )
    try:
        tables = [table.schema for table in store.catalog.all_tables()]
        await shorten_overlong_deadlines(store, tables, clock.service_time(), settings.table_state_delay_seconds)
    except BaseException:
        await store.close()
        raise
    return Service(store, operations, clock, settings)
