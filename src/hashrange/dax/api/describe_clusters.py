"""DescribeClusters: the clusters of an account and Region, and that of `--dax-port`."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.members import described_cluster, found_cluster, part_of_records
from hashrange.dax.clusters import Clusters


class DescribeClustersRequest(msgspec.Struct, frozen=True):
    """Request of DescribeClusters."""

    ClusterNames: list[str] | None = None
    MaxResults: int | None = None
    NextToken: str | None = None


async def describe_clusters(clusters: Clusters, caller: Caller, request: DescribeClustersRequest) -> Mapping[str, Any]:
    """Returns a page of clusters. Raises ServiceError and StorageError."""
    if request.ClusterNames:
        every = [found_cluster(clusters, caller, name) for name in request.ClusterNames]
    else:
        every = list(clusters.clusters(caller.account, caller.region))
    page, token = part_of_records(every, request.NextToken, request.MaxResults)
    return {"Clusters": [described_cluster(clusters, caller, one) for one in page], **token}


OPERATION = Operation("DescribeClusters", DescribeClustersRequest, describe_clusters, FORM)
