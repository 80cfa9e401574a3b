"""What clients have begun and left behind ends with the server: forks of forks, resets, snapshots, advances."""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from hashrange.server import copies, listener
from hashrange.server.copies import _Fork
from hashrange.server.listener import Server
from hashrange.server.protocols.admin import clock
from hashrange.server.protocols.admin import copies as endpoints_of_copies
from hashrange.service import opening
from tests.support.waiting import PATIENCE_SECONDS, until
from tests.unit.faults.sockets import admin
from tests.unit.server.test_ended_forks import play

__all__ = ["play"]


class Gate:
    """Holds up the calls of a function, until it is open."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.reached = asyncio.Event()
        self.is_open = asyncio.Event()
        self.ended = 0

    async def __call__(self, *arguments: Any) -> Any:
        self.reached.set()
        await self.is_open.wait()
        result = await self.function(*arguments)
        self.ended += 1
        return result


@contextmanager
def noted_endpoints(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The endpoints at which servers have listened inside of the block."""
    endpoints: list[str] = []
    listen = Server.listen

    async def noted(server: Server) -> str:
        endpoint = await listen(server)
        endpoints.append(endpoint)
        return endpoint

    with monkeypatch.context() as patched:
        patched.setattr(Server, "listen", noted)
        yield endpoints


async def ask_and_leave(fork: _Fork, content: bytes, gate: Gate) -> None:
    """Send a fork a request, and leave with a reset once it has begun."""
    port = urlsplit(fork.endpoint).port
    assert port is not None
    client = await asyncio.to_thread(socket.create_connection, ("127.0.0.1", port), PATIENCE_SECONDS)
    with client:
        client.sendall(content)
        await gate.reached.wait()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await until(lambda: not fork.server.connections.open)  # type: ignore[attr-defined]


async def end_meanwhile(server: Server, port: int, gate: Gate) -> None:
    """End a fork, and open the gate once it accepts nobody any more."""
    connections = server.forks._open[port].server.connections  # type: ignore[attr-defined]
    ending = asyncio.ensure_future(server.forks.end(port))
    await until(lambda: connections.is_stopping)
    gate.is_open.set()
    assert await ending


def require_nobody_listens(endpoints: list[str]) -> None:
    for endpoint in endpoints:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", urlsplit(endpoint).port or 0), PATIENCE_SECONDS)


@pytest.mark.parametrize("stop_seconds", [0.0, PATIENCE_SECONDS])
@pytest.mark.parametrize("is_on_disk", [False, True])
def test_a_fork_of_a_fork_that_starts_while_this_ends_is_ended(
    play: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    is_on_disk: bool,
    stop_seconds: float,
) -> None:
    monkeypatch.setattr(listener, "STOP_SECONDS_MAX", stop_seconds)

    async def scenario(server: Server, port: int) -> None:
        outer = await server.forks.start(None)
        gate = Gate(opening.open_fork)
        monkeypatch.setattr(copies, "open_fork", gate)
        with noted_endpoints(monkeypatch) as endpoints:
            await ask_and_leave(server.forks._open[outer], admin("POST", "forks"), gate)
            await end_meanwhile(server, outer, gate)
        assert len(endpoints) == gate.ended == 1
        require_nobody_listens(endpoints)

    play(scenario, tmp_path / "data" if is_on_disk else None)
    assert not is_on_disk or not list((tmp_path / "data" / "copies").glob("*"))
    assert caplog.records == []


def test_a_fork_of_a_fork_that_ends_while_this_ends_is_waited_for(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listener, "STOP_SECONDS_MAX", 0.0)

    async def scenario(server: Server, port: int) -> None:
        outer = await server.forks.start(None)
        fork = server.forks._open[outer]
        forks: copies.Forks = fork.server.forks  # type: ignore[attr-defined]
        inner = await forks.start(None)
        gate = Gate(forks._open[inner].server.stop)
        vars(forks._open[inner].server)["stop"] = gate
        await ask_and_leave(fork, admin("DELETE", f"forks/{inner}"), gate)
        await end_meanwhile(server, outer, gate)
        assert gate.ended == 1

    play(scenario)
    assert caplog.records == []


@pytest.mark.parametrize(
    ("module", "function", "path"),
    [
        (endpoints_of_copies, "reset_service", "reset"),
        (endpoints_of_copies, "take_snapshot", "snapshots"),
        (clock, "advance", "clock/advance"),
    ],
)
@pytest.mark.parametrize("stop_seconds", [0.0, PATIENCE_SECONDS])
def test_what_was_begun_has_ended_or_is_let_go(
    play: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    module: Any,
    function: str,
    path: str,
    stop_seconds: float,
) -> None:
    """A fork waits for it as long as for the requests of clients that have stayed."""
    monkeypatch.setattr(listener, "STOP_SECONDS_MAX", stop_seconds)

    async def scenario(server: Server, port: int) -> None:
        outer = await server.forks.start(None)
        gate = Gate(getattr(module, function))
        monkeypatch.setattr(module, function, gate)
        await ask_and_leave(
            server.forks._open[outer], admin("POST", path, seconds=1) if "/" in path else admin("POST", path), gate
        )
        if stop_seconds:
            await end_meanwhile(server, outer, gate)
        else:
            await server.forks.end(outer)
            gate.is_open.set()
            await asyncio.sleep(0)
        assert gate.ended == (1 if stop_seconds else 0)

    play(scenario)
    assert caplog.records == []
