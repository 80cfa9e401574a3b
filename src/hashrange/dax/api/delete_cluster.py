"""DeleteCluster: stops all nodes of a cluster, and forgets it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.members import cluster_to_change, described_cluster
from hashrange.dax.clusters import Clusters


class DeleteClusterRequest(msgspec.Struct, frozen=True):
    """Request of DeleteCluster."""

    ClusterName: str


async def delete_cluster(clusters: Clusters, caller: Caller, request: DeleteClusterRequest) -> Mapping[str, Any]:
    """Returns the cluster, which is being deleted. Raises ServiceError and StorageError."""
    cluster = cluster_to_change(clusters, caller, request.ClusterName)
    nodes = [msgspec.structs.replace(node, status="deleting") for node in cluster.nodes]
    deleting = msgspec.structs.replace(cluster, status="deleting", nodes=nodes, until_seconds=clusters.until_seconds)
    described = described_cluster(clusters, caller, deleting)
    await clusters.keep(deleting)
    return {"Cluster": described}


OPERATION = Operation("DeleteCluster", DeleteClusterRequest, delete_cluster, FORM)
