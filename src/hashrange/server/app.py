"""How are store, service and server put together? The composition root:
it opens them from settings, runs and closes them.

Only this file connects a service with a server, chooses the event loop, the signals that stop a server, and who may
read its files. It prints nothing: it passes the endpoint's URL to `on_ready`.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import msgspec

from hashrange.clock import Clock, MovableClock, SystemClock
from hashrange.features.late_code import load_on_threads
from hashrange.server.descriptors import take_descriptors
from hashrange.server.listener import Server, read_secrets
from hashrange.service import collector
from hashrange.service.opening import open_service
from hashrange.service.service import Service
from hashrange.settings import Settings

OnReady = Callable[[str, str | None], None]
"""URL of the endpoint, and of the DAX cluster `default` if there is one."""


async def serve(settings: Settings, on_ready: OnReady, *, clock: Clock | None = None) -> None:
    """Open the store and serve until SIGTERM or SIGINT; then answer begun requests, make commits durable, and close.

    Raises StorageError, SettingUnusable, SnapshotFileError or ListenError if the server cannot start. Once it listens,
    `on_ready` is called; an exception of `on_ready` ends the server. Closing may raise
    StorageError too.
    """
    is_movable = settings.admin or settings.snapshot is not None or settings.clock_behind_seconds > 0
    clock = clock or (MovableClock(SystemClock()) if is_movable else SystemClock())
    loop = asyncio.get_running_loop()
    secrets = read_secrets(settings)
    service = await _opened(settings, clock)
    if service is None:
        return
    try:
        server = Server(service, secrets)
        endpoint = await server.start()
        stopping = asyncio.Event()
        with handled_signals(loop, stopping.set):
            try:
                on_ready(endpoint, server.dax_endpoint)
                await stopping.wait()
            finally:
                await server.stop()
    finally:
        await service.store.close()


async def _opened(settings: Settings, clock: Clock) -> Service | None:
    """The opened service; None if SIGTERM or SIGINT came while an init folder was applied, which may take long."""
    opening = open_service(settings, clock)
    if settings.init is None:
        return await opening
    loop = asyncio.get_running_loop()
    task = loop.create_task(opening)
    stopping = asyncio.Event()

    def stop() -> None:
        stopping.set()
        task.cancel()

    with handled_signals(loop, stop):
        try:
            service = await task
        except asyncio.CancelledError:
            return None
    if stopping.is_set():  # the signal came when all was done
        await service.store.close()
        return None
    return service


def run(settings: Settings, on_ready: OnReady) -> None:
    """Run `serve` on the platform's fastest event loop; return when the server has stopped.

    The process must be the server's own: its file limit, its umask and its garbage collector are changed. Raises
    DescriptorsTooFewError and the errors of `serve`.
    """

    def settle(endpoint: str, dax_endpoint: str | None) -> None:
        collector.settle()
        load_on_threads(is_ours=True)
        on_ready(endpoint, dax_endpoint)

    connections_max = take_descriptors(settings.max_connections)
    try:
        with private_files():
            run_on_best_loop(serve(msgspec.structs.replace(settings, max_connections=connections_max), settle))
    finally:
        load_on_threads(is_ours=False)
        collector.release()


# --- the process ----------------------------------------------------------------------------------


def run_on_best_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run `main` on uvloop if it is installed (it does not exist on Windows), else on asyncio's own loop."""
    try:
        import uvloop  # noqa: PLC0415 - absent on Windows
    except ImportError:
        asyncio.run(main)
    else:
        uvloop.run(main)


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """Inside this `with` block the process, on all its threads, makes files and folders that only
    its user may read or enter.
    """
    former = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(former)


@contextlib.contextmanager
def handled_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], object]) -> Iterator[None]:
    """Inside this `with` block SIGTERM and SIGINT call `stop`, on Windows also after it."""
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
