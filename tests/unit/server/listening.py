"""A started server and a client of it over real sockets, on both event loops."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hashrange.clock import SystemClock
from hashrange.server.app import run_on_best_loop
from hashrange.server.listener import Server, read_secrets
from hashrange.service.service import Service
from hashrange.settings import Settings
from tests.support.signing import sign
from tests.support.waiting import PATIENCE_SECONDS
from tests.unit.server.harness import ECHO_OPERATIONS, Parsed, StubStore, as_bytes, reply

TLS = Path(__file__).parents[2] / "data" / "tls"
Scenario = Callable[[Server, StubStore, int], Awaitable[None]]


def run_on_asyncio(main: Any) -> None:
    """Run on asyncio's own event loop."""
    asyncio.run(main)


@pytest.fixture(params=[run_on_best_loop, run_on_asyncio], ids=["best-loop", "asyncio"])
def play(request: pytest.FixtureRequest) -> Callable[..., None]:
    """play(scenario, **settings): runs the scenario against a started server."""

    async def serve(scenario: Scenario, settings: Settings) -> None:
        store = StubStore()
        real_store: Any = store
        server = Server(Service(real_store, ECHO_OPERATIONS, SystemClock(), settings), read_secrets(settings))
        endpoint = await server.start()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await scenario(server, store, int(endpoint.rpartition(":")[2]))
        finally:
            await server.stop()

    def run(scenario: Scenario, **settings: Any) -> None:
        request.param(serve(scenario, Settings(port=0, data_dir=None, **settings)))

    return run


def request_bytes(operation: str = "GetItem", body: bytes = b'{"TableName":"music"}') -> bytes:
    """A signed request."""
    headers = {
        "Host": "localhost",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "Content-Length": str(len(body)),
    }
    return as_bytes(sign(headers, body, seconds=SystemClock.wall_time()), body)


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes | None = None) -> Parsed:
    """Send a request (a signed GetItem by default) and read one reply."""
    writer.write(request_bytes() if data is None else data)
    return await read_reply(reader)


async def read_reply(reader: asyncio.StreamReader) -> Parsed:
    """Read the next complete reply."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    return reply(head + await reader.readexactly(length))


async def close(writer: asyncio.StreamWriter) -> None:
    """Close the connection, and return once the server has noticed."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
