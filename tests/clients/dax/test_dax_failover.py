"""Each client of a cluster of three nodes goes on while nodes go and come,
and after the server has been started again.

One server has a cluster for each client, and is restarted once for all of them.
"""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
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


class Shops:
    """A server on disk with a table, and for each client a cluster of three nodes of its own, from which it reads."""

    def __init__(self, folder: Path) -> None:
        self.server = ServerProcess(folder, "--admin")
        access = {"region_name": REGION, "aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": "secret"}
        self.dax = boto3.client("dax", endpoint_url=self.server.endpoint, **access)
        direct = boto3.client("dynamodb", endpoint_url=self.server.endpoint, **access)
        direct.create_table(
            TableName="music",
            KeySchema=[{"AttributeName": "artist", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "artist", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        direct.put_item(TableName="music", Item={"artist": {"S": "Nina"}, "year": {"N": "1958"}})
        self._readers: dict[str, Reader] = {}

    def reader(self, name: str) -> Reader:
        """The client, which is started if it does not run."""
        if name not in self._readers:
            self._readers[name] = Reader(name, self.server.endpoint, self.open_cluster(cluster_of(name)))
        return self._readers[name]

    def open_cluster(self, cluster: str) -> str:
        """The URL of a new cluster."""
        role = "arn:aws:iam::000000000000:role/dax"
        self.dax.create_cluster(ClusterName=cluster, NodeType="dax.t3.small", ReplicationFactor=3, IamRoleArn=role)
        (described,) = self.dax.describe_clusters(ClusterNames=[cluster])["Clusters"]
        return str(described["ClusterDiscoveryEndpoint"]["URL"])

    def nodes_read(self, cluster: str) -> set[str]:
        """The nodes of the cluster that have been asked for items since they started."""
        with urlopen(f"{self.server.endpoint}/_hashrange/v1/dax") as reply:
            nodes = json.load(reply)["nodes"]
        return {one["node"] for one in nodes if one["cluster"] == cluster and one["counts"].get("GetItemRequestCount")}

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
        self.server.stop()


def cluster_of(name: str) -> str:
    """The name of a client's cluster, which has at most 20 characters."""
    return "-".join(word for word in re.findall(r"\w+", name) if word != "version")


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shops]:
    made = Shops(tmp_path_factory.mktemp("failover") / "data")
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_goes_on_without_a_node(shops: Shops, name: str) -> None:
    cluster, dax, reader = cluster_of(name), shops.dax, shops.reader(name)
    assert reader.reads() == READS
    if name == "python":
        spread = {f"{cluster}-{node}" for node in "abc"}
        assert shops.nodes_read(cluster) == spread, "the client spreads its reads"
    dax.decrease_replication_factor(ClusterName=cluster, NewReplicationFactor=2, NodeIdsToRemove=[f"{cluster}-a"])
    assert reader.reads() == READS
    dax.reboot_node(ClusterName=cluster, NodeId=f"{cluster}-b")
    assert reader.reads() == READS
    dax.decrease_replication_factor(ClusterName=cluster, NewReplicationFactor=1, NodeIdsToRemove=[f"{cluster}-b"])
    assert reader.reads() == READS
    dax.increase_replication_factor(ClusterName=cluster, NewReplicationFactor=3)
    assert reader.reads() == READS
    assert shops.nodes_read(cluster) >= {f"{cluster}-c"}


@pytest.fixture(scope="module")
def restarted(shops: Shops) -> Shops:
    """The server has been started again while all clients were running, after each has read."""
    for name in CLIENTS:
        assert shops.reader(name).reads() == READS
    shops.server.restart()
    return shops


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_goes_on_after_a_restart(restarted: Shops, name: str) -> None:
    assert not restarted.nodes_read(cluster_of(name)), "counts begin with the server"
    assert restarted.reader(name).reads() == READS
    assert restarted.nodes_read(cluster_of(name)), "the client reads through the nodes that have been started again"
