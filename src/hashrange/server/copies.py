"""Which copies of its content does a server keep? Snapshots, and forks.

The snapshots are those that clients of the admin API have taken and not released, by number. A fork is a database that
began with a copy of the content, and has a port of its own on the loopback.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from hashrange.service.opening import open_fork
from hashrange.service.service import Service
from hashrange.service.snapshots import ServiceSnapshot, handed_over, take_snapshot
from hashrange.soon import kept_until_done
from hashrange.work_threads import free_entries

if TYPE_CHECKING:
    from hashrange.server.connections import Connections

SNAPSHOTS_MAX = 1000
FORKS_MAX = 256
LENT_CONNECTIONS_MAX = 1024
"""Most connections that one fork may have open. Its server may then have that many fewer open, because all of them use
the file descriptors of one process."""
LENT_SHARE = 16
"""A fork gets at most one in this many of the connections that its server may have open."""
HOST = "127.0.0.1"
LAST_TURNS = 3
"""Turns of the event loop in which what a fork's end has scheduled is called: lost connections, the end of a sync."""


# --- snapshots ------------------------------------------------------------------------------------


class KeptSnapshots:
    """Snapshots of one server's database, until they are released or the server stops."""

    def __init__(self) -> None:
        self._kept: dict[str, ServiceSnapshot] = {}
        self._taken = 0
        self._idle_ends: dict[str, tuple[float, asyncio.TimerHandle]] = {}
        """Of snapshots that are released once nobody has asked for them for so many seconds: these, and the timer."""
        self._releases: set[asyncio.Task[None]] = set()

    @property
    def numbers(self) -> list[str]:
        """Numbers of the snapshots, in the order in which they were taken."""
        return list(self._kept)

    @property
    def is_full(self) -> bool:
        """True if SNAPSHOTS_MAX snapshots are kept."""
        return len(self._kept) >= SNAPSHOTS_MAX

    def keep(self, snapshot: ServiceSnapshot, idle_seconds: float | None = None) -> str:
        """Keep a snapshot; returns its number, which no other snapshot of this server gets.

        It is released once `find` has not been asked for it for `idle_seconds`; None: only by `release`.
        """
        self._taken += 1
        number = str(self._taken)
        self._kept[number] = snapshot
        if idle_seconds is not None:
            self._wait(number, idle_seconds)
        return number

    def find(self, number: str) -> ServiceSnapshot | None:
        """The snapshot of this number; None if there is none, or it has been released."""
        if number in self._idle_ends:
            idle_seconds, timer = self._idle_ends[number]
            timer.cancel()
            self._wait(number, idle_seconds)
        return self._kept.get(number)

    def _wait(self, number: str, idle_seconds: float) -> None:
        timer = asyncio.get_running_loop().call_later(idle_seconds, self._release_idle, number)
        self._idle_ends[number] = idle_seconds, timer

    def _release_idle(self, number: str) -> None:
        kept_until_done(asyncio.get_running_loop().create_task(self.release(number)), self._releases)

    async def release(self, number: str) -> None:
        """Release a snapshot that is kept, and free its files on a thread, which may take long."""
        snapshot = self._kept.pop(number, None)
        _, timer = self._idle_ends.pop(number, (0, None))
        if timer is not None:
            timer.cancel()
        if snapshot is not None:
            await asyncio.to_thread(snapshot.checkpoint.release)

    async def release_all(self) -> None:
        """Release every snapshot."""
        while self._kept:
            await self.release(self.numbers[0])
        await asyncio.gather(*self._releases)


# --- forks ----------------------------------------------------------------------------------------


class ForkServer(Protocol):
    """The part of a listening server that `Forks` uses."""

    async def start(self) -> str:
        """Listen; returns the endpoint's URL."""

    async def stop(self) -> None:
        """Stop listening, and end the server's own forks and snapshots; the store stays open."""

    def take_apart(self) -> None:
        """Free the server and its service, once the store is closed and nothing will be called any more."""


class _Fork(NamedTuple):
    endpoint: str
    service: Service
    server: ForkServer
    connections: int


class Forks:
    """The forks of one server. Each runs on the server's event loop until it is ended, or the server stops."""

    def __init__(
        self, service: Service, connections: "Callable[[], Connections]", make_server: Callable[[Service], ForkServer]
    ) -> None:
        """`connections` returns the server's connections: it lends each fork some of those that it may have open."""
        self._service = service
        self._connections = connections
        self._make_server = make_server
        self._open: dict[int, _Fork] = {}
        self._starting: set[asyncio.Task[int]] = set()
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def endpoints(self) -> dict[int, str]:
        """Port → URL of each fork."""
        return {port: fork.endpoint for port, fork in self._open.items()}

    @property
    def may_start(self) -> bool:
        """True if there are fewer than FORKS_MAX forks, and connections to lend to another one."""
        return len(self._open) + len(self._starting) < FORKS_MAX and self._lendable > 0

    @property
    def _lendable(self) -> int:
        connections = self._connections()
        return 0 if connections.is_stopping else min(LENT_CONNECTIONS_MAX, connections.connections_max // LENT_SHARE)

    async def start(self, snapshot: ServiceSnapshot | None) -> int:
        """Start a fork with the content of `snapshot`, or the present one; returns its port. `may_start` must be True.

        Raises StorageError, and ListenError if it cannot listen.
        """
        connections = self._lendable
        # Before anything gives way, so that no two forks get the same ones.
        self._connections().connections_max -= connections
        # In a task of its own: a service must not be set up within a worker of another one (`Workers.take_turns`).
        return await kept_until_done(
            asyncio.get_running_loop().create_task(self._start(snapshot, connections)), self._starting
        )

    async def _start(self, snapshot: ServiceSnapshot | None, connections: int) -> int:
        try:
            if snapshot is None:
                own = await take_snapshot(self._service)
                with handed_over(own.checkpoint):
                    service = await self._open_service(own, connections)
            else:
                service = await self._open_service(snapshot, connections)
            try:
                server = self._make_server(service)
                endpoint = await server.start()
            except BaseException:
                await service.store.close()
                raise
        except BaseException:
            self._connections().connections_max += connections
            raise
        port = int(endpoint.rpartition(":")[2])
        self._open[port] = _Fork(endpoint, service, server, connections)
        return port

    async def end(self, port: int) -> bool:
        """End the fork on this port, and delete its content; False if there is none. May raise StorageError."""
        fork = self._open.pop(port, None)
        if fork is None:
            return False
        await kept_until_done(asyncio.get_running_loop().create_task(self._end(fork)), self._ending)
        return True

    async def end_all(self) -> None:
        """End all databases that began with a copy of this server's content (forks), also those that are still being
        started; no more can be, once the server stops. May raise StorageError.
        """
        await asyncio.gather(*self._starting, return_exceptions=True)
        for port in list(self._open):
            await self.end(port)
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _end(self, fork: _Fork) -> None:
        try:
            await fork.server.stop()
        finally:
            self._connections().connections_max += fork.connections
            try:
                await fork.service.store.close()
            finally:
                for _ in range(LAST_TURNS):
                    await asyncio.sleep(0)
                for _ in fork.service.features.drop():
                    await asyncio.sleep(0)
                await asyncio.to_thread(free_entries, *fork.service.give_up_tables())
                fork.server.take_apart()

    async def _open_service(self, snapshot: ServiceSnapshot, connections: int) -> Service:
        own = self._service.settings
        settings = msgspec.structs.replace(
            own,
            host=HOST,
            port=0,
            max_connections=connections,
            dax_port=None if own.dax_port is None else 0,
            dax_advertise=None,
            otlp_endpoint=None,
        )
        return await open_fork(settings, snapshot)
