"""How does a server come to life, and how does it end? The composition root: settings in, a listening server out."""

import asyncio
import contextlib
import signal
import ssl
from collections.abc import Callable, Mapping

from hashrange.clock import Clock
from hashrange.operations.operation import Operation
from hashrange.server.access import Access
from hashrange.server.credentials import read_credentials
from hashrange.server.dispatch import Dispatcher
from hashrange.server.protocol import Connections
from hashrange.settings import Settings
from hashrange.store.interface import Store

SWEEP_SECONDS = 1.0
STOP_SECONDS_MAX = 10.0
"""So long open requests may take after the server was asked to stop."""


class Server:
    """A listening server over an open store."""

    def __init__(self, store: Store, operations: Mapping[str, Operation], clock: Clock, settings: Settings) -> None:
        self.settings = settings
        self.store = store
        credentials_path = getattr(settings, "credentials", None)
        credentials = read_credentials(credentials_path) if credentials_path is not None else None
        self.access = Access(store, clock, settings, credentials)
        self.dispatcher = Dispatcher(operations, store, clock, settings, self.access)
        self.connections = Connections(self.dispatcher.handle, clock)
        self._listener: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None

    async def start(self) -> str:
        """Listen; returns the endpoint's URL."""
        loop = asyncio.get_running_loop()
        settings = self.settings
        certificate = getattr(settings, "tls_cert", None)
        context: ssl.SSLContext | None = None
        if certificate is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate, getattr(settings, "tls_key", None))
        self._listener = await loop.create_server(
            self.connections.connect, settings.host, settings.port, ssl=context, backlog=1024
        )
        self._turn()
        port = self._listener.sockets[0].getsockname()[1]
        return f"{'https' if context else 'http'}://{settings.host}:{port}"

    def _turn(self) -> None:
        self.connections.sweep()
        self._sweep = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._turn)

    async def stop(self) -> None:
        """Accept nothing more, answer what is open, and stop; the store stays open."""
        assert self._listener is not None
        self._listener.close()
        self.connections.stop()
        deadline = self.connections.monotonic() + STOP_SECONDS_MAX
        while self.connections.open and self.connections.monotonic() < deadline:
            await asyncio.sleep(0.005)
        for connection in list(self.connections.open):
            connection.transport.abort()
        if self._sweep is not None:
            self._sweep.cancel()


async def serve(
    settings: Settings, store: Store, operations: Mapping[str, Operation], clock: Clock, on_ready: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or SIGINT; then answer what is open, make everything durable, and let go."""
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    server = Server(store, operations, clock, settings)
    on_ready(await server.start())
    for name in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(name, stopping.set)
    await stopping.wait()
    await server.stop()
    await store.close()
