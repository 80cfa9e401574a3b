"""The operations on tags of clusters: TagResource, UntagResource, ListTags."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.members import (
    ClusterTagMember,
    check_cluster_tags,
    cluster_of_arn,
    described_tags,
    part_of_records,
    refuse_dax,
)
from hashrange.dax.clusters import Clusters
from hashrange.messages import dax as sentences


class TagClusterRequest(msgspec.Struct, frozen=True):
    """Request of TagResource."""

    ResourceName: str
    Tags: list[ClusterTagMember]


class UntagClusterRequest(msgspec.Struct, frozen=True):
    """Request of UntagResource."""

    ResourceName: str
    TagKeys: list[str]


class ListClusterTagsRequest(msgspec.Struct, frozen=True):
    """Request of ListTags."""

    ResourceName: str
    NextToken: str | None = None


async def tag_cluster(clusters: Clusters, caller: Caller, request: TagClusterRequest) -> Mapping[str, Any]:
    """Returns all tags of the cluster. Raises ServiceError and StorageError."""
    cluster = cluster_of_arn(clusters, caller, request.ResourceName, is_changed=True)
    changed = msgspec.structs.replace(cluster, tags=check_cluster_tags(request.Tags, cluster.tags))
    await clusters.keep(changed)
    return {"Tags": described_tags(changed)}


async def untag_cluster(clusters: Clusters, caller: Caller, request: UntagClusterRequest) -> Mapping[str, Any]:
    """Returns the tags that are left. Raises ServiceError and StorageError."""
    cluster = cluster_of_arn(clusters, caller, request.ResourceName, is_changed=True)
    for key in request.TagKeys:
        if key not in cluster.tags:
            refuse_dax("TagNotFoundFault", sentences.TAG_NOT_FOUND, key=key[:200])
    tags = {key: value for key, value in cluster.tags.items() if key not in request.TagKeys}
    changed = msgspec.structs.replace(cluster, tags=tags)
    await clusters.keep(changed)
    return {"Tags": described_tags(changed)}


async def list_cluster_tags(clusters: Clusters, caller: Caller, request: ListClusterTagsRequest) -> Mapping[str, Any]:
    """Returns the tags of the cluster. Raises ServiceError and StorageError."""
    cluster = cluster_of_arn(clusters, caller, request.ResourceName, is_changed=False)
    page, token = part_of_records(described_tags(cluster), request.NextToken, None)
    return {"Tags": page, **token}


OPERATIONS = (
    Operation("TagResource", TagClusterRequest, tag_cluster, FORM),
    Operation("UntagResource", UntagClusterRequest, untag_cluster, FORM),
    Operation("ListTags", ListClusterTagsRequest, list_cluster_tags, FORM),
)
