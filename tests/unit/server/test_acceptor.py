"""Many clients that connect together are accepted in few turns of the loop, on both loops, and none is lost."""

import asyncio
import socket
from collections.abc import Callable

from hashrange.server.listener import Server
from tests.support.waiting import until
from tests.unit.server.harness import StubStore, reply
from tests.unit.server.listening import play as play  # noqa: PLC0414 - a fixture
from tests.unit.server.listening import request_bytes

CLIENTS = 200


def connect(port: int) -> socket.socket:
    client = socket.socket()
    client.setblocking(False)
    client.connect_ex(("127.0.0.1", port))
    return client


def test_a_crowd_is_accepted_in_few_turns(play: Callable[..., None]) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        clients = [connect(port) for _ in range(CLIENTS)]
        turns = 0
        while len(server.connections.open) < CLIENTS:
            await asyncio.sleep(0)
            turns += 1
        assert turns < CLIENTS / 3
        for client in clients:
            client.sendall(request_bytes())
        for client in clients:
            data = await asyncio.get_running_loop().sock_recv(client, 65_536)
            assert reply(data).status == 200
            client.close()

    play(scenario)


def test_clients_that_left_before_they_were_accepted_are_forgotten(play: Callable[..., None]) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        for client in [connect(port) for _ in range(CLIENTS)]:
            client.close()
        with socket.create_connection(("127.0.0.1", port)) as last:
            last.setblocking(False)
            last.sendall(request_bytes())
            data = await asyncio.get_running_loop().sock_recv(last, 65_536)
            assert reply(data).status == 200
        await until(lambda: not server.connections.open)

    play(scenario)


def test_nothing_is_accepted_after_the_end(play: Callable[..., None]) -> None:
    async def scenario(server: Server, store: StubStore, port: int) -> None:
        client = connect(port)
        await until(lambda: bool(server.connections.open))
        client.close()
        await server.stop()
        with socket.socket() as late:
            assert late.connect_ex(("127.0.0.1", port)) != 0

    play(scenario)
