"""How do the nodes of DAX clusters run? Each listens on a port of its own, with caches of its own;
all share the server's loop and service.
"""

import asyncio
from base64 import b64encode
from collections import OrderedDict
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from hashrange.cloudwatch.feature import METRICS
from hashrange.dax.attribute_lists import AttributeLists
from hashrange.dax.node_caches import NodeCaches
from hashrange.dax.node_host import NodePlace, NodeTerms
from hashrange.dax.node_metrics import NodeMetrics, ObservedNode
from hashrange.dax.records import EVERYONE, SHARED_ACCOUNT, SHARED_REGION
from hashrange.items.steps import look
from hashrange.server.connections import Connections
from hashrange.server.credentials import KnownKeys
from hashrange.server.dax import batches, metadata, pages, single_items, transactions
from hashrange.server.dax.begun_bytes import BegunBytes, BegunRequests
from hashrange.server.dax.connection import DaxConnection
from hashrange.server.dax.node import DaxNode, NodeEndpoint
from hashrange.server.dax.tables import TableShapes
from hashrange.server.descriptors import require_sockets
from hashrange.server.handshakes import Handshake, Handshakes
from hashrange.service.service import Service
from hashrange.settings import WILDCARDS, SettingUnusable

METHODS = {**metadata.METHODS, **single_items.METHODS, **pages.METHODS, **batches.METHODS, **transactions.METHODS}
BEGUN_BYTES_MAX, STRANGERS_BEGUN_BYTES_MAX = 64 * 1024 * 1024, 16 * 1024 * 1024
"""Memory of all requests to DAX that are not complete, and of those of clients that have not said who they are.
Above it, the client that holds most is disconnected.
"""
NODES_MAX, NODE_CONNECTIONS = 500, 8
"""Nodes of a server: one for this many of the connections that may be open, and never more than 500. A node has one
to four sockets."""
SWEEP_SECONDS = 5.0
BACKLOG_CONNECTIONS = 1_024
HOTTEST_SHOWN = 10
FREED_TOGETHER = 500
"""Entries of former caches that are freed in one turn of the loop: some 0.1 ms."""


def advertised_place(text: str | None) -> tuple[str, int | None] | None:
    """Host and port of `--dax-advertise`. Raises SettingUnusable."""
    if text is None:
        return None
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]") or (":" in host.strip("[]") and not host.startswith("[")):
        return text.strip("[]"), None
    if not port.isdecimal() or not 0 < int(port) < 65_536 or not host:
        raise SettingUnusable(f"--dax-advertise: {text} is neither HOST nor HOST:PORT")
    return host.strip("[]"), int(port)


class _Running:
    """A node that runs."""

    def __init__(
        self, node: DaxNode, begun: BegunRequests, zone: str, handshakes: Handshakes | None, clients: Connections
    ) -> None:
        self.node = node
        self._handshakes = handshakes
        self._clients = clients
        self.zone = zone
        self.caches = node.caches
        self.connections: set[DaxConnection] = set()
        self.port = 0
        self._begun = begun
        self.listeners: list[asyncio.Server] = []
        """That of the node, and one at the port where clients find the cluster, if it stands in for another node."""

    def connect(self) -> asyncio.BaseProtocol:
        """The protocol of a new connection."""
        make = partial(DaxConnection, self.node, self._begun, self._let_in, self._forget, self._clients.lost.add)
        if self._handshakes is None or not self._clients.has_room(is_dax=True):
            return make()
        return Handshake(self._handshakes, make)

    def _let_in(self, connection: DaxConnection) -> bool:
        """Count a new connection; False if there are too many, or the node has been stopped meanwhile."""
        if self.node.is_over or not self._clients.has_room(is_dax=True):
            return False
        self.connections.add(connection)
        self._clients.dax.add(connection)
        return True

    def _forget(self, connection: DaxConnection) -> None:
        self.connections.discard(connection)
        self._clients.dax.discard(connection)


class DaxNodes:
    """The nodes of one server. Implements `NodeHost`."""

    def __init__(
        self, service: Service, known_keys: KnownKeys | None, handshakes: Handshakes | None, clients: Connections
    ) -> None:
        """`handshakes`: those of HTTPS, in whose queue nodes' take turns; None: there is no certificate.
        `clients`: the connections of HTTP, which share descriptors with those of nodes.
        Raises StorageError, and SettingUnusable for `dax_advertise`.
        """
        self._clients = clients
        self._service = service
        self._handshakes = handshakes
        self._host = service.settings.host
        self._advertised = advertised_place(service.settings.dax_advertise)
        self._begun = BegunRequests(
            BegunBytes(STRANGERS_BEGUN_BYTES_MAX), BegunBytes(BEGUN_BYTES_MAX), clients.long_reads
        )
        self._running: dict[NodePlace, _Running] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._unswept: list[DaxConnection] = []
        """Connections that this sweep has not looked at yet."""
        self._ending: list[DaxConnection] = []
        """Connections of nodes that have been stopped."""
        self._former: list[OrderedDict[Any, Any]] = []
        """What caches have held. While there is something in one of these two lists, `_clear_up` is due."""
        metrics, clock = service.features.part(METRICS), service.clock
        self._metrics = NodeMetrics(metrics, clock.service_time, self._observed)
        self._records_metrics = service.settings.metrics == "on"
        self._stop_listening: Callable[[], None] = lambda: None
        if self._records_metrics:
            metrics.sources.add(self._metrics.record)
            self._stop_listening = clock.on_advance(self._metrics.look)
        self._lists = AttributeLists(service.store.documents)
        self._make_node = partial(DaxNode, service, self._lists, TableShapes(), known_keys)

    @property
    def has_certificate(self) -> bool:
        """Implements `NodeHost.has_certificate`."""
        return self._handshakes is not None

    @property
    def nodes_max(self) -> int:
        """Implements `NodeHost.nodes_max`."""
        return max(1, min(NODES_MAX, self._clients.connections_max // NODE_CONNECTIONS))

    def forget(self) -> None:
        """Implements `NodeHost.forget`."""
        if self._records_metrics:
            self._metrics.forget()
        for running in self._running.values():
            self._leave([], running.caches)
        self._lists.forget()

    def address(self) -> str:
        """Implements `NodeHost.address`."""
        return WILDCARDS.get(self._host, self._host) if self._advertised is None else self._advertised[0]

    async def start(
        self, place: NodePlace, terms: NodeTerms, zone: str, port: int | None, *, must_have_port: bool
    ) -> int:
        """Implements `NodeHost.start`. To a cluster of everyone, clients of all accounts and Regions may
        connect, and see their own tables.
        """
        await self.stop(place)
        caches = NodeCaches(
            terms,
            self._service.clock.service_time,
            partial(self._peers, place),
            keeps_latencies=self._records_metrics,
        )
        owner = None if place.account == EVERYONE else (place.account, place.region)
        node = self._make_node(caches, partial(self._endpoints, place), METHODS, owner)
        running = _Running(node, self._begun, zone, self._handshakes if terms.is_encrypted else None, self._clients)
        try:
            await self._listen(running, port or 0)
        except OSError:
            if not port or must_have_port:
                raise
            await self._listen(running, 0)  # another program has taken the former port
        running.port = running.listeners[0].sockets[0].getsockname()[1]
        self._running[place] = running
        self._metrics.started()
        if self._sweep is None:
            self._turn()
        return running.port

    async def _listen(self, running: _Running, port: int) -> None:
        """Let clients reach a node at this port; 0: at any that is free. Raises OSError."""
        loop = asyncio.get_running_loop()
        listener = await loop.create_task(
            loop.create_server(running.connect, self._host, port, backlog=BACKLOG_CONNECTIONS)
        )
        require_sockets(listener)
        self._clients.dax_sockets += len(listener.sockets)
        running.listeners.append(listener)

    def _close(self, running: _Running, begin: int) -> None:
        for listener in running.listeners[begin:]:
            self._clients.dax_sockets -= len(listener.sockets)
            listener.close()
        del running.listeners[begin:]  # they refer to what runs

    async def listen_also(self, place: NodePlace, port: int | None) -> None:
        """Implements `NodeHost.listen_also`."""
        running = self._running[place]
        self._close(running, 1)
        if port is not None:
            await self._listen(running, port)

    async def stop(self, place: NodePlace) -> None:
        """Implements `NodeHost.stop`."""
        if place in self._running:
            running = self._running[place]
            if self._records_metrics:
                self._metrics.ended(_observed(place, running))
            del self._running[place]
            running.node.is_over = True
            self._close(running, 0)
            self._leave(running.connections, running.caches)

    async def close(self) -> None:
        """Stop all nodes, and record what they have counted."""
        self._stop_listening()
        if self._sweep is not None:
            self._sweep.cancel()
        for place in list(self._running):
            await self.stop(place)
        if self._handshakes is not None:
            await self._handshakes.stop()
        while self._ending or self._former:  # noqa: ASYNC110 - `_clear_up` has one turn after the other
            await asyncio.sleep(0)

    def _leave(self, connections: Collection[DaxConnection], caches: NodeCaches) -> None:
        """Forget what caches hold at once; end these connections, and free what was held, in later turns of the loop:
        12,000 connections at once take 0.1 s.
        """
        is_due = bool(self._ending or self._former)
        self._ending += connections
        self._former += filter(None, caches.clear())
        if not is_due and (self._ending or self._former):
            asyncio.get_running_loop().call_soon(self._clear_up)

    def _clear_up(self) -> None:
        """End some connections, and free some entries of caches."""
        has_more, former = self._clients.visit(self._ending, DaxConnection.abort), self._former
        if former:
            for _ in range(min(FREED_TOGETHER, len(former[-1]))):
                former[-1].popitem()
            if not former[-1]:
                former.pop()
        if has_more or former:
            asyncio.get_running_loop().call_soon(self._clear_up)

    def describe(self) -> list[dict[str, object]]:
        """State of each node, for the admin API: what it has counted, its memory, the keys that are read most.
        Gives way.
        """
        return [_described(place, running) for place, running in sorted(self._running.items())]

    def _peers(self, one: NodePlace) -> list[NodeCaches]:
        return [running.caches for place, running in self._running.items() if place != one and place[:3] == one[:3]]

    def _endpoints(self, one: NodePlace) -> list[NodeEndpoint]:
        """The nodes of a cluster; the first one is the leader."""
        nodes = sorted([(place, running) for place, running in self._running.items() if place[:3] == one[:3]])
        told = self._advertised
        return [
            NodeEndpoint(
                number,
                "" if told is None else told[0],
                running.port if told is None or told[1] is None else told[1] + number,
                number == 0,
                running.zone,
            )
            for number, (_, running) in enumerate(nodes)
        ]

    def _observed(self) -> list[ObservedNode]:
        return [_observed(place, running) for place, running in self._running.items()]

    def _turn(self) -> None:
        """Disconnect slow clients, in as many turns as that takes; see what has been counted when a minute is over,
        if the clock passes by itself.
        """
        if not self._unswept:
            for running in self._running.values():
                self._unswept += running.connections
        now_seconds = self._clients.monotonic()
        has_more = self._clients.visit(self._unswept, lambda connection: connection.end_if_late(now_seconds))
        if self._records_metrics:
            self._metrics.look()
        pause_seconds = 0.0 if has_more else min(SWEEP_SECONDS, self._metrics.seconds_left + 0.001)
        self._sweep = asyncio.get_running_loop().call_later(pause_seconds, self._turn)


def _observed(place: NodePlace, running: _Running) -> ObservedNode:
    shown = place if place.account != EVERYONE else place._replace(account=SHARED_ACCOUNT, region=SHARED_REGION)
    return ObservedNode(shown, running.caches, partial(len, running.connections))


def _described(place: NodePlace, running: _Running) -> dict[str, object]:
    look()  # the keys that are read most take 70 µs
    caches = running.caches
    return {
        "account": place.account,
        "region": place.region,
        "cluster": place.cluster,
        "node": place.node_id,
        "port": running.port,
        "connections": len(running.connections),
        "memory_bytes": caches.memory_bytes,
        "used_bytes": caches.lru.size_bytes,
        "evicted_bytes": caches.lru.evicted_bytes,
        "counts": dict(sorted(caches.counts.items())),
        "hottest": [
            {"table": key[2], "key": b64encode(key[3]).decode(), "reads": reads}
            for key, reads in caches.hot_keys.most(HOTTEST_SHOWN)
        ],
    }
