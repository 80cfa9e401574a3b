"""Handshakes with an encrypted node take turns with those of HTTPS."""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hashrange.clock import SystemClock
from hashrange.operations.registry import OPERATIONS
from hashrange.server import handshakes
from hashrange.server.app import run_on_best_loop
from hashrange.server.listener import Server, read_secrets
from hashrange.service import collector
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from tests.support.dax_client import HANDSHAKE, authorization, request_bytes
from tests.support.waiting import PATIENCE_SECONDS, until
from tests.unit.server.listening import close
from tests.unit.server.test_handshakes import CROWD, FILES, Client, crowd, hellos_in_turn

Scenario = Callable[[Server, int], Awaitable[None]]


@pytest.fixture(params=[run_on_best_loop, asyncio.run], ids=["best-loop", "asyncio"])
def play(request: pytest.FixtureRequest) -> Callable[[Scenario], None]:
    """play(scenario): runs the scenario with a server and the port of its encrypted node."""

    async def serve(scenario: Scenario) -> None:
        settings: Any = Settings(data_dir=None, port=0, dax_port=0, **FILES)  # type: ignore[arg-type]
        store = open_store(None, SystemClock(), asyncio.get_running_loop())
        server = Server(Service(store, OPERATIONS, SystemClock(), settings), read_secrets(settings))
        await server.start()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await scenario(server, int(str(server.dax_endpoint).rpartition(":")[2]))
        finally:
            await server.stop()
            await store.close()

    return lambda scenario: request.param(serve(scenario))


def test_a_crowd_shakes_hands_one_a_turn(play: Callable[[Scenario], None], monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(server: Server, port: int) -> None:
        pairs = await hellos_in_turn(server, port, monkeypatch)
        assert len(server.connections.dax) == CROWD
        for _, writer in pairs:
            await close(writer)
        await until(lambda: not server.connections.dax)

    play(scenario)


def test_the_collector_rests_while_clients_of_nodes_or_handshakes_are_connected(
    play: Callable[[Scenario], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It examined all objects while no client of HTTP was connected, whatever the others waited for."""
    monkeypatch.setattr(collector, "_counters", [])

    async def scenario(server: Server, port: int) -> None:
        (count,) = collector._counters
        assert count() == 0
        client = Client()
        ((reader, writer),) = await crowd(port, [client.hello()])
        await until(lambda: count() == 1)
        writer.write(
            await client.answer(reader) + client.encrypt(HANDSHAKE + authorization() + request_bytes("endpoints"))
        )
        assert await client.read(reader, 1)
        assert count() == 1
        await close(writer)
        await until(lambda: count() == 0)
        assert server._listener is not None
        ((_, writer),) = await crowd(server._listener.sockets[0].getsockname()[1], [b""])
        await until(lambda: count() == 1)
        assert not server.connections.open
        await close(writer)
        await until(lambda: count() == 0)

    play(scenario)
    assert collector._counters == []


@pytest.mark.parametrize("end", ["of TLS", "of TCP"])
def test_a_request_that_comes_with_the_last_flight_is_answered(play: Callable[[Scenario], None], end: str) -> None:
    async def scenario(server: Server, port: int) -> None:
        client = Client()
        ((reader, writer),) = await crowd(port, [client.hello()])
        request = HANDSHAKE + authorization() + request_bytes("endpoints")
        writer.write(await client.answer(reader) + client.encrypt(request))
        assert await client.read(reader, 1)
        if end == "of TLS":
            with contextlib.suppress(ssl.SSLWantReadError):
                client.tls.unwrap()
            writer.write(client.outgoing.read())
        writer.write_eof()
        await until(lambda: not server.connections.dax)
        await close(writer)

    play(scenario)


@pytest.mark.parametrize("first", [b"", b"\x16", b"GET / HTTP/1.1\r\n\r\n"])
def test_who_does_not_say_hello_counts_and_is_cut_off(
    play: Callable[[Scenario], None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, first: bytes
) -> None:
    async def scenario(server: Server, port: int) -> None:
        silent = await crowd(port, [b""])
        await until(lambda: len(server.connections.dax) == 1)
        monkeypatch.setattr(handshakes, "HANDSHAKE_SECONDS_MAX", 0.01)
        ((reader, writer),) = await crowd(port, [first])
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        assert len(server.connections.dax) == 1
        await close(writer)
        await close(silent[0][1])

    play(scenario)
    assert not caplog.messages
