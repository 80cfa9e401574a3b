"""CreateCluster: makes a cluster, whose nodes are started."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.members import (
    ClusterTagMember,
    bad_value,
    check_cluster_name,
    check_cluster_tags,
    check_description,
    check_topic,
    check_window,
    described_cluster,
    found_parameter_group,
    found_subnet_group,
    new_nodes,
    refuse_dax,
)
from hashrange.dax.clusters import Clusters
from hashrange.dax.limits import ACCOUNT_NODES_MAX, CLUSTER_NODES_MAX, NODE_MEMORY_BYTES
from hashrange.dax.records import DEFAULT_PARAMETER_GROUP, DEFAULT_SUBNET_GROUP, EVERYONE, Cluster
from hashrange.messages import dax as sentences

_is_role = re.compile(r"arn:[\w-]+:iam::\d{12}:role/[\w+=,.@/-]+").fullmatch
USUAL_WINDOW = "sun:01:00-sun:02:00"
ENCRYPTIONS, NETWORK_TYPES = ("NONE", "TLS"), ("ipv4", "ipv6", "dual_stack")


class SseMember(msgspec.Struct, frozen=True):
    """Encryption at rest, which has no effect here."""

    Enabled: bool


class CreateClusterRequest(msgspec.Struct, frozen=True):
    """Request of CreateCluster."""

    ClusterName: str
    NodeType: str
    ReplicationFactor: int
    IamRoleArn: str
    Description: str | None = None
    AvailabilityZones: list[str] | None = None
    SubnetGroupName: str | None = None
    SecurityGroupIds: list[str] | None = None
    PreferredMaintenanceWindow: str | None = None
    NotificationTopicArn: str | None = None
    ParameterGroupName: str | None = None
    Tags: list[ClusterTagMember] | None = None
    SSESpecification: SseMember | None = None
    ClusterEndpointEncryptionType: str | None = None
    NetworkType: str | None = None


async def create_cluster(clusters: Clusters, caller: Caller, request: CreateClusterRequest) -> Mapping[str, Any]:
    """Returns the cluster, which is being created. Raises ServiceError and StorageError."""
    check_cluster_name(request.ClusterName)
    _check_values(request)
    name, factor = request.ClusterName.lower(), request.ReplicationFactor
    if clusters.cluster(caller.account, caller.region, name) is not None:
        refuse_dax("ClusterAlreadyExistsFault", sentences.CLUSTER_EXISTS, name=name)
    group = found_parameter_group(clusters, caller, request.ParameterGroupName or DEFAULT_PARAMETER_GROUP)
    subnets = found_subnet_group(clusters, caller, request.SubnetGroupName or DEFAULT_SUBNET_GROUP)
    check_node_quotas(clusters, caller, factor, factor)
    tags = check_cluster_tags(request.Tags or (), {})
    now_seconds = clusters.now_seconds()
    encryption = request.ClusterEndpointEncryptionType or "NONE"
    host = clusters.host()
    if encryption == "TLS" and host is not None and not host.has_certificate:
        refuse_dax("InvalidParameterCombinationException", sentences.NO_TLS)
    cluster = Cluster(
        account=caller.account,
        region=caller.region,
        name=name,
        node_type=request.NodeType,
        status="creating",
        until_seconds=clusters.until_seconds,
        nodes=new_nodes(name, caller.region, (), factor, request.AvailabilityZones, now_seconds),
        created_seconds=now_seconds,
        description=request.Description,
        parameter_group=group.name,
        subnet_group=subnets.name,
        security_groups=request.SecurityGroupIds or ["sg-default"],
        role_arn=request.IamRoleArn,
        maintenance_window=(request.PreferredMaintenanceWindow or USUAL_WINDOW).lower(),
        topic_arn=request.NotificationTopicArn,
        is_encrypted_at_rest=request.SSESpecification is not None and request.SSESpecification.Enabled,
        encryption="TLS" if encryption == "TLS" else "NONE",
        network_type=request.NetworkType or "ipv4",  # type: ignore[arg-type]  # checked above
        tags=tags,
    )
    described = described_cluster(clusters, caller, cluster)
    await clusters.keep(cluster)
    return {"Cluster": described}


def _check_values(request: CreateClusterRequest) -> None:
    if request.NodeType not in NODE_MEMORY_BYTES:
        bad_value(sentences.NODE_TYPE, node_type=request.NodeType[:100], types=", ".join(NODE_MEMORY_BYTES))
    if request.ReplicationFactor < 1:
        bad_value(sentences.REPLICATION_FACTOR, most=CLUSTER_NODES_MAX, factor=request.ReplicationFactor)
    if _is_role(request.IamRoleArn) is None:
        bad_value(sentences.ROLE, arn=request.IamRoleArn[:200])
    check_description(request.Description)
    check_topic(request.NotificationTopicArn)
    if request.PreferredMaintenanceWindow is not None:
        check_window(request.PreferredMaintenanceWindow)
    for path, value, values in (
        ("ClusterEndpointEncryptionType", request.ClusterEndpointEncryptionType, ENCRYPTIONS),
        ("NetworkType", request.NetworkType, NETWORK_TYPES),
    ):
        if value is not None and value not in values:
            bad_value(sentences.ONE_OF, name=path, values=", ".join(values), value=value[:100])


def check_node_quotas(clusters: Clusters, caller: Caller, factor: int, more: int) -> None:
    """Raise ServiceError if a cluster may not have `factor` nodes, or an account may not have so many `more`."""
    if factor > CLUSTER_NODES_MAX:
        refuse_dax("NodeQuotaForClusterExceededFault", sentences.NODE_QUOTA, most=CLUSTER_NODES_MAX)
    every = [one for one in clusters.clusters(caller.account, caller.region) if one.account != EVERYONE]
    if sum([len(one.nodes) for one in every]) + more > ACCOUNT_NODES_MAX:
        refuse_dax("NodeQuotaForCustomerExceededFault", sentences.ACCOUNT_NODE_QUOTA, most=ACCOUNT_NODES_MAX)


OPERATION = Operation("CreateCluster", CreateClusterRequest, create_cluster, FORM)
