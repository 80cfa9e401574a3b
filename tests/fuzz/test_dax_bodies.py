"""Spoiled requests for every operation of DAX's API: a success or an error, never anything else;
and the nodes are as the clusters say at the end.

`HASHRANGE_FUZZ_REQUESTS` sets the number of requests per operation, `HASHRANGE_FUZZ_SEED` the first seed.
"""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.dax.api.registry import CLUSTER_OPERATIONS
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.fuzz.mutations import spoiled
from tests.fuzz.test_service_bodies import NOW, REQUESTS, SEED, authorization, check
from tests.support.dax_client import DaxClient
from tests.support.dax_client import authorization as sign

ARN = "arn:aws:dax:us-east-1:000000000000:cache/shop"
ROLE = "arn:aws:iam::000000000000:role/dax"
OPERATIONS: dict[str, dict[str, Any]] = {
    "CreateCluster": {
        "ClusterName": "new",
        "NodeType": "dax.t3.small",
        "ReplicationFactor": 2,
        "IamRoleArn": ROLE,
        "Description": "d",
        "AvailabilityZones": ["us-east-1a", "us-east-1b"],
        "SubnetGroupName": "default",
        "SecurityGroupIds": ["sg-1"],
        "PreferredMaintenanceWindow": "sun:01:00-sun:09:00",
        "NotificationTopicArn": "arn:aws:sns:us-east-1:000000000000:a",
        "ParameterGroupName": "default.dax1.0",
        "Tags": [{"Key": "a", "Value": "b"}],
        "SSESpecification": {"Enabled": True},
        "ClusterEndpointEncryptionType": "NONE",
        "NetworkType": "ipv4",
    },
    "UpdateCluster": {
        "ClusterName": "shop",
        "Description": "d",
        "PreferredMaintenanceWindow": "sun:01:00-sun:09:00",
        "SecurityGroupIds": ["a"],
        "NotificationTopicArn": "arn:aws:sns:us-east-1:000000000000:a",
        "NotificationTopicStatus": "active",
        "ParameterGroupName": "p",
    },
    "IncreaseReplicationFactor": {
        "ClusterName": "shop",
        "NewReplicationFactor": 3,
        "AvailabilityZones": ["us-east-1a"],
    },
    "DecreaseReplicationFactor": {
        "ClusterName": "shop",
        "NewReplicationFactor": 1,
        "AvailabilityZones": ["us-east-1a"],
        "NodeIdsToRemove": ["shop-a"],
    },
    "RebootNode": {"ClusterName": "shop", "NodeId": "shop-a"},
    "DescribeClusters": {"ClusterNames": ["shop"], "MaxResults": 20, "NextToken": "MA=="},
    "DescribeEvents": {
        "SourceName": "shop",
        "SourceType": "CLUSTER",
        "StartTime": NOW - 60,
        "EndTime": NOW,
        "Duration": 5,
        "MaxResults": 20,
    },
    "CreateParameterGroup": {"ParameterGroupName": "q", "Description": "d"},
    "UpdateParameterGroup": {
        "ParameterGroupName": "p",
        "ParameterNameValues": [{"ParameterName": "query-ttl-millis", "ParameterValue": "5"}],
    },
    "DescribeParameterGroups": {"ParameterGroupNames": ["p"], "MaxResults": 20, "NextToken": "MA=="},
    "DescribeParameters": {"ParameterGroupName": "p", "Source": "user", "MaxResults": 20, "NextToken": "MA=="},
    "DescribeDefaultParameters": {"MaxResults": 20, "NextToken": "MA=="},
    "DeleteParameterGroup": {"ParameterGroupName": "q"},
    "CreateSubnetGroup": {"SubnetGroupName": "s", "SubnetIds": ["subnet-1"], "Description": "d"},
    "UpdateSubnetGroup": {"SubnetGroupName": "s", "SubnetIds": ["subnet-1"], "Description": "d"},
    "DescribeSubnetGroups": {"SubnetGroupNames": ["s"], "MaxResults": 20, "NextToken": "MA=="},
    "DeleteSubnetGroup": {"SubnetGroupName": "s"},
    "TagResource": {"ResourceName": ARN, "Tags": [{"Key": "a", "Value": "b"}]},
    "UntagResource": {"ResourceName": ARN, "TagKeys": ["a"]},
    "ListTags": {"ResourceName": ARN, "NextToken": "MA=="},
    "DeleteCluster": {"ClusterName": "new"},
}


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0)) as database:
        assert database.endpoint
        dax = database.client("dax", region_name="us-east-1")
        dax.create_parameter_group(ParameterGroupName="p")
        dax.create_cluster(ClusterName="shop", NodeType="dax.t3.small", ReplicationFactor=2, IamRoleArn=ROLE)
        yield database
        for cluster in dax.describe_clusters()["Clusters"]:
            ports = {node["Endpoint"]["Port"] for node in cluster["Nodes"]}
            for port in ports:
                with DaxClient(f"dax://127.0.0.1:{port}", authorize=sign(region="us-east-1")) as client:
                    assert {one[3] for one in client.call("endpoints")} == ports


def test_every_operation_has_members() -> None:
    assert set(OPERATIONS) == {operation.name for operation in CLUSTER_OPERATIONS}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_dax(database: Database, operation: str, caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(f"{SEED} {operation}")
    target = {"x-amz-target": f"AmazonDAXV3.{operation}", "content-type": "application/x-amz-json-1.1"}
    headers = authorization("dax") | target
    for _ in range(REQUESTS):
        check(database._process, "/", headers, spoiled(OPERATIONS[operation], rng), caplog)
