"""The operations on clusters: CreateCluster, UpdateCluster, DeleteCluster, DescribeClusters."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.groups import PARAMETER_GROUPS, SUBNET_GROUPS
from hashrange.dax.api.members import (
    PartRequest,
    bad_value,
    changed_cluster,
    check_cluster_name,
    check_description,
    check_security_groups,
    check_topic,
    check_window,
    cluster_to_change,
    described_cluster,
    found_cluster,
    kept_cluster,
    new_nodes,
    part_of_records,
    refuse_dax,
    with_status,
)
from hashrange.dax.api.tags import ClusterTagMember, added_cluster_tags
from hashrange.dax.clusters import Clusters
from hashrange.dax.limits import ACCOUNT_NODES_MAX, CLUSTER_NODES_MAX, NODE_MEMORY_BYTES
from hashrange.dax.records import DEFAULT_PARAMETER_GROUP, DEFAULT_SUBNET_GROUP, EVERYONE, Cluster
from hashrange.messages import dax as sentences

_is_role = re.compile(r"arn:[\w-]+:iam::\d{12}:role/[\w+=,.@/-]+").fullmatch
USUAL_WINDOW = "sun:01:00-sun:02:00"
ENCRYPTIONS, NETWORK_TYPES = ("NONE", "TLS"), ("ipv4", "ipv6", "dual_stack")
TOPIC_STATUSES = ("active", "inactive")


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
    """CreateCluster: makes a cluster, whose nodes are started.

    Returns the cluster, which is being created. Raises ServiceError and StorageError.
    """
    check_cluster_name(request.ClusterName)
    _check_values(request)
    name, factor = request.ClusterName.lower(), request.ReplicationFactor
    if clusters.cluster(caller.account, caller.region, name) is not None:
        refuse_dax("ClusterAlreadyExistsFault", sentences.CLUSTER_EXISTS, name=name)
    group = PARAMETER_GROUPS.find(clusters, caller, request.ParameterGroupName or DEFAULT_PARAMETER_GROUP)
    subnets = SUBNET_GROUPS.find(clusters, caller, request.SubnetGroupName or DEFAULT_SUBNET_GROUP)
    check_node_quotas(clusters, caller, factor, factor)
    tags = added_cluster_tags({}, request.Tags or ())
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
    return await kept_cluster(clusters, caller, None, cluster)


def _check_values(request: CreateClusterRequest) -> None:
    if request.NodeType not in NODE_MEMORY_BYTES:
        bad_value(sentences.NODE_TYPE, node_type=request.NodeType[:100], types=", ".join(NODE_MEMORY_BYTES))
    if request.ReplicationFactor < 1:
        bad_value(sentences.REPLICATION_FACTOR, most=CLUSTER_NODES_MAX, factor=request.ReplicationFactor)
    if _is_role(request.IamRoleArn) is None:
        bad_value(sentences.ROLE, arn=request.IamRoleArn[:200])
    check_description(request.Description)
    check_topic(request.NotificationTopicArn)
    check_security_groups(request.SecurityGroupIds)
    if request.PreferredMaintenanceWindow is not None:
        check_window(request.PreferredMaintenanceWindow)
    for path, value, values in (
        ("ClusterEndpointEncryptionType", request.ClusterEndpointEncryptionType, ENCRYPTIONS),
        ("NetworkType", request.NetworkType, NETWORK_TYPES),
    ):
        if value is not None and value not in values:
            bad_value(sentences.ONE_OF, name=path, values=", ".join(values), value=value[:100])


def check_node_quotas(clusters: Clusters, caller: Caller, factor: int, more: int) -> None:
    """Raise ServiceError if a cluster may not have `factor` nodes, or an account or the server not so many `more`."""
    if factor > CLUSTER_NODES_MAX:
        refuse_dax("NodeQuotaForClusterExceededFault", sentences.NODE_QUOTA, most=CLUSTER_NODES_MAX)
    every = [one for one in clusters.clusters(caller.account, caller.region) if one.account != EVERYONE]
    if sum([len(one.nodes) for one in every]) + more > ACCOUNT_NODES_MAX:
        refuse_dax("NodeQuotaForCustomerExceededFault", sentences.ACCOUNT_NODE_QUOTA, most=ACCOUNT_NODES_MAX)
    host = clusters.host()
    if host is not None and clusters.count_nodes() + more > host.nodes_max:
        refuse_dax("NodeQuotaForCustomerExceededFault", sentences.SERVER_NODE_QUOTA, most=host.nodes_max)


class DeleteClusterRequest(msgspec.Struct, frozen=True):
    """Request of DeleteCluster."""

    ClusterName: str


class UpdateClusterRequest(DeleteClusterRequest, frozen=True):
    """Request of UpdateCluster."""

    Description: str | None = None
    PreferredMaintenanceWindow: str | None = None
    NotificationTopicArn: str | None = None
    NotificationTopicStatus: str | None = None
    ParameterGroupName: str | None = None
    SecurityGroupIds: list[str] | None = None


async def update_cluster(clusters: Clusters, caller: Caller, request: UpdateClusterRequest) -> Mapping[str, Any]:
    """UpdateCluster: changes the description, window, notifications, groups of a cluster.

    Returns the changed cluster. Parameters of another group take effect when nodes are rebooted.
    Raises ServiceError and StorageError.
    """
    cluster = cluster_to_change(clusters, caller, request.ClusterName)
    check_description(request.Description)
    check_topic(request.NotificationTopicArn)
    check_security_groups(request.SecurityGroupIds)
    if request.PreferredMaintenanceWindow is not None:
        check_window(request.PreferredMaintenanceWindow)
    status = request.NotificationTopicStatus
    if status is not None and status not in TOPIC_STATUSES:
        bad_value(sentences.TOPIC_STATUS, status=status[:100])
    group = request.ParameterGroupName
    if group is not None:
        PARAMETER_GROUPS.find(clusters, caller, group)
    given = {
        "description": request.Description,
        "maintenance_window": None
        if request.PreferredMaintenanceWindow is None
        else request.PreferredMaintenanceWindow.lower(),
        "topic_arn": request.NotificationTopicArn,
        "topic_status": status,
        "parameter_group": group,
        "security_groups": request.SecurityGroupIds,
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if group is not None:
        changes["group_owner"] = (caller.account, caller.region)
    return await changed_cluster(clusters, caller, cluster, status="modifying", **changes)


async def delete_cluster(clusters: Clusters, caller: Caller, request: DeleteClusterRequest) -> Mapping[str, Any]:
    """DeleteCluster: stops all nodes of a cluster, and forgets it.

    Returns the cluster, which is being deleted. Raises ServiceError and StorageError.
    """
    cluster = cluster_to_change(clusters, caller, request.ClusterName)
    nodes = with_status("deleting", cluster)
    return await changed_cluster(clusters, caller, cluster, status="deleting", nodes=nodes)


class DescribeClustersRequest(PartRequest, frozen=True):
    """Request of DescribeClusters."""

    ClusterNames: list[str] | None = None


async def describe_clusters(clusters: Clusters, caller: Caller, request: DescribeClustersRequest) -> Mapping[str, Any]:
    """DescribeClusters: the clusters of an account and Region, and that of `--dax-port`.

    Returns a page of clusters. Raises ServiceError and StorageError.
    """
    if request.ClusterNames:
        every = [
            found_cluster(clusters, caller, name)
            for name in {one.lower(): one for one in request.ClusterNames}.values()
        ]
    else:
        every = list(clusters.clusters(caller.account, caller.region))
    page, token = part_of_records(every, request)
    return {"Clusters": [described_cluster(clusters, caller, one) for one in page], **token}


OPERATIONS = (
    Operation("CreateCluster", CreateClusterRequest, create_cluster, FORM),
    Operation("UpdateCluster", UpdateClusterRequest, update_cluster, FORM),
    Operation("DeleteCluster", DeleteClusterRequest, delete_cluster, FORM),
    Operation("DescribeClusters", DescribeClustersRequest, describe_clusters, FORM),
)
