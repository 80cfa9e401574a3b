"""How does a server come to life, and how does it end? The composition root: settings in, a listening server out.

The only place that puts a store, the operations and a server together. It prints nothing: `on_ready` hears the endpoint.
"""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from hashrange.clock import Clock, SystemClock
from hashrange.operations.operation import Operation
from hashrange.operations.registry import ANSWERED
from hashrange.operations.waits import end_endless_waits
from hashrange.server.descriptors import take_descriptors
from hashrange.server.listener import Server, read_secrets
from hashrange.server.process import handled_signals, run_on_best_loop, settle_collector
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded.opening import open_store
from hashrange.tables.partitions import one_partition, partitions_of_service


async def serve(
    settings: Settings,
    on_ready: Callable[[str], None],
    *,
    clock: Clock | None = None,
    operations: Mapping[str, Operation] = ANSWERED,
) -> None:
    """Open the store and serve until SIGTERM or SIGINT; then answer what is open, make everything durable, and let go.

    Raises StorageError, CredentialsFileError, TlsFilesError or ListenError when it cannot start; `on_ready` hears the
    endpoint's URL once it has, and what it raises ends the server.
    """
    clock = clock or SystemClock()
    loop = asyncio.get_running_loop()
    index_delay_seconds = settings.index_delay_seconds
    index_delay = (lambda: index_delay_seconds) if index_delay_seconds else None
    secrets = read_secrets(settings)
    store = open_store(
        settings.data_dir,
        clock,
        loop,
        index_delay,
        settings.item_collection_limit_bytes,
        ttl_delay_seconds=settings.ttl_delay_seconds,
        partition_size_max_bytes=settings.partition_size_bytes,
        initial_partitions=partitions_of_service if settings.initial_partitions == "service" else one_partition,
    )
    try:
        delay_seconds = settings.table_state_delay_seconds
        await end_endless_waits(
            store, [table.schema for table in store.catalog.all_tables()], clock.service_time(), delay_seconds
        )
        server = Server(Service(store, operations, clock, settings), secrets)
        endpoint = await server.start()
        stopping = asyncio.Event()
        with handled_signals(loop, stopping.set):
            try:
                settle_collector()
                on_ready(endpoint)
                await stopping.wait()
            finally:
                await server.stop()
    finally:
        await store.close()


def run(settings: Settings, on_ready: Callable[[str], None]) -> None:
    """`serve` on the quickest event loop of this platform; returns when the server has stopped.

    Raises DescriptorsTooFewError too.
    """
    connections_max = take_descriptors(settings.max_connections)
    run_on_best_loop(serve(msgspec.structs.replace(settings, max_connections=connections_max), on_ready))
