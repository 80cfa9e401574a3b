"""Clusters by the API: what CreateCluster, UpdateCluster and DeleteCluster say, refuse and remember."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.testing import Database
from tests.unit.dax_control.conftest import REGION, ROLE, code_of, create, described, messages


def test_a_cluster_is_described_as_it_was_asked_for(dax: Any) -> None:
    dax.create_parameter_group(ParameterGroupName="short")
    dax.create_subnet_group(SubnetGroupName="inner", SubnetIds=["subnet-1", "subnet-2"])
    made = dax.create_cluster(
        ClusterName="Shop",
        NodeType="dax.r5.large",
        ReplicationFactor=2,
        IamRoleArn=ROLE,
        Description="of the shop",
        AvailabilityZones=["eu-west-1b", "eu-west-1c"],
        SubnetGroupName="inner",
        SecurityGroupIds=["sg-1"],
        PreferredMaintenanceWindow="Mon:22:00-Tue:01:00",
        NotificationTopicArn="arn:aws:sns:eu-west-1:000000000000:news",
        ParameterGroupName="short",
        Tags=[{"Key": "team", "Value": "web"}],
        SSESpecification={"Enabled": True},
    )["Cluster"]
    assert made["Status"] == "creating"
    assert "ClusterDiscoveryEndpoint" not in made
    assert [node["NodeStatus"] for node in made["Nodes"]] == ["creating", "creating"]
    cluster = described(dax, "SHOP")
    port = cluster["Nodes"][0]["Endpoint"]["Port"]
    assert {name: cluster[name] for name in cluster if name != "Nodes"} == {
        "ClusterName": "shop",
        "Description": "of the shop",
        "ClusterArn": f"arn:aws:dax:{REGION}:000000000000:cache/shop",
        "TotalNodes": 2,
        "ActiveNodes": 2,
        "NodeType": "dax.r5.large",
        "Status": "available",
        "ClusterDiscoveryEndpoint": {"Address": "127.0.0.1", "Port": port, "URL": f"dax://127.0.0.1:{port}"},
        "PreferredMaintenanceWindow": "mon:22:00-tue:01:00",
        "NotificationConfiguration": {
            "TopicArn": "arn:aws:sns:eu-west-1:000000000000:news",
            "TopicStatus": "active",
        },
        "SubnetGroup": "inner",
        "SecurityGroups": [{"SecurityGroupIdentifier": "sg-1", "Status": "active"}],
        "IamRoleArn": ROLE,
        "ParameterGroup": {
            "ParameterGroupName": "short",
            "ParameterApplyStatus": "in-sync",
            "NodeIdsToReboot": [],
        },
        "SSEDescription": {"Status": "ENABLED"},
        "ClusterEndpointEncryptionType": "NONE",
        "NetworkType": "ipv4",
    }
    assert [(node["NodeId"], node["AvailabilityZone"], node["NodeStatus"]) for node in cluster["Nodes"]] == [
        ("shop-a", "eu-west-1b", "available"),
        ("shop-b", "eu-west-1c", "available"),
    ]
    assert dax.list_tags(ResourceName=cluster["ClusterArn"])["Tags"] == [{"Key": "team", "Value": "web"}]


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"ClusterName": "9shop"}, "InvalidParameterValueException"),
        ({"ClusterName": "shop-"}, "InvalidParameterValueException"),
        ({"ClusterName": "sh--op"}, "InvalidParameterValueException"),
        ({"ClusterName": "s" * 21}, "InvalidParameterValueException"),
        ({"ClusterName": "SHOP"}, "ClusterAlreadyExistsFault"),
        ({"NodeType": "dax.r9.huge"}, "InvalidParameterValueException"),
        ({"ReplicationFactor": 0}, "InvalidParameterValueException"),
        ({"ReplicationFactor": 12}, "NodeQuotaForClusterExceededFault"),
        ({"IamRoleArn": "admin"}, "InvalidParameterValueException"),
        ({"Description": "x" * 256}, "InvalidParameterValueException"),
        ({"SecurityGroupIds": ["sg-1"] * 17}, "InvalidParameterValueException"),
        ({"SecurityGroupIds": ["s" * 256]}, "InvalidParameterValueException"),
        ({"AvailabilityZones": ["eu-west-1a", "eu-west-1b"]}, "InvalidParameterCombinationException"),
        ({"AvailabilityZones": ["us-east-1a"]}, "InvalidParameterValueException"),
        ({"SubnetGroupName": "none"}, "SubnetGroupNotFoundFault"),
        ({"ParameterGroupName": "none"}, "ParameterGroupNotFoundFault"),
        ({"PreferredMaintenanceWindow": "sunday"}, "InvalidParameterValueException"),
        ({"PreferredMaintenanceWindow": "sun:01:00-sun:01:59"}, "InvalidParameterValueException"),
        ({"NotificationTopicArn": "news"}, "InvalidParameterValueException"),
        ({"Tags": [{"Key": str(number), "Value": ""} for number in range(51)]}, "TagQuotaPerResourceExceeded"),
        ({"Tags": [{"Key": "AWS:team", "Value": ""}]}, "InvalidParameterValueException"),
        ({"Tags": [{"Key": "k" * 129, "Value": ""}]}, "InvalidParameterValueException"),
        ({"ClusterEndpointEncryptionType": "SSL"}, "InvalidParameterValueException"),
        ({"ClusterEndpointEncryptionType": "TLS"}, "InvalidParameterCombinationException"),
        ({"NetworkType": "ipv5"}, "InvalidParameterValueException"),
    ],
)
def test_what_create_cluster_refuses_leaves_nothing(dax: Any, members: dict[str, Any], code: str) -> None:
    create(dax, "shop")
    given = {"ClusterName": "other", "NodeType": "dax.t3.small", "ReplicationFactor": 1, "IamRoleArn": ROLE}
    assert code_of(dax.create_cluster, **given | members) == code
    assert [cluster["ClusterName"] for cluster in dax.describe_clusters()["Clusters"]] == ["shop"]


def test_an_account_has_fifty_nodes(dax: Any, database: Database) -> None:
    for number in range(4):
        create(dax, f"c{number}", 11)
    create(dax, "c4", 6)
    assert code_of(create, dax=dax, name="c5") == "NodeQuotaForCustomerExceededFault"
    assert (
        code_of(dax.increase_replication_factor, ClusterName="c4", NewReplicationFactor=7)
        == "NodeQuotaForCustomerExceededFault"
    )
    elsewhere = database.client("dax", region_name="eu-central-1")
    assert create(elsewhere, "c5")["Status"] == "available"


def test_update_cluster_changes_what_is_given(dax: Any) -> None:
    before = create(dax, Description="old")
    updated = dax.update_cluster(ClusterName="shop", PreferredMaintenanceWindow="tue:01:00-tue:03:00")["Cluster"]
    assert updated["Status"] == "modifying"
    after = described(dax)
    assert after == before | {"PreferredMaintenanceWindow": "tue:01:00-tue:03:00"}
    dax.update_cluster(
        ClusterName="shop", Description="new", NotificationTopicArn="arn:aws:sns:eu-west-1:123456789012:x"
    )
    dax.update_cluster(ClusterName="shop", NotificationTopicStatus="inactive", SecurityGroupIds=["sg-7"])
    after = described(dax)
    assert after["Description"] == "new"
    assert after["NotificationConfiguration"]["TopicStatus"] == "inactive"
    assert after["SecurityGroups"] == [{"SecurityGroupIdentifier": "sg-7", "Status": "active"}]
    assert code_of(dax.update_cluster, ClusterName="shop", NotificationTopicStatus="on") == (
        "InvalidParameterValueException"
    )
    assert code_of(dax.update_cluster, ClusterName="shop", ParameterGroupName="none") == "ParameterGroupNotFoundFault"


def test_a_deleted_cluster_is_gone(dax: Any) -> None:
    create(dax, nodes=2)
    deleting = dax.delete_cluster(ClusterName="shop")["Cluster"]
    assert (deleting["Status"], deleting["ActiveNodes"]) == ("deleting", 0)
    assert dax.describe_clusters()["Clusters"] == []
    for call in (dax.delete_cluster, dax.update_cluster):
        assert code_of(call, ClusterName="shop") == "ClusterNotFoundFault"
    assert messages(dax, SourceName="shop", SourceType="CLUSTER") == [
        "Cluster created.",
        "Added node shop-a.",
        "Added node shop-b.",
        "Cluster deleted.",
    ]


def test_accounts_and_regions_see_their_own_clusters(dax: Any, database: Database) -> None:
    create(dax, "shop")
    elsewhere = database.client("dax", region_name="eu-central-1")
    other = database.client("dax", region_name=REGION, aws_access_key_id="111122223333")
    for client in (elsewhere, other):
        assert client.describe_clusters()["Clusters"] == []
        assert client.describe_events()["Events"] == []
        assert code_of(client.delete_cluster, ClusterName="shop") == "ClusterNotFoundFault"
    create(other, "shop")
    assert described(other)["ClusterArn"] == f"arn:aws:dax:{REGION}:111122223333:cache/shop"


def test_pages_of_clusters(dax: Any) -> None:
    names = [f"c{number:02}" for number in range(25)]
    for name in names:
        create(dax, name)
    first = dax.describe_clusters(MaxResults=20)
    second = dax.describe_clusters(MaxResults=20, NextToken=first["NextToken"])
    assert [one["ClusterName"] for one in first["Clusters"] + second["Clusters"]] == names
    assert "NextToken" not in second
    for members in ({"MaxResults": 19}, {"MaxResults": 101}, {"NextToken": "x"}):
        assert code_of(dax.describe_clusters, **members) == "InvalidParameterValueException"


def test_tags(dax: Any) -> None:
    arn = create(dax)["ClusterArn"]
    assert dax.tag_resource(ResourceName=arn, Tags=[{"Key": "b", "Value": "1"}, {"Key": "a", "Value": "2"}])[
        "Tags"
    ] == [
        {"Key": "a", "Value": "2"},
        {"Key": "b", "Value": "1"},
    ]
    assert code_of(dax.untag_resource, ResourceName=arn, TagKeys=["a", "c"]) == "TagNotFoundFault"
    assert dax.untag_resource(ResourceName=arn, TagKeys=["a"])["Tags"] == [{"Key": "b", "Value": "1"}]
    assert dax.list_tags(ResourceName=arn)["Tags"] == [{"Key": "b", "Value": "1"}]
    assert code_of(dax.list_tags, ResourceName="shop") == "InvalidARNFault"
    assert code_of(dax.list_tags, ResourceName=arn + "s") == "ClusterNotFoundFault"
    many = [{"Key": f"k{number}", "Value": ""} for number in range(50)]
    assert code_of(dax.tag_resource, ResourceName=arn, Tags=many) == "TagQuotaPerResourceExceeded"


def test_errors_are_those_of_the_model(dax: Any) -> None:
    """boto3 raises the exception of its class, so that a caller may catch it by name."""
    with pytest.raises(dax.exceptions.ClusterNotFoundFault) as caught:
        dax.delete_cluster(ClusterName="none")
    assert caught.value.response["Error"]["Message"] == "Cluster none not found."
    with pytest.raises(ClientError) as bad:
        dax.describe_clusters(MaxResults=1)
    assert bad.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_a_cluster_that_is_named_again_is_described_once(dax: Any) -> None:
    create(dax)
    assert len(dax.describe_clusters(ClusterNames=["shop", "SHOP", "shop"])["Clusters"]) == 1
