"""Two servers that share the content of a cluster, in this process, and a client that asks them in turn."""

import asyncio
from collections.abc import Callable
from itertools import cycle
from typing import Any

from hashrange.clock import SystemClock
from hashrange.limits import ITEM_COLLECTION_SIZE_MAX_BYTES
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from hashrange.store.cassandra.store import CassandraStore
from tests.support.fake_cassandra import Calm, FakeCluster, FakeSession
from tests.support.raw_client import RawClient, Reply
from tests.support.servers import ThreadServer


class ClusterServers:
    """Servers over one stand-in for a cluster."""

    def __init__(self, settings: Settings, count: int = 2) -> None:
        cluster = FakeCluster()

        def make_store() -> CassandraStore:
            session: Any = FakeSession(cluster, Calm())
            return CassandraStore(session, SystemClock(), ITEM_COLLECTION_SIZE_MAX_BYTES)

        self.servers = [ThreadServer(make_store, ALL_OPERATIONS, settings=settings) for _ in range(count)]

    @property
    def ports(self) -> list[int]:
        """The ports of all servers."""
        return [one.port for one in self.servers]

    def propagate(self) -> None:
        """Return once every write is in the global indexes."""
        for server in self.servers:
            assert isinstance(server.store, CassandraStore)
            for settled in (server.store.transactions.settled, server.store.entries.settled):
                asyncio.run_coroutine_threadsafe(settled(), server.loop).result(30)

    def stop(self) -> None:
        """End all servers."""
        for server in self.servers:
            server.stop()


class InTurn(RawClient):
    """Sends each request to the next server."""

    def __init__(self, host: str, ports: list[int], *rest: str) -> None:
        super().__init__(host, ports[0], *rest)
        self._next: Callable[[], int] = cycle(ports).__next__

    def __call__(self, *arguments: Any, **options: Any) -> Reply:
        """See `RawClient`."""
        self.port = self._next()
        return super().__call__(*arguments, **options)
