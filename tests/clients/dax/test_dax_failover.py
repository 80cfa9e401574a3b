"""Each client of a cluster of three nodes goes on while nodes go and come,
and after the server has been started again.
"""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import boto3
import pytest

from tests.clients.dax.conftest import JAVA_OPTIONS
from tests.clients.dax.test_dax_clients import FOLDER
from tests.clients.programs import go, java, node, python
from tests.clients.serving import ServerProcess

REGION = "eu-west-1"
READS = "30\n"
CLIENTS: dict[str, tuple[str, Callable[[Path], str], list[str]]] = {
    "python": ("python", python, ["failover.py", "{url}"]),
    "javascript, version 2": ("javascript", node, ["--no-warnings", "failover_v2.mjs", "{url}"]),
    "javascript, version 3": ("javascript", node, ["--no-warnings", "failover_v3.mjs", "{url}"]),
    "go": ("go", go, ["{endpoint}", "{url}", "failover"]),
    "java, blocking": ("java", java, [*JAVA_OPTIONS, "dax.Failover", "{url}", "blocking"]),
    "java, async": ("java", java, [*JAVA_OPTIONS, "dax.Failover", "{url}", "async"]),
}
"""Name → folder, what prepares it, and the words behind the program."""

pytestmark = pytest.mark.packaging


class Reader:
    """A client that reads an item 30 times whenever it is asked to."""

    def __init__(self, name: str, endpoint: str, url: str) -> None:
        folder, prepare, words = CLIENTS[name]
        path = FOLDER / folder
        command = [prepare(path), *(word.format(url=url, endpoint=endpoint) for word in words)]
        self._process = subprocess.Popen(command, cwd=path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def reads(self) -> str:
        """How many of the reads that succeeded were right."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def clients_of(running: ServerProcess) -> tuple[Any, Any]:
    """Clients of DynamoDB and of DAX's API."""
    options = {
        "endpoint_url": running.endpoint,
        "region_name": REGION,
        "aws_access_key_id": "AKIDEXAMPLE",
        "aws_secret_access_key": "secret",
    }
    return boto3.client("dynamodb", **options), boto3.client("dax", **options)


def cluster_of(running: ServerProcess) -> str:
    """The URL of a new cluster of three nodes, and a table with an item."""
    direct, dax = clients_of(running)
    direct.create_table(
        TableName="music",
        KeySchema=[{"AttributeName": "artist", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "artist", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    direct.put_item(TableName="music", Item={"artist": {"S": "Nina"}, "year": {"N": "1958"}})
    role = "arn:aws:iam::000000000000:role/dax"
    dax.create_cluster(ClusterName="shop", NodeType="dax.t3.small", ReplicationFactor=3, IamRoleArn=role)
    return str(dax.describe_clusters(ClusterNames=["shop"])["Clusters"][0]["ClusterDiscoveryEndpoint"]["URL"])


def nodes_read(running: ServerProcess) -> set[str]:
    """The nodes of the cluster that have been asked for items since they started."""
    with urlopen(f"{running.endpoint}/_hashrange/v1/dax") as reply:
        nodes = json.load(reply)["nodes"]
    return {one["node"] for one in nodes if one["cluster"] == "shop" and one["counts"].get("GetItemRequestCount")}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_goes_on_without_a_node(cluster: ServerProcess, name: str) -> None:
    _, dax = clients_of(cluster)
    reader = Reader(name, cluster.endpoint, cluster_of(cluster))
    try:
        assert reader.reads() == READS
        if name == "python":
            assert nodes_read(cluster) == {"shop-a", "shop-b", "shop-c"}, "the client spreads its reads"
        dax.decrease_replication_factor(ClusterName="shop", NewReplicationFactor=2, NodeIdsToRemove=["shop-a"])
        assert reader.reads() == READS
        dax.reboot_node(ClusterName="shop", NodeId="shop-b")
        assert reader.reads() == READS
        dax.decrease_replication_factor(ClusterName="shop", NewReplicationFactor=1, NodeIdsToRemove=["shop-b"])
        assert reader.reads() == READS
        dax.increase_replication_factor(ClusterName="shop", NewReplicationFactor=3)
        assert reader.reads() == READS
        assert nodes_read(cluster) >= {"shop-c"}
    finally:
        reader.close()


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_goes_on_after_a_restart(tmp_path: Path, name: str) -> None:
    running = ServerProcess(tmp_path / "data", "--admin")
    try:
        reader = Reader(name, running.endpoint, cluster_of(running))
        try:
            assert reader.reads() == READS
            running.restart()
            assert reader.reads() == READS
            assert nodes_read(running), "the client reads through the nodes that have been started again"
        finally:
            reader.close()
    finally:
        running.stop()
