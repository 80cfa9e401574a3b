"""The operations on parameter groups and on subnet groups: Create…, Delete…, Update…, Describe… of each;
DescribeParameters and DescribeDefaultParameters. Subnets have no effect here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.members import (
    PartRequest,
    bad_value,
    check_description,
    check_group_name,
    part_of_records,
    refuse_dax,
)
from hashrange.dax.clusters import Clusters
from hashrange.dax.limits import GROUP_SUBNETS_MAX, PARAMETER_GROUPS_MAX, SUBNET_GROUPS_MAX, TTL_MILLIS_MAX
from hashrange.dax.records import (
    DEFAULT_PARAMETER_GROUP,
    DEFAULT_SUBNET_GROUP,
    DEFAULT_TTL_MILLIS,
    PARAMETERS,
    Cluster,
    ParameterGroup,
    SubnetGroup,
)
from hashrange.messages import dax as sentences

GroupT = TypeVar("GroupT", ParameterGroup, SubnetGroup)
SOURCES = ("user", "system")
_DESCRIPTIONS = {
    "query-ttl-millis": "Duration in milliseconds for queries to remain cached",
    "record-ttl-millis": "Duration in milliseconds for records to remain valid in cache (Default: 0 = infinite)",
}
_is_subnet = re.compile(r"subnet-[a-z0-9]{1,64}").fullmatch


class GroupKind(msgspec.Struct, Generic[GroupT], frozen=True):
    """What the operations on groups of one kind have in common. They raise ServiceError and StorageError."""

    word: str
    """`Parameter` or `Subnet`: begins the names of members and errors, and sentences."""
    every: Callable[[Clusters, str, str], Sequence[GroupT]]
    """The groups of an account and Region."""
    default: str
    """Name of the group that nobody may change."""
    most: int
    """Groups of an account and Region besides that one."""
    state_fault: str
    """The error for a group that may not be changed or deleted."""
    is_used: Callable[[Clusters, Cluster, GroupT], bool]
    shown: Callable[[GroupT], Mapping[str, Any]]
    """What replies show of a group beside its name and description."""

    def find(self, clusters: Clusters, caller: Caller, name: str) -> GroupT:
        """The group of this name."""
        every = self.every(clusters, caller.account, caller.region)
        group = next((one for one in every if one.name == name), None)
        if group is None:
            refuse_dax(f"{self.word}GroupNotFoundFault", sentences.GROUP_NOT_FOUND, kind=self.word, name=name[:100])
        return group

    def find_own(self, clusters: Clusters, caller: Caller, request: Any) -> GroupT:
        """The group that a request names, which it may change."""
        group = self.find(clusters, caller, getattr(request, f"{self.word}GroupName"))
        if group.name == self.default:
            refuse_dax(self.state_fault, sentences.RESERVED, name=group.name)
        return group

    def check_new(self, clusters: Clusters, caller: Caller, name: str, description: str | None) -> None:
        """Raise ServiceError unless a group may be made with this name and description."""
        check_group_name(f"{self.word}GroupName", name)
        check_description(description)
        every = self.every(clusters, caller.account, caller.region)
        if any(one.name == name for one in every):
            refuse_dax(f"{self.word}GroupAlreadyExistsFault", sentences.GROUP_EXISTS, kind=self.word, name=name)
        if len(every) > self.most:
            code, kind = f"{self.word}GroupQuotaExceededFault", self.word.lower()
            refuse_dax(code, sentences.GROUP_QUOTA, kind=kind, most=self.most)

    async def store(self, clusters: Clusters, before: GroupT | None, after: GroupT, done: str) -> Mapping[str, Any]:
        """Create or replace a group, and note that it is `done`; returns the reply."""
        await clusters.replace(before, after, f"{self.word} group {done}.")
        return {f"{self.word}Group": self._described(after)}

    async def delete(self, clusters: Clusters, caller: Caller, request: Any) -> Mapping[str, Any]:
        """Delete…Group: deletes a group that no cluster uses. Returns a message."""
        group = self.find_own(clusters, caller, request)
        for cluster in clusters.clusters(caller.account, caller.region):
            if self.is_used(clusters, cluster, group):
                names = {"name": group.name, "cluster": cluster.name}
                refuse_dax(self.state_fault, sentences.GROUP_USED, kind=self.word, **names)
        await clusters.replace(group, None, f"{self.word} group deleted.")
        return {"DeletionMessage": sentences.GROUP_GONE.format(kind=self.word, name=group.name)}

    async def describe(self, clusters: Clusters, caller: Caller, request: Any) -> Mapping[str, Any]:
        """Describe…Groups: returns a page of groups."""
        every = [self.find(clusters, caller, name) for name in getattr(request, f"{self.word}GroupNames") or ()]
        every = every or list(self.every(clusters, caller.account, caller.region))
        page, token = part_of_records(every, request)
        return {f"{self.word}Groups": [self._described(group) for group in page], **token}

    def _described(self, group: GroupT) -> dict[str, Any]:
        description = {} if group.description is None else {"Description": group.description}
        return {f"{self.word}GroupName": group.name, **description, **self.shown(group)}


# --- parameter groups ---------------------------------------------------------------------------

PARAMETER_GROUPS: GroupKind[ParameterGroup] = GroupKind(
    "Parameter",
    Clusters.parameter_groups,
    DEFAULT_PARAMETER_GROUP,
    PARAMETER_GROUPS_MAX,
    "InvalidParameterGroupStateFault",
    lambda clusters, cluster, group: clusters.parameters_of(cluster) == group,
    lambda _group: {},
)


class DeleteParameterGroupRequest(msgspec.Struct, frozen=True):
    """Request of DeleteParameterGroup."""

    ParameterGroupName: str


class CreateParameterGroupRequest(DeleteParameterGroupRequest, frozen=True):
    """Request of CreateParameterGroup."""

    Description: str | None = None


class ParameterMember(msgspec.Struct, frozen=True):
    """A parameter with its new value."""

    ParameterName: str = ""
    ParameterValue: str = ""


class UpdateParameterGroupRequest(DeleteParameterGroupRequest, frozen=True):
    """Request of UpdateParameterGroup."""

    ParameterNameValues: list[ParameterMember]


class DescribeParameterGroupsRequest(PartRequest, frozen=True):
    """Request of DescribeParameterGroups."""

    ParameterGroupNames: list[str] | None = None


class DescribeParametersRequest(PartRequest, frozen=True, kw_only=True):
    """Request of DescribeParameters."""

    ParameterGroupName: str
    Source: str | None = None


async def create_parameter_group(
    clusters: Clusters, caller: Caller, request: CreateParameterGroupRequest
) -> Mapping[str, Any]:
    """Returns the new group. Raises ServiceError and StorageError."""
    name, description = request.ParameterGroupName, request.Description
    PARAMETER_GROUPS.check_new(clusters, caller, name, description)
    group = ParameterGroup(account=caller.account, region=caller.region, name=name, description=description)
    return await PARAMETER_GROUPS.store(clusters, None, group, "created")


async def update_parameter_group(
    clusters: Clusters, caller: Caller, request: UpdateParameterGroupRequest
) -> Mapping[str, Any]:
    """Returns the group. Its values take effect when nodes are started or rebooted.
    Raises ServiceError and StorageError.
    """
    group = PARAMETER_GROUPS.find_own(clusters, caller, request)
    if not request.ParameterNameValues:
        bad_value(sentences.NO_PARAMETERS)
    changes: dict[str, int] = {}
    for one in request.ParameterNameValues:
        if one.ParameterName not in PARAMETERS:
            bad_value(sentences.PARAMETER_NAME, name=one.ParameterName[:100])
        text = one.ParameterValue
        if not (text.isascii() and text.isdecimal()) or len(text) > 10 or int(text) > TTL_MILLIS_MAX:
            bad_value(sentences.PARAMETER_VALUE, name=one.ParameterName, value=text[:100])
        changes[one.ParameterName] = int(text)
    changed = msgspec.structs.replace(
        group,
        record_ttl_millis=changes.get("record-ttl-millis", group.record_ttl_millis),
        query_ttl_millis=changes.get("query-ttl-millis", group.query_ttl_millis),
        changed=sorted({*group.changed, *changes}),
    )
    return await PARAMETER_GROUPS.store(clusters, group, changed, "updated")


async def describe_parameters(
    clusters: Clusters, caller: Caller, request: DescribeParametersRequest
) -> Mapping[str, Any]:
    """Returns a group's parameters; `Source`: only those that a user has set, or has not.
    Raises ServiceError and StorageError.
    """
    group = PARAMETER_GROUPS.find(clusters, caller, request.ParameterGroupName)
    if request.Source is not None and request.Source not in SOURCES:
        bad_value(sentences.SOURCE, source=request.Source[:100])
    page, token = part_of_records(
        [one for one in _parameters(group) if request.Source in (None, one["Source"])], request
    )
    return {"Parameters": page, **token}


async def describe_default_parameters(clusters: Clusters, caller: Caller, request: PartRequest) -> Mapping[str, Any]:
    """Returns the parameters of a group that nobody has changed. Raises ServiceError."""
    page, token = part_of_records(_parameters(clusters.parameter_groups(caller.account, caller.region)[0]), request)
    return {"Parameters": page, **token}


def _parameters(group: ParameterGroup) -> list[dict[str, Any]]:
    values = {"query-ttl-millis": group.query_ttl_millis, "record-ttl-millis": group.record_ttl_millis}
    return [
        {
            "ParameterName": name,
            "ParameterType": "DEFAULT",
            "ParameterValue": str(values.get(name, DEFAULT_TTL_MILLIS)),
            "NodeTypeSpecificValues": [],
            "Description": _DESCRIPTIONS[name],
            "Source": "user" if name in group.changed else "system",
            "DataType": "integer",
            "AllowedValues": "0-",
            "IsModifiable": "TRUE",
            "ChangeType": "IMMEDIATE",
        }
        for name in PARAMETERS
    ]


# --- subnet groups ------------------------------------------------------------------------------


def _shown_subnets(group: SubnetGroup) -> dict[str, Any]:
    """All subnets are in one zone: they have no effect here."""
    shared = {"SubnetAvailabilityZone": f"{group.region}a", "SupportedNetworkTypes": ["ipv4"]}
    return {
        "VpcId": "vpc-default",
        "Subnets": [{"SubnetIdentifier": subnet, **shared} for subnet in group.subnets],
        "SupportedNetworkTypes": ["ipv4"],
    }


SUBNET_GROUPS: GroupKind[SubnetGroup] = GroupKind(
    "Subnet",
    Clusters.subnet_groups,
    DEFAULT_SUBNET_GROUP,
    SUBNET_GROUPS_MAX,
    "SubnetGroupInUseFault",
    lambda _clusters, cluster, group: cluster.subnet_group == group.name,
    _shown_subnets,
)


class DeleteSubnetGroupRequest(msgspec.Struct, frozen=True):
    """Request of DeleteSubnetGroup."""

    SubnetGroupName: str


class CreateSubnetGroupRequest(DeleteSubnetGroupRequest, frozen=True):
    """Request of CreateSubnetGroup."""

    SubnetIds: list[str]
    Description: str | None = None


class UpdateSubnetGroupRequest(DeleteSubnetGroupRequest, frozen=True):
    """Request of UpdateSubnetGroup."""

    Description: str | None = None
    SubnetIds: list[str] | None = None


class DescribeSubnetGroupsRequest(PartRequest, frozen=True):
    """Request of DescribeSubnetGroups."""

    SubnetGroupNames: list[str] | None = None


async def create_subnet_group(
    clusters: Clusters, caller: Caller, request: CreateSubnetGroupRequest
) -> Mapping[str, Any]:
    """Returns the new group. Raises ServiceError and StorageError."""
    name, description = request.SubnetGroupName, request.Description
    SUBNET_GROUPS.check_new(clusters, caller, name, description)
    subnets = _checked(request.SubnetIds)
    place = {"account": caller.account, "region": caller.region}
    group = SubnetGroup(**place, name=name, subnets=subnets, description=description)
    return await SUBNET_GROUPS.store(clusters, None, group, "created")


def _checked(subnets: Sequence[str]) -> list[str]:
    if not subnets:
        bad_value(sentences.NO_SUBNETS)
    if len(set(subnets)) > GROUP_SUBNETS_MAX:
        refuse_dax("SubnetQuotaExceededFault", sentences.SUBNET_QUOTA, most=GROUP_SUBNETS_MAX)
    for subnet in subnets:
        if _is_subnet(subnet) is None:
            refuse_dax("InvalidSubnet", sentences.SUBNET, subnet=subnet[:100])
    return list(dict.fromkeys(subnets))


async def update_subnet_group(
    clusters: Clusters, caller: Caller, request: UpdateSubnetGroupRequest
) -> Mapping[str, Any]:
    """Returns the changed group. Raises ServiceError and StorageError."""
    group = SUBNET_GROUPS.find_own(clusters, caller, request)
    check_description(request.Description)
    changed = msgspec.structs.replace(
        group,
        description=group.description if request.Description is None else request.Description,
        subnets=group.subnets if request.SubnetIds is None else _checked(request.SubnetIds),
    )
    return await SUBNET_GROUPS.store(clusters, group, changed, "updated")


OPERATIONS = (
    Operation("CreateParameterGroup", CreateParameterGroupRequest, create_parameter_group, FORM),
    Operation("DeleteParameterGroup", DeleteParameterGroupRequest, PARAMETER_GROUPS.delete, FORM),
    Operation("UpdateParameterGroup", UpdateParameterGroupRequest, update_parameter_group, FORM),
    Operation("DescribeParameterGroups", DescribeParameterGroupsRequest, PARAMETER_GROUPS.describe, FORM),
    Operation("DescribeParameters", DescribeParametersRequest, describe_parameters, FORM),
    Operation("DescribeDefaultParameters", PartRequest, describe_default_parameters, FORM),
    Operation("CreateSubnetGroup", CreateSubnetGroupRequest, create_subnet_group, FORM),
    Operation("DeleteSubnetGroup", DeleteSubnetGroupRequest, SUBNET_GROUPS.delete, FORM),
    Operation("UpdateSubnetGroup", UpdateSubnetGroupRequest, update_subnet_group, FORM),
    Operation("DescribeSubnetGroups", DescribeSubnetGroupsRequest, SUBNET_GROUPS.describe, FORM),
)
