"""One server per kind of store for the whole conformance suite, and clients of it.

Every test runs over the embedded store and again over the suspending one, whose eventually consistent reads may
return old data: a test that reads its own writes uses consistent reads.
Global indexes have none: a test first calls `propagation.propagated`. Tests that need only a boto3 client run once more
without a socket (`hashrange.testing`); `sockets.txt` names the others.

`pytest tests/conformance --endpoint URL` runs the suite against another server, with the environment's AWS credentials
and Region if they are set.
"""

import os
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

import boto3
import pytest
from botocore.config import Config

from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from hashrange.testing.botocore_transport import Transport
from tests.conformance.item_tables import DataTable, make_table
from tests.conformance.propagation import PROPAGATE
from tests.support import signing
from tests.support.cluster_servers import ClusterServers, InTurn
from tests.support.in_process import in_process
from tests.support.raw_client import RawClient
from tests.support.servers import ThreadServer
from tests.support.stores import STORES

# Read before the suite hides the developer's own variables from its tests.
REGION = os.environ.get("AWS_REGION", signing.REGION)
PORTS: dict[int, list[int]] = {}
"""Port of a server → the ports of all servers that share its content."""
ACCESS_KEY = os.environ.get("AWS_ACCESS_KEY_ID", signing.ACCESS_KEY)
SECRET_KEY = os.environ.get("AWS_SECRET_ACCESS_KEY", signing.SECRET_KEY)


IN_PROCESS = "in process"
CLUSTER = "cluster"
CLUSTER_SHARE = 5
"""Of so many tests, one runs over a cluster in `make test`; `--whole-cluster` runs all."""
NOT_ON_CLUSTERS = frozenset(Path(__file__).with_name("not_on_clusters.txt").read_text().splitlines())
"""Tests of what servers of a cluster refuse."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--endpoint", help="URL of a running server to test instead of our own")
    parser.addoption("--whole-cluster", action="store_true", help="run all tests over a cluster, not a share of them")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what a cluster refuses, and all but a share of the rest."""
    is_whole = config.getoption("--whole-cluster", default=False)

    def is_wanted(item: pytest.Item) -> bool:
        if "conformance" not in item.nodeid or f"[{CLUSTER}" not in item.nodeid:
            return True
        name = item.nodeid.rpartition("/")[2].replace(f"[{CLUSTER}-", "[").replace(f"[{CLUSTER}]", "")
        return name not in NOT_ON_CLUSTERS and (is_whole or crc32(name.encode()) % CLUSTER_SHARE == 0)

    items[:] = [item for item in items if is_wanted(item)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test over each store of Hashrange, or against --endpoint only."""
    if "endpoint" in metafunc.fixturenames:
        given = metafunc.config.getoption("--endpoint", default=None)
        places = list(STORES) if given is None else [given]
        if given is None and not needs_sockets(metafunc):
            places.append(IN_PROCESS)
        if given is None:
            places.append(CLUSTER)
        metafunc.parametrize("endpoint", places, indirect=True, scope="session")


def needs_sockets(metafunc: pytest.Metafunc) -> bool:
    """True if a test uses the endpoint in any other way than through `client`."""
    names = metafunc.fixturenames
    definitions = metafunc._arg2fixturedefs
    askers = {name for name in names if "endpoint" in (definitions[name][-1].argnames if name in definitions else ())}
    return askers != {"client"} or "endpoint" in signature(metafunc.function).parameters


@pytest.fixture(scope="session")
def endpoint(request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of an empty running server; the parameter is a store's name, a URL,
    or `in process`, where there is no URL.
    """
    if request.param == IN_PROCESS:
        yield IN_PROCESS
        return
    if request.param not in (*STORES, CLUSTER):
        yield str(request.param)
        return
    settings = Settings(port=0, data_dir=None, vector_index_delay_seconds=0.0)
    if request.param == CLUSTER:
        servers = ClusterServers(settings)
        first = servers.servers[0]
        for port in servers.ports:
            PROPAGATE[port] = servers.propagate
            PORTS[port] = servers.ports
        yield first.endpoint
        servers.stop()
        return
    server = ThreadServer(STORES[request.param], ALL_OPERATIONS, settings=settings)
    PROPAGATE[server.port] = server.propagate
    yield server.endpoint
    del PROPAGATE[server.port]
    server.stop()


@pytest.fixture(scope="session")
def client(endpoint: str) -> Iterator[Any]:
    """A boto3 client without retries and parameter validation, so that faults reach the server."""
    made = boto3.client(
        "dynamodb",
        endpoint_url=None if endpoint == IN_PROCESS else endpoint,
        region_name=REGION,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=Config(retries={"total_max_attempts": 1}, parameter_validation=False),
    )
    if endpoint == IN_PROCESS:
        with in_process() as database:
            Transport(database).attach(made)
            yield made
    else:
        yield made
    made.close()


@pytest.fixture(scope="session")
def raw(endpoint: str) -> RawClient:
    """raw(target, body, headers) → Reply(status, headers, body), correctly signed."""
    parts = urlsplit(endpoint)
    assert parts.hostname is not None
    assert parts.port is not None
    ports = PORTS.get(parts.port, [parts.port])
    return InTurn(parts.hostname, ports, REGION, ACCESS_KEY, SECRET_KEY)


@pytest.fixture(scope="session")
def table(raw: RawClient) -> DataTable:
    """A table with only the partition key `pk` (S)."""
    return make_table(raw)


@pytest.fixture(scope="session")
def sorted_table(raw: RawClient) -> DataTable:
    """A table with the partition key `pk` and the sort key `sk`, both S."""
    return make_table(raw, "S", "S")
