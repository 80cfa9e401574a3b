"""`hashrange mcp --http`: who is let in, and how it ends."""

import asyncio
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from hashrange.cli.main import INTERRUPTED
from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database
from tests.unit.init.folders import USERS

ENVIRONMENT = {"PYTHONPATH": os.pathsep.join(sys.path)}
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0)) as database:
        database.client().create_table(**USERS)
        yield database


class HttpTools:
    """`hashrange mcp --http 0`."""

    def __init__(self, endpoint: str, *words: str) -> None:
        command = [sys.executable, "-m", "hashrange", "mcp", "--endpoint", endpoint, "--http", "0", *words]
        environment = {**os.environ, **ENVIRONMENT}
        self.process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"(http://127\.0\.0\.1:\d+)/mcp(?: with the token (\S+))?", line)
        assert found, line
        self.origin, self.token = found[1], found[2]

    def post(self, headers: dict[str, str]) -> int:
        """The status of a first message with these headers."""
        with contextlib.closing(self.send("initialize", CLIENT, headers)) as connection:
            return connection.getresponse().status

    def send(self, method: str, members: dict[str, Any], headers: dict[str, str]) -> http.client.HTTPConnection:
        """The connection on which a message has been sent."""
        connection = http.client.HTTPConnection(self.origin.removeprefix("http://"))
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": members})
        kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        connection.request("POST", "/mcp", body, kinds | headers)
        return connection

    def is_listening(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", int(self.origin.rpartition(":")[2]))).close()
        except OSError:
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.communicate()


def test_http(database: Database) -> None:
    import httpx2  # imported here: that takes each test process half a second
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async def talk(tools: HttpTools) -> Any:
        headers = {"Authorization": f"Bearer {tools.token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http_client,
            Client(streamable_http_client(f"{tools.origin}/mcp", http_client=http_client)) as client,
        ):
            return (await client.call_tool("list_tables", {})).structured_content

    with HttpTools(database.endpoint) as tools:
        assert asyncio.run(talk(tools))["tables"] == ["Users"]
        known = {"Authorization": f"Bearer {tools.token}"}
        assert tools.post(known) == 200
        assert tools.post({}) == 401
        assert tools.post({"Authorization": f"Bearer {tools.token}x"}) == 401
        assert tools.post({"Authorization": tools.token}) == 401
        assert tools.post(known | {"Host": "evil.example"}) in {400, 421}
        assert tools.post(known | {"Origin": "http://evil.example"}) == 403


@pytest.mark.skipif(os.name == "nt", reason="there, a signal cannot be sent to one process")
def test_a_second_interrupt_waits_for_no_server_that_hangs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        endpoint = f"http://127.0.0.1:{hanging.getsockname()[1]}"
        with HttpTools(endpoint) as tools:
            known = {"Authorization": f"Bearer {tools.token}"}
            with contextlib.closing(tools.send("initialize", CLIENT, known)) as first:
                assert (
                    "Mcp-Session-Id" not in first.getresponse().headers
                )  # a session would keep memory, which no tool needs
            call = tools.send("tools/call", {"name": "list_tables"}, known)
            accepted, _ = hanging.accept()
            with accepted:
                assert accepted.recv(10)
                tools.process.send_signal(signal.SIGINT)
                while tools.is_listening():
                    pass
                tools.process.send_signal(signal.SIGINT)
                assert tools.process.wait(timeout=30) == INTERRUPTED
            call.close()


def test_the_token_is_that_of_a_file(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("a-token-of-some-length\n", encoding="utf-8")
    with HttpTools(database.endpoint, "--token-file", str(path)) as tools:
        assert tools.token is None
        assert tools.post({"Authorization": "Bearer a-token-of-some-length"}) == 200
        assert tools.post({"Authorization": "Bearer another"}) == 401
