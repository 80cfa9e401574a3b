"""The operations on tags of clusters: TagResource, UntagResource, ListTags. CreateCluster checks tags too."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.aws_services.tagging import Tagging, TagsChange, TagSet, is_reserved_tag, key_value_tags
from hashrange.dax.api.members import PartRequest, bad_value, cluster_of_arn, part_of_records, refuse_dax
from hashrange.dax.clusters import Clusters
from hashrange.dax.limits import CLUSTER_TAGS_MAX, TAG_KEY_LENGTH_MAX, TAG_VALUE_LENGTH_MAX
from hashrange.dax.records import Cluster
from hashrange.items.steps import walk
from hashrange.messages import dax as sentences


class ClusterTagMember(msgspec.Struct, frozen=True):
    """A tag of a cluster."""

    Key: str = ""
    Value: str = ""


class ListClusterTagsRequest(msgspec.Struct, frozen=True):
    """Request of ListTags."""

    ResourceName: str
    NextToken: str | None = None


class TagClusterRequest(msgspec.Struct, frozen=True):
    """Request of TagResource."""

    ResourceName: str
    Tags: list[ClusterTagMember]


class UntagClusterRequest(msgspec.Struct, frozen=True):
    """Request of UntagResource."""

    ResourceName: str
    TagKeys: list[str]


def added_cluster_tags(present: TagSet, given: Sequence[ClusterTagMember]) -> dict[str, str]:
    """The tags of a cluster with these added. Raises ServiceError."""
    for tag in walk(given):
        if not 1 <= len(tag.Key) <= TAG_KEY_LENGTH_MAX or len(tag.Value) > TAG_VALUE_LENGTH_MAX:
            bad_value(sentences.TAG, key=TAG_KEY_LENGTH_MAX, value=TAG_VALUE_LENGTH_MAX)
        if is_reserved_tag(tag.Key):
            bad_value(sentences.TAG_PREFIX, key=tag.Key)
    tags = {**present, **{tag.Key: tag.Value for tag in walk(given)}}
    if len(tags) > CLUSTER_TAGS_MAX:
        refuse_dax("TagQuotaPerResourceExceeded", sentences.TAG_QUOTA, most=CLUSTER_TAGS_MAX)
    return tags


def _find(clusters: Clusters, caller: Caller, request: TagClusterRequest | UntagClusterRequest) -> Cluster:
    return cluster_of_arn(clusters, caller, request.ResourceName, is_changed=True)


def _added(_: Cluster, present: TagSet, given: Sequence[ClusterTagMember]) -> dict[str, str]:
    return added_cluster_tags(present, given)


def _gone(present: TagSet, keys: Sequence[str]) -> Collection[str]:
    for key in walk(keys):
        if key not in present:
            refuse_dax("TagNotFoundFault", sentences.TAG_NOT_FOUND, key=key[:200])
    return set(walk(keys))


def _shown(tags: TagSet) -> list[dict[str, str]]:
    return key_value_tags(dict(sorted(tags.items())))


async def list_cluster_tags(clusters: Clusters, caller: Caller, request: ListClusterTagsRequest) -> Mapping[str, Any]:
    """Returns a page of the cluster's tags. Raises ServiceError."""
    cluster = cluster_of_arn(clusters, caller, request.ResourceName, is_changed=False)
    page, token = part_of_records(_shown(cluster.tags), PartRequest(NextToken=request.NextToken))
    return {"Tags": page, **token}


async def _store(clusters: Clusters, _caller: Caller, cluster: Cluster, change: TagsChange) -> TagSet:
    tags = change(cluster.tags)
    await clusters.keep(cluster, msgspec.structs.replace(cluster, tags=tags))
    return tags


_TAGGING = Tagging(_find, _added, _store, _gone, _shown, are_told=True)
OPERATIONS = (
    Operation("TagResource", TagClusterRequest, _TAGGING.tag, FORM),
    Operation("UntagResource", UntagClusterRequest, _TAGGING.untag, FORM),
    Operation("ListTags", ListClusterTagsRequest, list_cluster_tags, FORM),
)
