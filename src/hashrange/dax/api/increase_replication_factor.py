"""IncreaseReplicationFactor: adds nodes to a cluster."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.create_cluster import check_node_quotas
from hashrange.dax.api.members import bad_value, cluster_to_change, described_cluster, new_nodes, region_of_nodes
from hashrange.dax.clusters import Clusters
from hashrange.messages import dax as sentences


class IncreaseReplicationFactorRequest(msgspec.Struct, frozen=True):
    """Request of IncreaseReplicationFactor."""

    ClusterName: str
    NewReplicationFactor: int
    AvailabilityZones: list[str] | None = None


async def increase_replication_factor(
    clusters: Clusters, caller: Caller, request: IncreaseReplicationFactorRequest
) -> Mapping[str, Any]:
    """Returns the cluster, whose new nodes are being created. Raises ServiceError and StorageError."""
    cluster = cluster_to_change(clusters, caller, request.ClusterName)
    count, wanted = len(cluster.nodes), request.NewReplicationFactor
    if wanted <= count:
        bad_value(sentences.MORE_NODES, factor=wanted, current=count)
    check_node_quotas(clusters, caller, wanted, wanted - count)
    taken = [node.node_id for node in cluster.nodes]
    region = region_of_nodes(cluster, caller)
    added = new_nodes(cluster.name, region, taken, wanted - count, request.AvailabilityZones, clusters.now_seconds())
    nodes = sorted([*cluster.nodes, *added], key=lambda node: node.node_id)
    changed = msgspec.structs.replace(cluster, status="modifying", nodes=nodes, until_seconds=clusters.until_seconds)
    described = described_cluster(clusters, caller, changed)
    await clusters.keep(changed)
    return {"Cluster": described}


OPERATION = Operation("IncreaseReplicationFactor", IncreaseReplicationFactorRequest, increase_replication_factor, FORM)
