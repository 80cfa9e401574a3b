"""The connections of a node that has very many are ended in several turns, and nobody is answered meanwhile."""

import asyncio
from collections import OrderedDict
from datetime import UTC, datetime

import pytest

from hashrange.server.connections import HEAD_SECONDS_MAX, VISIT_SECONDS_MAX
from hashrange.server.dax import nodes
from hashrange.server.dax.connection import DaxConnection
from tests.support.dax_client import HANDSHAKE, authorization, request_bytes
from tests.support.waiting import until
from tests.unit.dax.test_many_nodes import InWorld, World, place_of
from tests.unit.dax.test_many_nodes import in_world as in_world  # noqa: PLC0414 - a fixture
from tests.unit.server.harness import FakeTransport

CONNECTIONS = 90
ENDED_TOGETHER = 11
"""Connections that are ended in one turn, if each takes a tenth of the time that there is."""


def connected(world: World, connections: int = CONNECTIONS) -> list[tuple[DaxConnection, FakeTransport]]:
    """Connections with the node of number 0, which runs."""
    made = []
    for _ in range(connections):
        connection, transport = world.nodes._running[place_of(0)].connect(), FakeTransport()
        assert isinstance(connection, DaxConnection)
        connection.connection_made(transport)
        made.append((connection, transport))
    return made


def end_slowly(world: World, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """To end a connection takes a tenth of a slice. Returns how many have been ended in each turn of the loop."""
    ended = [0]
    abort = FakeTransport.abort

    def abort_slowly(transport: FakeTransport) -> None:
        world.clock.advance_all(VISIT_SECONDS_MAX / 10)
        if not ended[-1]:
            asyncio.get_running_loop().call_soon(ended.append, 0)
        ended[-1] += 1
        abort(transport)

    monkeypatch.setattr(FakeTransport, "abort", abort_slowly)
    return ended


@pytest.mark.parametrize("is_rebooted", [False, True])
def test_the_connections_of_a_node_that_stops_are_ended_in_several_turns(
    in_world: InWorld, *, is_rebooted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """12,000 connections of a node that was rebooted held all others up for 0.1 s."""

    async def test(world: World) -> None:
        await world.start()
        made = connected(world)
        ended = end_slowly(world, monkeypatch)
        if is_rebooted:
            await world.start()
        else:
            await world.nodes.stop(place_of(0))
        await until(lambda: all(transport.is_aborted for _, transport in made))
        assert max(ended) <= ENDED_TOGETHER
        assert sum(ended) == CONNECTIONS
        assert not world.nodes._clients.dax

    in_world(test)


def test_when_nodes_have_closed_all_connections_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        world = World()
        caches = await world.start()
        for key in range(2 * nodes.FREED_TOGETHER):
            caches.lru.put(key, b"", 0, 0.0)
        entries = caches.lru.entries
        made = connected(world)
        ended = end_slowly(world, monkeypatch)
        await world.nodes.close()
        assert all(transport.is_aborted for _, transport in made)
        assert max(ended) <= ENDED_TOGETHER
        assert not entries
        world.store.close_now()

    asyncio.run(test())


def test_a_node_that_has_stopped_answers_nobody(in_world: InWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither requests in work, nor those that come before a connection is ended, nor strangers."""

    async def test(world: World) -> None:
        await world.start()
        made = connected(world)
        strangers, known = made[:30], made[30:]
        date = datetime.fromtimestamp(world.clock.wall_time(), UTC).strftime("%Y%m%dT%H%M%SZ")
        request = request_bytes("endpoints")
        for connection, _ in known:
            connection.data_received(HANDSHAKE + authorization(date=date) + request)
        await until(lambda: all(transport.written for _, transport in known))
        replies = [transport.written for _, transport in made]
        for connection, _ in known[30:]:
            connection.data_received(request)
        end_slowly(world, monkeypatch)
        await world.nodes.stop(place_of(0))
        for connection, _ in known[:30]:
            connection.data_received(request)
        for connection, _ in strangers:
            connection.data_received(HANDSHAKE + request)
        assert not any(transport.is_aborted for _, transport in made)
        await until(lambda: all(transport.is_aborted for _, transport in made))
        assert [transport.written for _, transport in made] == replies

    in_world(test)


def test_slow_clients_of_a_crowd_are_ended_in_several_turns(in_world: InWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """12,000 clients that had said nothing for 10 s were ended in one step of 0.1 s."""
    monkeypatch.setattr(nodes, "SWEEP_SECONDS", 1e6)

    async def test(world: World) -> None:
        await world.start()
        made = connected(world)
        ended = end_slowly(world, monkeypatch)
        world.clock.advance_all(HEAD_SECONDS_MAX + 1)
        assert world.nodes._sweep is not None
        world.nodes._sweep.cancel()
        world.nodes._turn()
        await until(lambda: all(transport.is_aborted for _, transport in made))
        assert max(ended) <= ENDED_TOGETHER
        assert sum(ended) == CONNECTIONS

    in_world(test)


def test_what_many_nodes_have_kept_is_freed_in_turn(in_world: InWorld) -> None:
    """Each node freed 500 entries in each turn: 500 nodes that were emptied by a reset took 50 ms."""

    async def test(world: World) -> None:
        caches = [await world.start(number) for number in range(10)]
        for one in caches:
            for key in range(2 * nodes.FREED_TOGETHER):
                one.lru.put(key, b"", 0, 0.0)
        kept: list[OrderedDict[object, object]] = [one.lru.entries for one in caches]  # type: ignore[misc]
        world.nodes.forget()
        left = before = sum(map(len, kept))
        assert before == 20 * nodes.FREED_TOGETHER
        while left:
            await asyncio.sleep(0)
            before, left = left, sum(map(len, kept))
            assert before - left <= nodes.FREED_TOGETHER

    in_world(test)
