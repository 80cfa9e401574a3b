"""The operations on subnet groups: CreateSubnetGroup, DeleteSubnetGroup, UpdateSubnetGroup,
DescribeSubnetGroups. Subnets have no effect here.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.members import (
    bad_value,
    check_description,
    check_group_name,
    described_subnet_group,
    found_subnet_group,
    part_of_records,
    refuse_dax,
)
from hashrange.dax.clusters import Clusters
from hashrange.dax.limits import GROUP_SUBNETS_MAX, SUBNET_GROUPS_MAX
from hashrange.dax.records import DEFAULT_SUBNET_GROUP, SubnetGroup
from hashrange.messages import dax as sentences

_is_subnet = re.compile(r"subnet-[a-z0-9]{1,64}").fullmatch


class CreateSubnetGroupRequest(msgspec.Struct, frozen=True):
    """Request of CreateSubnetGroup."""

    SubnetGroupName: str
    SubnetIds: list[str]
    Description: str | None = None


class DeleteSubnetGroupRequest(msgspec.Struct, frozen=True):
    """Request of DeleteSubnetGroup."""

    SubnetGroupName: str


class UpdateSubnetGroupRequest(msgspec.Struct, frozen=True):
    """Request of UpdateSubnetGroup."""

    SubnetGroupName: str
    Description: str | None = None
    SubnetIds: list[str] | None = None


class DescribeSubnetGroupsRequest(msgspec.Struct, frozen=True):
    """Request of DescribeSubnetGroups."""

    SubnetGroupNames: list[str] | None = None
    MaxResults: int | None = None
    NextToken: str | None = None


async def create_subnet_group(
    clusters: Clusters, caller: Caller, request: CreateSubnetGroupRequest
) -> Mapping[str, Any]:
    """Returns the new group. Raises ServiceError and StorageError."""
    name = request.SubnetGroupName
    check_group_name("SubnetGroupName", name)
    check_description(request.Description)
    every = clusters.subnet_groups(caller.account, caller.region)
    if any(one.name == name for one in every):
        refuse_dax("SubnetGroupAlreadyExistsFault", sentences.SUBNET_GROUP_EXISTS, name=name)
    if len(every) > SUBNET_GROUPS_MAX:
        refuse_dax("SubnetGroupQuotaExceededFault", sentences.SUBNET_GROUP_QUOTA, most=SUBNET_GROUPS_MAX)
    group = SubnetGroup(
        account=caller.account,
        region=caller.region,
        name=name,
        subnets=_checked(request.SubnetIds),
        description=request.Description,
    )
    await clusters.replace(None, group, "Subnet group created.")
    return {"SubnetGroup": described_subnet_group(group)}


def _checked(subnets: Sequence[str]) -> list[str]:
    if not subnets:
        bad_value(sentences.NO_SUBNETS)
    if len(set(subnets)) > GROUP_SUBNETS_MAX:
        refuse_dax("SubnetQuotaExceededFault", sentences.SUBNET_QUOTA, most=GROUP_SUBNETS_MAX)
    for subnet in subnets:
        if _is_subnet(subnet) is None:
            refuse_dax("InvalidSubnet", sentences.SUBNET, subnet=subnet[:100])
    return list(dict.fromkeys(subnets))


def _own_group(clusters: Clusters, caller: Caller, name: str) -> SubnetGroup:
    group = found_subnet_group(clusters, caller, name)
    if name == DEFAULT_SUBNET_GROUP:
        refuse_dax("SubnetGroupInUseFault", sentences.RESERVED, name=name)
    return group


async def delete_subnet_group(
    clusters: Clusters, caller: Caller, request: DeleteSubnetGroupRequest
) -> Mapping[str, Any]:
    """Returns a message. Raises ServiceError and StorageError."""
    group = _own_group(clusters, caller, request.SubnetGroupName)
    for cluster in clusters.clusters(caller.account, caller.region):
        if cluster.subnet_group == group.name:
            refuse_dax("SubnetGroupInUseFault", sentences.SUBNET_GROUP_USED, name=group.name, cluster=cluster.name)
    await clusters.replace(group, None, "Subnet group deleted.")
    return {"DeletionMessage": sentences.SUBNET_GROUP_GONE.format(name=group.name)}


async def update_subnet_group(
    clusters: Clusters, caller: Caller, request: UpdateSubnetGroupRequest
) -> Mapping[str, Any]:
    """Returns the changed group. Raises ServiceError and StorageError."""
    group = _own_group(clusters, caller, request.SubnetGroupName)
    check_description(request.Description)
    changed = msgspec.structs.replace(
        group,
        description=group.description if request.Description is None else request.Description,
        subnets=group.subnets if request.SubnetIds is None else _checked(request.SubnetIds),
    )
    await clusters.replace(group, changed, "Subnet group updated.")
    return {"SubnetGroup": described_subnet_group(changed)}


async def describe_subnet_groups(
    clusters: Clusters, caller: Caller, request: DescribeSubnetGroupsRequest
) -> Mapping[str, Any]:
    """Returns a page of groups. Raises ServiceError and StorageError."""
    if request.SubnetGroupNames:
        every = [found_subnet_group(clusters, caller, name) for name in request.SubnetGroupNames]
    else:
        every = list(clusters.subnet_groups(caller.account, caller.region))
    page, token = part_of_records(every, request.NextToken, request.MaxResults)
    return {"SubnetGroups": [described_subnet_group(group) for group in page], **token}


OPERATIONS = (
    Operation("CreateSubnetGroup", CreateSubnetGroupRequest, create_subnet_group, FORM),
    Operation("DeleteSubnetGroup", DeleteSubnetGroupRequest, delete_subnet_group, FORM),
    Operation("UpdateSubnetGroup", UpdateSubnetGroupRequest, update_subnet_group, FORM),
    Operation("DescribeSubnetGroups", DescribeSubnetGroupsRequest, describe_subnet_groups, FORM),
)
