"""What comes and goes leaves no memory behind: forks, resets, restores, tables, functions,
mappings, clusters, connections.

A client stays connected all the time, because a server examines its memory when nobody is. `make test` runs a share.
"""

import base64
import http.client
import io
import json
import os
import random
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.serving import ServerProcess
from tests.support.signing import sign
from tests.support.waiting import PATIENCE_SECONDS, wait_until

IS_SOAK = int(os.environ.get("HASHRANGE_SOAK", "0")) >= 1000
WARM_UP, ROUNDS = (20, 300) if IS_SOAK else (1, 4)
"""Rounds of which each has everything, in any order."""
FORKS = 8
"""Forks in each round: they are what test suites make most of."""
LEFT_KB_MAX = 16_000 if IS_SOAK else 4_000
"""Memory that the server may have taken in all ROUNDS: caches fill, and the heap has holes."""
SEED = 48
KEPT_TABLES = 20
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
PREFIXES = {"dynamodb": "DynamoDB_20120810", "dax": "AmazonDAXV3", "monitoring": "GraniteServiceVersion20100801"}
ROLE = "arn:aws:iam::000000000000:role/anything"
FUNCTIONS, MAPPINGS = "/2015-03-31/functions", "/2015-03-31/event-source-mappings"


class Client:
    """A client with a keep-alive connection."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)

    def admin(self, method: str, path: str) -> Any:
        return self._send(method, f"/_hashrange/v1/{path}", b"", {})

    def __call__(self, operation: str, members: Any, service: str = "dynamodb") -> Any:
        target = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"{PREFIXES[service]}.{operation}"}
        return self._signed("POST", "/", members, service, target)

    def functions(self, method: str, path: str, members: Any = None) -> Any:
        return self._signed(method, path, members, "lambda", {"Content-Type": "application/json"})

    def _signed(self, method: str, path: str, members: Any, service: str, more: dict[str, str]) -> Any:
        body = b"" if members is None else json.dumps(members).encode()
        headers = {"Host": f"127.0.0.1:{self.port}", **more}
        return self._send(
            method, path, body, sign(headers, body, seconds=time.time(), service=service, method=method, path=path)
        )

    def _send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Any:
        self.connection.request(method, path, body, headers)
        reply = self.connection.getresponse()
        content = reply.read()
        assert reply.status < 300, content
        return json.loads(content or b"null")


class Comings:
    """One method for each thing that comes and goes."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.refill()

    def refill(self) -> None:
        """Make the content that is there all the time."""
        for number in range(KEPT_TABLES):
            self.make_table(f"kept{number}")
        self.make_table("followed", StreamSpecification=STREAM)
        self.make_function("follow")

    def make_table(self, name: str, **members: Any) -> None:
        attribute = {"AttributeName": "id", "AttributeType": "S"}
        keys = [{"AttributeName": "id", "KeyType": "HASH"}]
        terms = {"AttributeDefinitions": [attribute], "KeySchema": keys, "BillingMode": "PAY_PER_REQUEST"}
        self.client("CreateTable", {"TableName": name, **terms, **members})

    def make_function(self, name: str) -> None:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("app.py", "def handler(event, context):\n    return 1\n")
        code = {"ZipFile": base64.b64encode(file.getvalue()).decode()}
        python = f"python3.{sys.version_info.minor}"
        members = {"FunctionName": name, "Runtime": python, "Role": ROLE, "Handler": "app.handler", "Code": code}
        self.client.functions("POST", FUNCTIONS, members)

    def put(self, table: str, client: Client | None = None) -> None:
        (client or self.client)("PutItem", {"TableName": table, "Item": {"id": {"S": "a"}, "text": {"S": "x" * 1_000}}})

    def fork(self) -> None:
        port = self.client.admin("POST", "forks")["port"]
        used = Client(port)
        self.put("kept1", used)
        used("PutMetricData", {"Namespace": "n", "MetricData": [{"MetricName": "m", "Value": 1.0}]}, "monitoring")
        used("Scan", {"TableName": "kept1"})
        self.client.admin("DELETE", f"forks/{port}")
        used.connection.close()

    def restore(self) -> None:
        number = self.client.admin("POST", "snapshots")["snapshot"]
        self.put("kept2")
        self.client.admin("POST", f"snapshots/{number}/restore")
        self.client.admin("DELETE", f"snapshots/{number}")

    def reset(self) -> None:
        self.client.admin("POST", "reset")
        self.refill()

    def table(self) -> None:
        self.make_table("come", GlobalSecondaryIndexes=[_index()], AttributeDefinitions=_attributes())
        self.put("come")
        self.client("Scan", {"TableName": "come"})
        self.client("DeleteTable", {"TableName": "come"})

    def function(self) -> None:
        self.make_function("come")
        self.client.functions("DELETE", f"{FUNCTIONS}/come")

    def mapping(self) -> None:
        arn = self.client("DescribeTable", {"TableName": "followed"})["Table"]["LatestStreamArn"]
        members = {"FunctionName": "follow", "EventSourceArn": arn, "StartingPosition": "TRIM_HORIZON"}
        uuid = self.client.functions("POST", MAPPINGS, members)["UUID"]
        self.client.functions("DELETE", f"{MAPPINGS}/{uuid}")
        wait_until(lambda: not self.client.functions("GET", MAPPINGS)["EventSourceMappings"])

    def cluster(self) -> None:
        members = {"ClusterName": "come", "NodeType": "dax.r5.large", "ReplicationFactor": 2, "IamRoleArn": ROLE}
        self.client("CreateCluster", members, "dax")
        wait_until(lambda: self.clusters()[0]["Status"] == "available")
        self.client("DeleteCluster", {"ClusterName": "come"}, "dax")
        wait_until(lambda: not self.clusters())

    def clusters(self) -> Any:
        return self.client("DescribeClusters", {}, "dax")["Clusters"]

    def connection(self) -> None:
        others = [Client(self.client.port) for _ in range(5)]
        for one in others:
            one("ListTables", {})
        for one in others:
            one.connection.close()


def _index() -> dict[str, Any]:
    return {
        "IndexName": "by-text",
        "KeySchema": [{"AttributeName": "text", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }


def _attributes() -> list[dict[str, str]]:
    return [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "text")]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(None, "--admin", "--functions", "--table-state-delay", "0", log=tmp_path / "log")
    yield process
    process.stop()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the memory of a process is read from /proc")
def test_what_comes_and_goes_leaves_no_memory_behind(server: ServerProcess) -> None:
    client = Client(server.port)
    comings = Comings(client)
    kinds: list[Callable[[], None]] = [
        *[comings.fork] * FORKS,
        comings.restore,
        comings.reset,
        comings.table,
        comings.function,
        comings.mapping,
        comings.cluster,
        comings.connection,
    ]
    order = random.Random(SEED)
    before_kb = descriptors = 0
    for number in range(WARM_UP + ROUNDS):
        if number == WARM_UP:
            before_kb, descriptors = resident_kb(server), open_files(server)
        for come_and_go in order.sample(kinds, len(kinds)):
            come_and_go()
    left_kb = resident_kb(server) - before_kb
    client.connection.close()
    print(f"{ROUNDS} rounds left {left_kb} KB")
    assert left_kb < LEFT_KB_MAX
    assert open_files(server) < descriptors + 40


def resident_kb(server: ServerProcess) -> int:
    """Resident memory of the server's process."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def open_files(server: ServerProcess) -> int:
    """Number of open file descriptors of the server's process."""
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))
