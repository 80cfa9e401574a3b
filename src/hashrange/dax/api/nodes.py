"""The operations on nodes of clusters: IncreaseReplicationFactor, DecreaseReplicationFactor, RebootNode."""

from collections.abc import Mapping, Sequence
from typing import Any

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.clusters import DeleteClusterRequest, check_node_quotas
from hashrange.dax.api.members import (
    bad_value,
    changed_cluster,
    cluster_to_change,
    new_nodes,
    refuse_dax,
    with_status,
)
from hashrange.dax.clusters import Clusters
from hashrange.dax.records import EVERYONE, Cluster
from hashrange.messages import dax as sentences


class IncreaseReplicationFactorRequest(DeleteClusterRequest, frozen=True):
    """Request of IncreaseReplicationFactor."""

    NewReplicationFactor: int
    AvailabilityZones: list[str] | None = None


async def increase_replication_factor(
    clusters: Clusters, caller: Caller, request: IncreaseReplicationFactorRequest
) -> Mapping[str, Any]:
    """IncreaseReplicationFactor: adds nodes to a cluster.

    Returns the cluster, whose new nodes are being created. Raises ServiceError and StorageError.
    """
    cluster = cluster_to_change(clusters, caller, request.ClusterName)
    count, wanted = len(cluster.nodes), request.NewReplicationFactor
    if wanted <= count:
        bad_value(sentences.MORE_NODES, factor=wanted, current=count)
    check_node_quotas(clusters, caller, wanted, wanted - count)
    taken = [node.node_id for node in cluster.nodes]
    region = caller.region if cluster.region == EVERYONE else cluster.region
    added = new_nodes(cluster.name, region, taken, wanted - count, request.AvailabilityZones, clusters.now_seconds())
    nodes = sorted([*cluster.nodes, *added], key=lambda node: node.node_id)
    return await changed_cluster(clusters, caller, cluster, status="modifying", nodes=nodes)


class DecreaseReplicationFactorRequest(IncreaseReplicationFactorRequest, frozen=True):
    """Request of DecreaseReplicationFactor."""

    NodeIdsToRemove: list[str] | None = None


async def decrease_replication_factor(
    clusters: Clusters, caller: Caller, request: DecreaseReplicationFactorRequest
) -> Mapping[str, Any]:
    """DecreaseReplicationFactor: removes nodes from a cluster: those that are named,
    those of named zones, or the newest ones.

    Returns the cluster, some nodes of which are being removed. Raises ServiceError and StorageError.
    """
    cluster = cluster_to_change(clusters, caller, request.ClusterName)
    count, wanted = len(cluster.nodes), request.NewReplicationFactor
    if not 1 <= wanted < count:
        bad_value(sentences.FEWER_NODES, factor=wanted, current=count)
    nodes = with_status("deleting", cluster, _to_remove(cluster, request, count - wanted))
    return await changed_cluster(clusters, caller, cluster, status="modifying", nodes=nodes)


def _to_remove(cluster: Cluster, request: DecreaseReplicationFactorRequest, count: int) -> Sequence[str]:
    """The ids of the nodes to remove. Raises ServiceError."""
    newest_first = sorted(cluster.nodes, key=lambda node: (node.created_seconds, node.node_id), reverse=True)
    removed: list[str] = []
    if request.NodeIdsToRemove:
        removed = list(dict.fromkeys(request.NodeIdsToRemove))
        missing = [node_id for node_id in removed if node_id not in {node.node_id for node in cluster.nodes}]
        if missing:
            refuse_dax("NodeNotFoundFault", sentences.NODE_NOT_FOUND, node=missing[0][:100], name=cluster.name)
    elif request.AvailabilityZones:
        for zone in request.AvailabilityZones:
            in_zone = [node.node_id for node in newest_first if node.zone == zone and node.node_id not in removed]
            removed += in_zone[:1]
    else:
        removed = [node.node_id for node in newest_first[:count]]
    if len(removed) != count:
        refuse_dax("InvalidParameterCombinationException", sentences.NODES_COUNT, given=len(removed), wanted=count)
    return removed


class RebootNodeRequest(DeleteClusterRequest, frozen=True):
    """Request of RebootNode."""

    NodeId: str


async def reboot_node(clusters: Clusters, caller: Caller, request: RebootNodeRequest) -> Mapping[str, Any]:
    """RebootNode: empties a node's caches, and lets changed parameters take effect.

    Returns the cluster, one node of which is being rebooted. Raises ServiceError and StorageError.
    """
    cluster = cluster_to_change(clusters, caller, request.ClusterName)
    if request.NodeId not in {node.node_id for node in cluster.nodes}:
        refuse_dax("NodeNotFoundFault", sentences.NODE_NOT_FOUND, node=request.NodeId[:100], name=cluster.name)
    nodes = with_status("rebooting", cluster, [request.NodeId])
    return await changed_cluster(clusters, caller, cluster, f"Rebooting node {request.NodeId}.", nodes=nodes)


OPERATIONS = (
    Operation("IncreaseReplicationFactor", IncreaseReplicationFactorRequest, increase_replication_factor, FORM),
    Operation("DecreaseReplicationFactor", DecreaseReplicationFactorRequest, decrease_replication_factor, FORM),
    Operation("RebootNode", RebootNodeRequest, reboot_node, FORM),
)
