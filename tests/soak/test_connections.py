"""Many open connections and slow clients harm nobody: a share of them in `make test`, all of them in `make soak`."""

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from hashrange.server.connections import BODY_SECONDS_FREE
from tests.support.signing import sign
from tests.unit.server.harness import FrontEnd, as_bytes, reply

IS_SOAK = int(os.environ.get("HASHRANGE_SOAK", "0")) >= 1000
IDLE = 10_000 if IS_SOAK else 500
REQUESTS = 2_000 if IS_SOAK else 200
SLOW = 1_000 if IS_SOAK else 50
DRIPS = 200
"""Number of bytes that each slow client has sent when the test ends: less than a request."""
GIVEN_UP_SECONDS_MAX = 60.0

TABLE = {
    "TableName": "soak",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
KEY = {"TableName": "soak", "Key": {"pk": {"S": "a"}}}


class Client:
    """A client with a keep-alive connection."""

    def __init__(self, port: int) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def __call__(self, operation: str, request: dict[str, Any]) -> float:
        """Send a GetItem and return the seconds until the reply; fails unless it is a 200."""
        headers, body = signed(operation, request)
        started = time.perf_counter()
        self.connection.request("POST", "/", body, headers)
        answer = self.connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        return time.perf_counter() - started


def signed(operation: str, request: dict[str, Any]) -> tuple[dict[str, str], bytes]:
    """Headers and body of a request."""
    body = json.dumps(request).encode()
    headers = {
        "Host": "localhost",
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "Content-Length": str(len(body)),
    }
    return sign(headers, body, seconds=time.time()), body


FEW_DESCRIPTORS = 400
CROWD = 1_000
LARGE_TEXT = "x" * 40_000
"""A text of which some hundred fill a memtable, so that the engine opens files."""


@pytest.mark.parametrize("options", [[], ["--max-connections", "1000"]], ids=["default", "asked-for-more"])
def test_a_crowd_of_connections_leaves_the_engine_its_files(tmp_path: Path, options: list[str]) -> None:
    """A process that may open few files serves the first connections, refuses the others, and still stores writes."""
    resource = pytest.importorskip("resource", reason="Windows has no limit of open files")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CROWD + 500
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"this machine allows {hard} open files; {wanted} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    crowd: list[socket.socket] = []
    try:
        with run_server("--data-dir", str(tmp_path), *options, descriptors=FEW_DESCRIPTORS) as port:
            client = Client(port)
            client("CreateTable", TABLE)
            crowd += [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(CROWD)]
            refused = 0
            for number in range(300):
                client("PutItem", {"TableName": "soak", "Item": {"pk": {"S": str(number)}, "text": {"S": LARGE_TEXT}}})
            for waiting in crowd[200:]:
                with contextlib.suppress(ConnectionError):
                    refused += waiting.recv(65_536).startswith(b"HTTP/1.1 503 ")
            assert refused > (CROWD - 200) // 2
            headers, body = signed("GetItem", KEY)
            crowd[0].sendall(as_bytes(headers, body))
            assert crowd[0].recv(65_536).startswith(b"HTTP/1.1 200 OK\r\n")
            for waiting in crowd:
                waiting.close()
            client("GetItem", KEY)
            client.connection.close()
    finally:
        for waiting in crowd:
            waiting.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def port() -> Iterator[int]:
    """Port of a server in a process of its own, with one item; both processes may open enough files."""
    resource = pytest.importorskip("resource", reason="Windows has no limit of open files to raise")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = IDLE + 2_000
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"this machine allows {hard} open files; {wanted} are needed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        with run_server("--in-memory", "--max-connections", str(IDLE + 500)) as port:
            client = Client(port)
            client("CreateTable", TABLE)
            client("PutItem", {"TableName": "soak", "Item": KEY["Key"]})
            client.connection.close()
            yield port
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def run_server(*options: str, descriptors: int | None = None) -> Iterator[int]:
    """Port of a server in a process of its own, which may open at most this many files."""
    begin = "import sys; from hashrange.cli.main import main; sys.exit(main())"
    if descriptors is not None:
        begin = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({descriptors}, {descriptors})); {begin}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", begin, "serve", "--port", "0", *options],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert found
        yield int(found[1])
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0


def times_of(client: Client, count: int) -> list[float]:
    """Seconds of this many GetItems, sorted."""
    return sorted(client("GetItem", KEY) for _ in range(count))


def shown(seconds: list[float]) -> str:
    """The median and p99 as text, for people who read the log of a soak test."""
    return f"GetItem p50 {median(seconds) * 1e6:.0f} µs, p99 {seconds[len(seconds) * 99 // 100] * 1e6:.0f} µs"


def test_idle_connections_leave_getitem_alone_and_stay_usable(port: int) -> None:
    client = Client(port)
    alone = times_of(client, REQUESTS)
    headers, body = signed("GetItem", KEY)
    whole = as_bytes(headers, body)
    idle = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(IDLE)]
    try:
        beside = times_of(client, REQUESTS)
        print(f"\nalone: {shown(alone)}; beside {IDLE} idle connections: {shown(beside)}")
        for waiting in idle[:: max(1, IDLE // 100)]:
            waiting.sendall(whole)
            assert waiting.recv(65_536).startswith(b"HTTP/1.1 200 OK\r\n")
    finally:
        client.connection.close()
        for waiting in idle:
            waiting.close()


def test_clients_that_send_byte_after_byte_leave_getitem_alone(port: int) -> None:
    """Each slow client sends a byte between two requests of others; after its last byte it gets its answer."""
    client = Client(port)
    headers, body = signed("GetItem", KEY)
    whole = as_bytes(headers, body)
    assert len(whole) > DRIPS
    slow = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(SLOW)]
    try:
        for position in range(DRIPS):
            for dripping in slow:
                dripping.sendall(whole[position : position + 1])
            client("GetItem", KEY)
        for dripping in slow[::2]:
            dripping.sendall(whole[DRIPS:])
            assert dripping.recv(65_536).startswith(b"HTTP/1.1 200 OK\r\n")
        times = times_of(client, REQUESTS)
        print(f"\nbeside {SLOW // 2} unfinished requests: {shown(times)}")
    finally:
        client.connection.close()
        for dripping in slow:
            dripping.close()


def test_a_byte_a_second_holds_a_connection_for_a_bounded_time() -> None:
    """On a virtual clock: a thousand slow clients, half of them sending a head, half a body, and one fast client."""
    front = FrontEnd(connections_max=5_000)
    whole = front.request(b'{"TableName":"music","Filler":"' + b"x" * 1000 + b'"}')
    body_from = whole.index(b"\r\n\r\n") + 4
    slow = [front.connect() for _ in range(1000)]
    for connection, _ in slow[500:]:
        connection.data_received(whole[:body_from])
    seconds = 0
    while front.connections.open:
        for number, (connection, transport) in enumerate(slow):
            if transport.is_closed:
                if connection in front.connections.open:
                    connection.connection_lost(None)
            elif not transport.written:
                position = seconds if number < 500 else body_from + seconds
                connection.data_received(whole[position : position + 1])
        assert reply(front.ask(front.request())).status == 200
        front.clock.advance_all(1)
        front.connections.sweep()
        seconds += 1
        assert seconds < GIVEN_UP_SECONDS_MAX
    assert seconds > BODY_SECONDS_FREE
    assert all(reply(transport.take()).status == 408 for _, transport in slow)
