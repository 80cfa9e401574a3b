"""How quick is DAX? `python -m benchmarks.dax`: reads that a node's cache knows, strongly consistent ones, and writes,
over sockets, by a generator in a process of its own.

`--client` measures GetItem through amazon-dax-client too, for which PYTHON is a Python that has it.

Measured on a shared machine with two cores: a hit takes 10 to 12 µs of the server's CPU, a read that passes through
23 to 25, a PutItem of an item without further attributes 40. With one connection the median is 15, 30 and 44 µs,
and with 16, 233 µs for a hit. The client in Python sees 84 µs.
"""

import argparse
import os
import re
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import boto3

from benchmarks.dax_bytes import IDS, as_bytes, hello
from benchmarks.tables import number, table
from hashrange.wire.dax.writing import NULL, TRUE, head, write_integer

ITEMS, ITEM_BYTES = 1_000, 1_000
READS, WRITES = 30_000, 10_000
REGION, TABLE = "eu-west-1", "music"
CLIENT = """
import sys, time, botocore.session
from amazondax import AmazonDaxClient
session = botocore.session.Session()
session.set_credentials("AKIDEXAMPLE", "secret")
dax = AmazonDaxClient(session, region_name="eu-west-1", endpoint_url=sys.argv[1])
took = []
for place in range(5_000):
    began = time.perf_counter()
    dax.get_item(TableName="music", Key={"pk": {"S": f"key-{place % 1_000}"}})
    took.append(time.perf_counter() - began)
print(sorted(took)[len(took) // 2] * 1e6)
"""


class Measured(NamedTuple):
    """What was measured of one kind of request."""

    median_us: float
    slow_us: float
    """99 of 100 requests took less."""
    rate: float
    cpu_us: float
    """CPU time of the server for each request."""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", metavar="PYTHON", help="a Python that has amazon-dax-client")
    options = parser.parse_args()
    with dax_server() as server:
        for place in range(ITEMS):
            item = {"pk": {"S": f"key-{place}"}, "text": {"S": "x" * ITEM_BYTES}}
            server.dynamodb.put_item(TableName=TABLE, Item=item)
        rows = []
        for connections in (1, 16):
            for name, requests, count in kinds():
                found = measure(server, requests, connections, count)
                rows.append([name, str(connections), *map(number, found)])
        print(table(["request", "connections", "median, µs", "99 %, µs", "a second", "server's CPU, µs"], rows))
        if options.client:
            ran = subprocess.run([options.client, "-c", CLIENT, server.dax], capture_output=True, text=True, check=True)
            print(f"GetItem through amazon-dax-client, a hit: median {float(ran.stdout):.0f} µs")
    return 0


class DaxServer(NamedTuple):
    """A server with a cluster of one node, and an empty table."""

    pid: int
    dax: str
    """Such as dax://127.0.0.1:8111."""
    dynamodb: Any
    """A boto3 client."""

    def connect(self) -> socket.socket:
        """An authorized connection to the node."""
        connection = socket.create_connection(("127.0.0.1", int(self.dax.rpartition(":")[2])))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(hello(REGION))
        return connection


@contextmanager
def dax_server() -> Iterator[DaxServer]:
    """Start one in memory, and end it."""
    command = [sys.executable, "-m", "hashrange", "serve", "--in-memory", "--port", "0", "--dax-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            endpoint, *_, dax = re.findall(r"(?:http|dax)://[\d.]+:\d+", server.stdout.readline())
            client = boto3.client(
                "dynamodb",
                endpoint_url=endpoint,
                region_name=REGION,
                aws_access_key_id="AKIDEXAMPLE",
                aws_secret_access_key="x",
            )
            client.create_table(
                TableName=TABLE,
                KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )
            yield DaxServer(server.pid, dax, client)
        finally:
            server.terminate()


def kinds() -> list[tuple[str, Sequence[bytes], int]]:
    """Name, requests and their number of each kind."""
    consistent = head(5, 1) + head(0, 2) + TRUE
    item = bytearray(head(0, 1))
    return [
        ("GetItem, a hit", [request("getItem", place, NULL) for place in range(ITEMS)], READS),
        ("GetItem, passed through", [request("getItem", place, consistent) for place in range(ITEMS)], READS),
        ("PutItem", [request("putItem", place, as_bytes(bytes(item)) + NULL) for place in range(ITEMS)], WRITES),
    ]


def request(method: str, place: int, rest: bytes) -> bytes:
    """A request for one item."""
    out = bytearray(head(0, 1))
    write_integer(out, IDS[method])
    return bytes(out) + as_bytes(TABLE.encode()) + as_bytes(f"key-{place}".encode()) + rest


def measure(server: DaxServer, requests: Sequence[bytes], connections: int, count: int) -> Measured:
    """Send so many requests over some connections, one at a time on each."""
    selector = selectors.DefaultSelector()
    began = [0.0] * connections
    for place in range(connections):
        selector.register(server.connect(), selectors.EVENT_READ, place)
    took: list[float] = []
    cpu_seconds, begin_seconds, sent = cpu_of(server.pid), time.perf_counter(), 0
    for key in list(selector.get_map().values()):
        began[key.data] = time.perf_counter()
        cast(socket.socket, key.fileobj).sendall(requests[sent % len(requests)])
        sent += 1
    while len(took) < count:
        for key, _ in selector.select():
            connection = cast(socket.socket, key.fileobj)
            connection.recv(1 << 16)
            took.append(time.perf_counter() - began[key.data])
            began[key.data] = time.perf_counter()
            connection.sendall(requests[sent % len(requests)])
            sent += 1
    passed, cpu = time.perf_counter() - begin_seconds, cpu_of(server.pid) - cpu_seconds
    for key in list(selector.get_map().values()):
        key.fileobj.close()  # type: ignore[union-attr]
    took.sort()
    return Measured(
        took[len(took) // 2] * 1e6, took[len(took) * 99 // 100] * 1e6, len(took) / passed, cpu / len(took) * 1e6
    )


def cpu_of(pid: int) -> float:
    """CPU time that a process has used, in seconds; Linux only."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
