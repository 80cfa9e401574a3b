"""How does a server come to life, and how does it end? The composition root: settings in, a listening server out.

The only place that puts a service and a server together. It prints nothing: `on_ready` hears the endpoint.
"""

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from hashrange.clock import Clock, MovableClock, SystemClock
from hashrange.operations.operation import Operation
from hashrange.operations.registry import ANSWERED
from hashrange.server.descriptors import take_descriptors
from hashrange.server.listener import Server, read_secrets
from hashrange.server.process import handled_signals, run_on_best_loop
from hashrange.service import collector
from hashrange.service.opening import open_service
from hashrange.settings import Settings


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
    clock = clock or (MovableClock(SystemClock()) if settings.admin else SystemClock())
    loop = asyncio.get_running_loop()
    secrets = read_secrets(settings)
    service = await open_service(settings, clock, operations)
    try:
        server = Server(service, secrets)
        endpoint = await server.start()
        stopping = asyncio.Event()
        with handled_signals(loop, stopping.set):
            try:
                on_ready(endpoint)
                await stopping.wait()
            finally:
                await server.stop()
    finally:
        await service.store.close()


def run(settings: Settings, on_ready: Callable[[str], None]) -> None:
    """`serve` in a process of its own, on the quickest event loop of this platform; returns when the server has stopped.

    Raises DescriptorsTooFewError too.
    """

    def settle(endpoint: str) -> None:
        collector.settle()
        on_ready(endpoint)

    connections_max = take_descriptors(settings.max_connections)
    try:
        run_on_best_loop(serve(msgspec.structs.replace(settings, max_connections=connections_max), settle))
    finally:
        collector.release()
