"""How does a server listen, and how does it stop? One listener, its connections, the sweep over them, and the jobs."""

import asyncio
import ssl
from collections.abc import Mapping

from hashrange.clock import Clock
from hashrange.jobs.index_backfill import IndexBackfill
from hashrange.jobs.index_delay import IndexDelay
from hashrange.jobs.runner import Runner
from hashrange.jobs.settling import Settle
from hashrange.operations.operation import Operation
from hashrange.server.access import Access
from hashrange.server.access_log import log_access
from hashrange.server.credentials import read_credentials
from hashrange.server.dispatch import Dispatcher
from hashrange.server.protocol import Connections
from hashrange.settings import Settings
from hashrange.store.interface import Store

SWEEP_SECONDS = 1.0
STOP_SECONDS_MAX = 10.0
"""So long open requests may take after the server was asked to stop."""
STOP_LOOK_SECONDS = 0.005
BACKLOG_CONNECTIONS = 1024


class Server:
    """A listening server over an open store."""

    def __init__(self, store: Store, operations: Mapping[str, Operation], clock: Clock, settings: Settings) -> None:
        """Raises CredentialsFileError when the credentials file cannot be used."""
        credentials = read_credentials(settings.credentials) if settings.credentials is not None else None
        self.settings = settings
        self.store = store
        self.access = Access(store, clock, settings, credentials)
        self.dispatcher = Dispatcher(operations, store, clock, settings, self.access)
        self.connections = Connections(
            self.dispatcher.handle, clock, settings.max_connections, log_access if settings.access_log else None
        )
        self.jobs = Runner([IndexBackfill(store, clock), IndexDelay(store), Settle(store)], clock)
        self._listener: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None

    async def start(self) -> str:
        """Listen; returns the endpoint's URL. Raises OSError when the address cannot be had."""
        settings = self.settings
        context = tls_context(settings)
        loop = asyncio.get_running_loop()
        self.connections.take_turns(loop)
        self._listener = await loop.create_server(
            self.connections.connect, settings.host, settings.port, ssl=context, backlog=BACKLOG_CONNECTIONS
        )
        try:
            self._turn()
            self.store.on_work(self.jobs.wake)
            self.jobs.start()
        except BaseException:
            await self.stop()  # a loop with a listener on it would not close
            raise
        port = self._listener.sockets[0].getsockname()[1]
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        return f"{'https' if context is not None else 'http'}://{host}:{port}"

    async def stop(self) -> None:
        """Accept nothing more, answer what is open, and close all connections; the store stays open."""
        if self._listener is not None:
            self._listener.close()
        if self._sweep is not None:
            self._sweep.cancel()
        connections = self.connections
        connections.stop()
        deadline_seconds = connections.monotonic() + STOP_SECONDS_MAX
        while connections.open and connections.monotonic() < deadline_seconds:
            await asyncio.sleep(STOP_LOOK_SECONDS)
            connections.stop()
        for connection in list(connections.open):
            connection.transport.abort()
        await self.jobs.stop()

    def _turn(self) -> None:
        """Sweep, again and again."""
        self.connections.sweep()
        self._sweep = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._turn)


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """TLS as configured; None without a certificate. Raises OSError or ssl.SSLError for unusable files."""
    if settings.tls_cert is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(settings.tls_cert, settings.tls_key)
    return context
