"""A client of a cluster of three nodes goes on while nodes go and come."""

import json
import subprocess
from urllib.request import urlopen

import boto3
import pytest

from tests.clients.dax.test_dax_clients import FOLDER
from tests.clients.programs import python
from tests.clients.serving import ServerProcess

REGION = "eu-west-1"

pytestmark = pytest.mark.packaging


def nodes_read(cluster: ServerProcess) -> set[str]:
    """The nodes of the cluster that have been asked for items since they started."""
    with urlopen(f"{cluster.endpoint}/_hashrange/v1/dax") as reply:
        nodes = json.load(reply)["nodes"]
    return {one["node"] for one in nodes if one["cluster"] == "shop" and one["counts"].get("GetItemRequestCount")}


def test_the_client_in_python_goes_on_without_a_node(cluster: ServerProcess) -> None:
    options = {
        "endpoint_url": cluster.endpoint,
        "region_name": REGION,
        "aws_access_key_id": "AKIDEXAMPLE",
        "aws_secret_access_key": "secret",
    }
    direct, dax = boto3.client("dynamodb", **options), boto3.client("dax", **options)
    direct.create_table(
        TableName="music",
        KeySchema=[{"AttributeName": "artist", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "artist", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    direct.put_item(TableName="music", Item={"artist": {"S": "Nina"}, "year": {"N": "1958"}})
    role = "arn:aws:iam::000000000000:role/dax"
    dax.create_cluster(ClusterName="shop", NodeType="dax.t3.small", ReplicationFactor=3, IamRoleArn=role)
    (shop,) = dax.describe_clusters(ClusterNames=["shop"])["Clusters"]
    folder = FOLDER / "python"
    command = [python(folder), "failover.py", shop["ClusterDiscoveryEndpoint"]["URL"]]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None

        def reads() -> str:
            reader.stdin.write("go\n")  # type: ignore[union-attr]
            reader.stdin.flush()  # type: ignore[union-attr]
            return reader.stdout.readline()  # type: ignore[union-attr]

        assert reads() == "30\n"
        assert nodes_read(cluster) == {"shop-a", "shop-b", "shop-c"}, "the client spreads its reads"
        dax.decrease_replication_factor(ClusterName="shop", NewReplicationFactor=2, NodeIdsToRemove=["shop-a"])
        assert reads() == "30\n"
        dax.reboot_node(ClusterName="shop", NodeId="shop-b")
        assert reads() == "30\n"
        dax.decrease_replication_factor(ClusterName="shop", NewReplicationFactor=1, NodeIdsToRemove=["shop-b"])
        assert reads() == "30\n"
        dax.increase_replication_factor(ClusterName="shop", NewReplicationFactor=3)
        assert reads() == "30\n"
        assert nodes_read(cluster) >= {"shop-c"}
