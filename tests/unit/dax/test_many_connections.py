"""The connections of a node that has very many are ended in several turns, and nobody is answered meanwhile."""

import asyncio
from collections import OrderedDict
from datetime import UTC, datetime

import pytest

from hashrange.server.connections import HEAD_SECONDS_MAX, VISIT_SECONDS_MAX
from hashrange.server.dax import nodes
from hashrange.server.dax.begun_bytes import HELD_BYTES_MIN
from hashrange.server.dax.connection import DaxConnection
from tests.support.dax_client import HANDSHAKE, authorization, request_bytes
from tests.support.waiting import until
from tests.support.working import calls_of, lines_of
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


@pytest.mark.parametrize("report", ["end", "end of TCP", "loss"])
def test_the_reports_of_a_killed_clients_connections_are_short(in_world: InWorld, report: str) -> None:
    """Thousands come in one step of the loop. What follows from them comes in slices of later turns."""

    async def test(world: World) -> None:
        await world.start()
        clients, begun = world.nodes._clients, world.nodes._begun.strangers
        clients.take_turns(asyncio.get_running_loop())
        made, ended = connected(world, 2), list[bool]()
        for connection, _ in made:
            connection.data_received(HANDSHAKE[:5])
        assert begun.size_bytes
        for number, (connection, transport) in enumerate(made):
            if report == "end":
                calls = calls_of(connection.eof_received)  # one of them is the transport's
            elif report == "end of TCP":
                calls = calls_of(connection.note_end_of_tcp, lambda: ended.append(True))
            else:
                transport.close()
                calls = calls_of(connection.connection_lost, None)
                assert connection.is_over
                assert connection not in clients.dax
            assert number == 0 or calls <= 3
            assert transport.is_closed == (report == "loss")
        assert begun.size_bytes
        await until(lambda: all(transport.is_closed for _, transport in made) and not clients.lost)
        assert ended == [True, True] * (report == "end of TCP")
        for connection, _ in made:
            connection.connection_lost(None)
        await until(lambda: not begun.size_bytes)
        assert not clients.dax

    in_world(test)


def test_a_lost_connection_that_holds_most_is_released_for_others(in_world: InWorld) -> None:
    """It is not released yet: the one that goes for another must hold nothing behind that."""

    async def test(world: World) -> None:
        await world.start()
        clients, begun = world.nodes._clients, world.nodes._begun.strangers
        clients.lost.take_turns(lambda _: None)
        begun.limit_bytes = HELD_BYTES_MIN
        (lost, its_transport), (other, transport) = connected(world, 2)
        lost.data_received(HANDSHAKE[:5])
        its_transport.close()
        lost.connection_lost(None)
        other.data_received(HANDSHAKE[:5])
        assert begun.size_bytes == HELD_BYTES_MIN
        assert not transport.is_aborted

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


def test_content_that_is_replaced_looks_at_no_connection(in_world: InWorld) -> None:
    """Each of 12,000 connections was asked for its account, at once."""

    async def test(world: World) -> None:
        await world.start()
        date = datetime.fromtimestamp(world.clock.wall_time(), UTC).strftime("%Y%m%dT%H%M%SZ")
        made, lines = list[DaxConnection](), list[int]()
        for _ in range(2):
            for connection, _ in connected(world):
                connection.data_received(HANDSHAKE + authorization(date=date))
                made.append(connection)
            await until(lambda: all(connection.client.scope is not None for connection in made))
            lines.append(lines_of(world.nodes.forget))
        assert lines[1] <= lines[0]
        account = made[0].account
        assert world.nodes._lists._kept == {account}
        for connection in made[1:]:
            connection.connection_lost(None)
        world.nodes.forget()
        assert world.nodes._lists._kept == {account}
        made[0].abort()
        world.nodes.forget()
        assert not world.nodes._lists._kept

    in_world(test)
