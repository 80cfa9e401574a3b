"""How does a server come to life, and how does it end? The composition root: settings in, a listening server out.

The only place that puts a store, the operations, access and connections together. It prints nothing: `on_ready` hears the endpoint.
"""

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from hashrange.clock import Clock, SystemClock
from hashrange.operations.operation import Operation
from hashrange.operations.registry import OPERATIONS
from hashrange.server.listener import Server
from hashrange.settings import Settings
from hashrange.store.embedded.store import open_store

GC_THRESHOLDS = (20_000, 20, 50)
"""Requests make few cycles: the collector need not look every 700 objects."""

_log = logging.getLogger("hashrange.server")


async def serve(
    settings: Settings,
    on_ready: Callable[[str], None],
    *,
    clock: Clock | None = None,
    operations: Mapping[str, Operation] = OPERATIONS,
) -> None:
    """Open the store and serve until SIGTERM or SIGINT; then answer what is open, make everything durable, and let go.

    Raises StorageError, CredentialsFileError or OSError when it cannot start; `on_ready` hears the endpoint's URL once it has.
    """
    clock = clock or SystemClock()
    loop = asyncio.get_running_loop()
    store = open_store(settings.data_dir, clock, loop)
    try:
        server = Server(store, operations, clock, settings)
        endpoint = await server.start()
        stopping = asyncio.Event()
        with handled_signals(loop, stopping.set):
            settle_collector()
            on_ready(endpoint)
            await stopping.wait()
            await server.stop()
    finally:
        await store.close()


def run(settings: Settings, on_ready: Callable[[str], None]) -> None:
    """`serve` on the quickest event loop of this platform; returns when the server has stopped."""
    raise_descriptor_limit(settings.max_connections)
    run_on_best_loop(serve(settings, on_ready))


def run_on_best_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run on uvloop where there is one (it does not exist on Windows), else on asyncio's own loop."""
    try:
        import uvloop  # noqa: PLC0415 - absent on Windows
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


@contextlib.contextmanager
def handled_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Any:
    """SIGTERM and SIGINT call `stop` meanwhile; where loops take no handlers (Windows), plain handlers do it."""
    names = (signal.SIGTERM, signal.SIGINT)
    try:
        for name in names:
            loop.add_signal_handler(name, stop)
    except NotImplementedError:
        for name in names:
            signal.signal(name, lambda *_: loop.call_soon_threadsafe(stop))
    try:
        yield
    finally:
        for name in names:
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(name)


def settle_collector() -> None:
    """Take what the start has made out of the collector's sight, and let it look less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def raise_descriptor_limit(connections_max: int) -> None:
    """Let the process open as many sockets as it may serve; says so when the machine does not."""
    try:
        import resource  # noqa: PLC0415 - absent on Windows
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections_max + 1024
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        _log.info("this machine allows %d open files, so fewer than %d connections at a time", allowed, connections_max)
