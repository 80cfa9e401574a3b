"""The operations on nodes of clusters: IncreaseReplicationFactor, DecreaseReplicationFactor, RebootNode."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.clusters import check_node_quotas
from hashrange.dax.api.members import (
    bad_value,
    cluster_to_change,
    kept_cluster,
    new_nodes,
    refuse_dax,
)
from hashrange.dax.clusters import Clusters
from hashrange.dax.records import EVERYONE, Cluster, ClusterNode
from hashrange.messages import dax as sentences


class IncreaseReplicationFactorRequest(msgspec.Struct, frozen=True):
    """Request of IncreaseReplicationFactor."""

    ClusterName: str
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
    changed = msgspec.structs.replace(cluster, status="modifying", nodes=nodes, until_seconds=clusters.until_seconds)
    return {"Cluster": await kept_cluster(clusters, caller, cluster, changed)}


class DecreaseReplicationFactorRequest(msgspec.Struct, frozen=True):
    """Request of DecreaseReplicationFactor."""

    ClusterName: str
    NewReplicationFactor: int
    AvailabilityZones: list[str] | None = None
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
    removed = {node.node_id for node in _to_remove(cluster, request, count - wanted)}
    nodes = [
        msgspec.structs.replace(node, status="deleting") if node.node_id in removed else node for node in cluster.nodes
    ]
    changed = msgspec.structs.replace(cluster, status="modifying", nodes=nodes, until_seconds=clusters.until_seconds)
    return {"Cluster": await kept_cluster(clusters, caller, cluster, changed)}


def _to_remove(cluster: Cluster, request: DecreaseReplicationFactorRequest, count: int) -> Sequence[ClusterNode]:
    """The nodes to remove. Raises ServiceError."""
    named = request.NodeIdsToRemove
    if named:
        by_id = {node.node_id: node for node in cluster.nodes}
        missing = [node_id for node_id in named if node_id not in by_id]
        if missing:
            refuse_dax("NodeNotFoundFault", sentences.NODE_NOT_FOUND, node=missing[0][:100], name=cluster.name)
        if len(set(named)) != count:
            refuse_dax(
                "InvalidParameterCombinationException", sentences.NODES_COUNT, given=len(set(named)), wanted=count
            )
        return [by_id[node_id] for node_id in named]
    newest_first = sorted(cluster.nodes, key=lambda node: (node.created_seconds, node.node_id), reverse=True)
    if not request.AvailabilityZones:
        return newest_first[:count]
    removed: list[ClusterNode] = []
    for zone in request.AvailabilityZones:
        removed += [node for node in newest_first if node.zone == zone and node not in removed][:1]
    if len(removed) != count:
        refuse_dax("InvalidParameterCombinationException", sentences.NODES_COUNT, given=len(removed), wanted=count)
    return removed


class RebootNodeRequest(msgspec.Struct, frozen=True):
    """Request of RebootNode."""

    ClusterName: str
    NodeId: str


async def reboot_node(clusters: Clusters, caller: Caller, request: RebootNodeRequest) -> Mapping[str, Any]:
    """RebootNode: empties a node's caches, and lets changed parameters take effect.

    Returns the cluster, one node of which is being rebooted. Raises ServiceError and StorageError.
    """
    cluster = cluster_to_change(clusters, caller, request.ClusterName)
    if all(node.node_id != request.NodeId for node in cluster.nodes):
        refuse_dax("NodeNotFoundFault", sentences.NODE_NOT_FOUND, node=request.NodeId[:100], name=cluster.name)
    nodes = [
        msgspec.structs.replace(node, status="rebooting") if node.node_id == request.NodeId else node
        for node in cluster.nodes
    ]
    changed = msgspec.structs.replace(cluster, nodes=nodes, until_seconds=clusters.until_seconds)
    return {"Cluster": await kept_cluster(clusters, caller, cluster, changed, f"Rebooting node {request.NodeId}.")}


OPERATIONS = (
    Operation("IncreaseReplicationFactor", IncreaseReplicationFactorRequest, increase_replication_factor, FORM),
    Operation("DecreaseReplicationFactor", DecreaseReplicationFactorRequest, decrease_replication_factor, FORM),
    Operation("RebootNode", RebootNodeRequest, reboot_node, FORM),
)
