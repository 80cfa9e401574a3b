"""RebootNode: empties a node's caches, and lets changed parameters take effect."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.members import cluster_to_change, described_cluster, refuse_dax
from hashrange.dax.clusters import Clusters
from hashrange.messages import dax as sentences


class RebootNodeRequest(msgspec.Struct, frozen=True):
    """Request of RebootNode."""

    ClusterName: str
    NodeId: str


async def reboot_node(clusters: Clusters, caller: Caller, request: RebootNodeRequest) -> Mapping[str, Any]:
    """Returns the cluster, one node of which is being rebooted. Raises ServiceError and StorageError."""
    cluster = cluster_to_change(clusters, caller, request.ClusterName)
    if all(node.node_id != request.NodeId for node in cluster.nodes):
        refuse_dax("NodeNotFoundFault", sentences.NODE_NOT_FOUND, node=request.NodeId[:100], name=cluster.name)
    nodes = [
        msgspec.structs.replace(node, status="rebooting") if node.node_id == request.NodeId else node
        for node in cluster.nodes
    ]
    changed = msgspec.structs.replace(cluster, nodes=nodes, until_seconds=clusters.until_seconds)
    described = described_cluster(clusters, caller, changed)
    await clusters.keep(changed, f"Rebooting node {request.NodeId}.")
    return {"Cluster": described}


OPERATION = Operation("RebootNode", RebootNodeRequest, reboot_node, FORM)
