"""The operations on parameter groups: CreateParameterGroup, DeleteParameterGroup, UpdateParameterGroup,
DescribeParameterGroups, DescribeParameters, DescribeDefaultParameters.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.members import (
    bad_value,
    check_description,
    check_group_name,
    described_parameter_group,
    found_parameter_group,
    part_of_records,
    refuse_dax,
)
from hashrange.dax.clusters import Clusters
from hashrange.dax.limits import PARAMETER_GROUPS_MAX, TTL_MILLIS_MAX
from hashrange.dax.records import DEFAULT_PARAMETER_GROUP, DEFAULT_TTL_MILLIS, PARAMETERS, ParameterGroup
from hashrange.messages import dax as sentences

SOURCES = ("user", "system")
_DESCRIPTIONS = {
    "query-ttl-millis": "Duration in milliseconds for queries to remain cached",
    "record-ttl-millis": "Duration in milliseconds for records to remain valid in cache (Default: 0 = infinite)",
}


class CreateParameterGroupRequest(msgspec.Struct, frozen=True):
    """Request of CreateParameterGroup."""

    ParameterGroupName: str
    Description: str | None = None


class DeleteParameterGroupRequest(msgspec.Struct, frozen=True):
    """Request of DeleteParameterGroup."""

    ParameterGroupName: str


class ParameterMember(msgspec.Struct, frozen=True):
    """A parameter with its new value."""

    ParameterName: str = ""
    ParameterValue: str = ""


class UpdateParameterGroupRequest(msgspec.Struct, frozen=True):
    """Request of UpdateParameterGroup."""

    ParameterGroupName: str
    ParameterNameValues: list[ParameterMember]


class DescribeParameterGroupsRequest(msgspec.Struct, frozen=True):
    """Request of DescribeParameterGroups."""

    ParameterGroupNames: list[str] | None = None
    MaxResults: int | None = None
    NextToken: str | None = None


class DescribeParametersRequest(msgspec.Struct, frozen=True):
    """Request of DescribeParameters."""

    ParameterGroupName: str
    Source: str | None = None
    MaxResults: int | None = None
    NextToken: str | None = None


class DescribeDefaultParametersRequest(msgspec.Struct, frozen=True):
    """Request of DescribeDefaultParameters."""

    MaxResults: int | None = None
    NextToken: str | None = None


async def create_parameter_group(
    clusters: Clusters, caller: Caller, request: CreateParameterGroupRequest
) -> Mapping[str, Any]:
    """Returns the new group. Raises ServiceError and StorageError."""
    name = request.ParameterGroupName
    check_group_name("ParameterGroupName", name)
    check_description(request.Description)
    every = clusters.parameter_groups(caller.account, caller.region)
    if any(one.name == name for one in every):
        refuse_dax("ParameterGroupAlreadyExistsFault", sentences.PARAMETER_GROUP_EXISTS, name=name)
    if len(every) > PARAMETER_GROUPS_MAX:
        refuse_dax("ParameterGroupQuotaExceededFault", sentences.PARAMETER_GROUP_QUOTA, most=PARAMETER_GROUPS_MAX)
    group = ParameterGroup(account=caller.account, region=caller.region, name=name, description=request.Description)
    await clusters.replace(None, group, "Parameter group created.")
    return {"ParameterGroup": described_parameter_group(group)}


def _own_group(clusters: Clusters, caller: Caller, name: str) -> ParameterGroup:
    group = found_parameter_group(clusters, caller, name)
    if name == DEFAULT_PARAMETER_GROUP:
        refuse_dax("InvalidParameterGroupStateFault", sentences.RESERVED, name=name)
    return group


async def delete_parameter_group(
    clusters: Clusters, caller: Caller, request: DeleteParameterGroupRequest
) -> Mapping[str, Any]:
    """Returns a message. Raises ServiceError and StorageError."""
    group = _own_group(clusters, caller, request.ParameterGroupName)
    for cluster in clusters.clusters(caller.account, caller.region):
        if clusters.parameters_of(cluster) == group:
            refuse_dax(
                "InvalidParameterGroupStateFault",
                sentences.PARAMETER_GROUP_USED,
                name=group.name,
                cluster=cluster.name,
            )
    await clusters.replace(group, None, "Parameter group deleted.")
    return {"DeletionMessage": sentences.PARAMETER_GROUP_GONE.format(name=group.name)}


async def update_parameter_group(
    clusters: Clusters, caller: Caller, request: UpdateParameterGroupRequest
) -> Mapping[str, Any]:
    """Returns the group. Its values take effect when nodes are started or rebooted.
    Raises ServiceError and StorageError.
    """
    group = _own_group(clusters, caller, request.ParameterGroupName)
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
    await clusters.replace(group, changed, "Parameter group updated.")
    return {"ParameterGroup": described_parameter_group(changed)}


async def describe_parameter_groups(
    clusters: Clusters, caller: Caller, request: DescribeParameterGroupsRequest
) -> Mapping[str, Any]:
    """Returns a page of groups. Raises ServiceError and StorageError."""
    if request.ParameterGroupNames:
        every = [found_parameter_group(clusters, caller, name) for name in request.ParameterGroupNames]
    else:
        every = list(clusters.parameter_groups(caller.account, caller.region))
    page, token = part_of_records(every, request.NextToken, request.MaxResults)
    return {"ParameterGroups": [described_parameter_group(group) for group in page], **token}


async def describe_parameters(
    clusters: Clusters, caller: Caller, request: DescribeParametersRequest
) -> Mapping[str, Any]:
    """Returns a group's parameters; `Source`: only those that a user has set, or has not.
    Raises ServiceError and StorageError.
    """
    group = found_parameter_group(clusters, caller, request.ParameterGroupName)
    if request.Source is not None and request.Source not in SOURCES:
        bad_value(sentences.SOURCE, source=request.Source[:100])
    every = [one for one in _parameters(group) if request.Source in (None, one["Source"])]
    page, token = part_of_records(every, request.NextToken, request.MaxResults)
    return {"Parameters": page, **token}


async def describe_default_parameters(
    clusters: Clusters, caller: Caller, request: DescribeDefaultParametersRequest
) -> Mapping[str, Any]:
    """Returns the parameters of a group that nobody has changed. Raises ServiceError."""
    del clusters
    usual = ParameterGroup(account=caller.account, region=caller.region, name=DEFAULT_PARAMETER_GROUP)
    page, token = part_of_records(_parameters(usual), request.NextToken, request.MaxResults)
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


OPERATIONS = (
    Operation("CreateParameterGroup", CreateParameterGroupRequest, create_parameter_group, FORM),
    Operation("DeleteParameterGroup", DeleteParameterGroupRequest, delete_parameter_group, FORM),
    Operation("UpdateParameterGroup", UpdateParameterGroupRequest, update_parameter_group, FORM),
    Operation("DescribeParameterGroups", DescribeParameterGroupsRequest, describe_parameter_groups, FORM),
    Operation("DescribeParameters", DescribeParametersRequest, describe_parameters, FORM),
    Operation("DescribeDefaultParameters", DescribeDefaultParametersRequest, describe_default_parameters, FORM),
)
