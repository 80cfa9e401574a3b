"""Which members and checks do the operations of DAX share? Clusters as replies show them, names,
pages, and how faults are worded.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

import msgspec

from hashrange.aws_services.operation import Caller, ErrorShape, MemberFault, ServiceError
from hashrange.aws_services.paging import part_from, place_of_token
from hashrange.dax.clusters import Clusters
from hashrange.dax.limits import (
    CLUSTER_NAME_LENGTH_MAX,
    DESCRIBED_MAX,
    DESCRIBED_MIN,
    DESCRIPTION_LENGTH_MAX,
    GROUP_NAME_LENGTH_MAX,
    MAINTENANCE_MINUTES_MIN,
    SECURITY_GROUPS_MAX,
)
from hashrange.dax.records import Cluster, ClusterNode, NodeStatus
from hashrange.messages import dax as sentences

DaxRecordT = TypeVar("DaxRecordT")
DAX_ERRORS = MappingProxyType({"InternalFailure": ErrorShape(500, "InternalFailure")})
ZONE_LETTERS = "abc"
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_is_cluster_name = re.compile(r"[A-Za-z](?:-?[A-Za-z0-9])*").fullmatch
_is_group_name = re.compile(r"[A-Za-z][A-Za-z0-9.-]*").fullmatch
_window = re.compile(r"([a-z]{3}):([0-2]\d):([0-5]\d)-([a-z]{3}):([0-2]\d):([0-5]\d)").fullmatch
_is_topic = re.compile(r"arn:[\w-]+:sns:[\w-]*:\d{12}:[\w.-]+").fullmatch
_cluster_arn = re.compile(r"arn:[\w-]+:dax:([\w-]+):(\d{12}):cache/([\w-]+)").fullmatch


def word_dax_fault(fault: MemberFault) -> ServiceError:
    """The error for a request whose members are wrong."""
    if fault.kind == "missing":
        return ServiceError("InvalidParameterValueException", sentences.NULL.format(path=fault.path))
    return ServiceError("InvalidParameterValueException", sentences.MALFORMED.format(detail=fault.detail))


def refuse_dax(code: str, message: str, **values: Any) -> NoReturn:
    """Raise an error of DAX's API."""
    raise ServiceError(code, message.format(**values))


def bad_value(message: str, **values: Any) -> NoReturn:
    """Raise InvalidParameterValueException."""
    refuse_dax("InvalidParameterValueException", message, **values)


# --- clusters -----------------------------------------------------------------------------------


def found_cluster(clusters: Clusters, caller: Caller, name: str) -> Cluster:
    """The cluster of this name. Raises ServiceError."""
    cluster = clusters.cluster(caller.account, caller.region, name)
    if cluster is None:
        refuse_dax("ClusterNotFoundFault", sentences.CLUSTER_NOT_FOUND, name=name[:100])
    return cluster


def idle_cluster(clusters: Clusters, caller: Caller, name: str) -> Cluster:
    """The cluster of this name, which must be available. Raises ServiceError."""
    cluster = found_cluster(clusters, caller, name)
    statuses = (cluster.status, *(node.status for node in cluster.nodes))
    busy = [status for status in statuses if status != "available"]
    if busy:
        refuse_dax("InvalidClusterStateFault", sentences.CLUSTER_STATE, name=cluster.name, status=busy[0])
    return cluster


def cluster_to_change(clusters: Clusters, caller: Caller, name: str) -> Cluster:
    """The cluster of this name, which is idle and which the caller may change. Raises ServiceError."""
    cluster = idle_cluster(clusters, caller, name)
    if not clusters.may_change(cluster):
        refuse_dax("AccessDeniedException", sentences.SHARED_CLUSTER, name=cluster.name)
    return cluster


def cluster_of_arn(clusters: Clusters, caller: Caller, arn: str, *, is_changed: bool) -> Cluster:
    """The cluster of an ARN. `is_changed`: the caller wants to change its tags. Raises ServiceError."""
    parts = _cluster_arn(arn)
    if parts is None:
        refuse_dax("InvalidARNFault", sentences.ARN, arn=arn[:200])
    if (parts[1], parts[2]) != (caller.region, caller.account):
        refuse_dax("ClusterNotFoundFault", sentences.CLUSTER_NOT_FOUND, name=parts[3])
    return (cluster_to_change if is_changed else idle_cluster)(clusters, caller, parts[3])


def described_cluster(clusters: Clusters, caller: Caller, cluster: Cluster) -> dict[str, Any]:
    """A cluster as replies show it."""
    group = clusters.parameters_of(cluster)
    now = (group.record_ttl_millis, group.query_ttl_millis)
    running = [node for node in cluster.nodes if clusters.status_of(cluster, node) == "available"]
    to_reboot = [one.node_id for one in running if (one.record_ttl_millis, one.query_ttl_millis) != now]
    host = clusters.host()
    address, port = "127.0.0.1" if host is None else host.address(), cluster.discovery_port
    scheme = "daxs" if cluster.encryption == "TLS" else "dax"
    removed = [node.node_id for node in cluster.nodes if node.status == "deleting"]
    described: dict[str, Any] = {
        "ClusterName": cluster.name,
        "Description": cluster.description,
        "ClusterArn": f"arn:aws:dax:{caller.region}:{caller.account}:cache/{cluster.name}",
        "TotalNodes": len(cluster.nodes),
        "ActiveNodes": len(running),
        "NodeType": cluster.node_type,
        "Status": cluster.status,
        "NodeIdsToRemove": removed or None,
        "Nodes": [
            _described_node(address, node, clusters.status_of(cluster, node), node.node_id in to_reboot)
            for node in cluster.nodes
        ],
        "PreferredMaintenanceWindow": cluster.maintenance_window,
        "NotificationConfiguration": None
        if cluster.topic_arn is None
        else {"TopicArn": cluster.topic_arn, "TopicStatus": cluster.topic_status},
        "SubnetGroup": cluster.subnet_group,
        "SecurityGroups": [{"SecurityGroupIdentifier": one, "Status": "active"} for one in cluster.security_groups],
        "IamRoleArn": cluster.role_arn,
        "ParameterGroup": {
            "ParameterGroupName": cluster.parameter_group,
            "ParameterApplyStatus": "pending-reboot" if to_reboot else "in-sync",
            "NodeIdsToReboot": to_reboot,
        },
        "SSEDescription": {"Status": "ENABLED" if cluster.is_encrypted_at_rest else "DISABLED"},
        "ClusterEndpointEncryptionType": cluster.encryption,
        "NetworkType": cluster.network_type,
        "ClusterDiscoveryEndpoint": None
        if cluster.status == "creating"
        else {"Address": address, "Port": port, "URL": f"{scheme}://{address}:{port}"},
    }
    return {name: value for name, value in described.items() if value is not None}


async def kept_cluster(
    clusters: Clusters, caller: Caller, before: Cluster | None, after: Cluster, *messages: str
) -> dict[str, Any]:
    """Create or replace a cluster, note events, and return the reply: the cluster in the state that it has
    before anything is done. Raises StorageError, and RecordsChanged if it is no longer as it was `before`.
    """
    described = described_cluster(clusters, caller, after)
    await clusters.keep(before, after, *messages)
    return {"Cluster": described}


async def changed_cluster(
    clusters: Clusters, caller: Caller, cluster: Cluster, *messages: str, **changes: Any
) -> dict[str, Any]:
    """Begin to change a cluster; otherwise as `kept_cluster`."""
    changed = msgspec.structs.replace(cluster, until_seconds=clusters.until_seconds, **changes)
    return await kept_cluster(clusters, caller, cluster, changed, *messages)


def with_status(status: NodeStatus, cluster: Cluster, node_ids: Sequence[str] | None = None) -> list[ClusterNode]:
    """The nodes of a cluster, those of these ids with another status; None: all."""
    return [
        msgspec.structs.replace(node, status=status) if node_ids is None or node.node_id in node_ids else node
        for node in cluster.nodes
    ]


def _described_node(address: str, node: ClusterNode, status: str, is_outdated: bool) -> dict[str, Any]:
    described: dict[str, Any] = {
        "NodeId": node.node_id,
        "NodeCreateTime": datetime.fromtimestamp(node.created_seconds, UTC),
        "AvailabilityZone": node.zone,
        "NodeStatus": status,
        "ParameterGroupStatus": "pending-reboot" if is_outdated else "in-sync",
    }
    if node.status != "creating":
        described["Endpoint"] = {"Address": address, "Port": node.port}
    return described


def new_nodes(
    cluster_name: str, region: str, taken: Iterable[str], count: int, zones: Sequence[str] | None, now_seconds: float
) -> list[ClusterNode]:
    """`count` nodes that are being created, with the first free letters.
    Raises ServiceError for zones that do not fit.
    """
    if zones is not None and len(zones) != count:
        refuse_dax("InvalidParameterCombinationException", sentences.ZONES_COUNT, zones=len(zones), nodes=count)
    for zone in zones or ():
        if zone[:-1] != region or zone[-1:] not in "abcdef":
            bad_value(sentences.ZONE, zone=zone[:100])
    used = set(taken)
    letters = [letter for letter in "abcdefghijklmnopqrstuvwxyz" if f"{cluster_name}-{letter}" not in used]
    return [
        ClusterNode(
            node_id=f"{cluster_name}-{letters[place]}",
            zone=zones[place]
            if zones is not None
            else f"{region}{ZONE_LETTERS[(len(used) + place) % len(ZONE_LETTERS)]}",
            created_seconds=now_seconds,
            status="creating",
        )
        for place in range(count)
    ]


# --- checks -------------------------------------------------------------------------------------


def check_cluster_name(name: str) -> None:
    """Raise ServiceError unless a cluster may have this name."""
    if len(name) > CLUSTER_NAME_LENGTH_MAX or _is_cluster_name(name) is None:
        bad_value(sentences.CLUSTER_NAME, name=name[:100])


def check_group_name(path: str, name: str) -> None:
    """Raise ServiceError unless a group may have this name."""
    if len(name) > GROUP_NAME_LENGTH_MAX or _is_group_name(name) is None:
        bad_value(sentences.GROUP_NAME, path=path, name=name[:100])


def check_description(text: str | None) -> None:
    """Raise ServiceError for a description that is too long."""
    if text is not None and len(text) > DESCRIPTION_LENGTH_MAX:
        bad_value(sentences.TOO_LONG, name="Description", most=DESCRIPTION_LENGTH_MAX)


def check_topic(arn: str | None) -> None:
    """Raise ServiceError for a topic that is none."""
    if arn is not None and _is_topic(arn) is None:
        bad_value(sentences.TOPIC, arn=arn[:200])


def check_security_groups(ids: Sequence[str] | None) -> None:
    """Raise ServiceError for more or longer ids than a cluster may have."""
    if ids is not None and len(ids) > SECURITY_GROUPS_MAX:
        bad_value(sentences.SECURITY_GROUP_QUOTA, most=SECURITY_GROUPS_MAX)
    if any(len(one) > DESCRIPTION_LENGTH_MAX for one in ids or ()):
        bad_value(sentences.TOO_LONG, name="SecurityGroupIds", most=DESCRIPTION_LENGTH_MAX)


def check_window(window: str) -> None:
    """Raise ServiceError unless this is a maintenance window of an hour at least."""
    parts = _window(window.lower())
    ends: list[int] = []
    if parts is not None and parts[1] in _DAYS and parts[4] in _DAYS and int(parts[2]) < 24 and int(parts[5]) < 24:
        ends = [_DAYS.index(parts[at]) * 1440 + int(parts[at + 1]) * 60 + int(parts[at + 2]) for at in (1, 4)]
    if not ends or (ends[1] - ends[0]) % (7 * 1440) < MAINTENANCE_MINUTES_MIN:
        bad_value(sentences.WINDOW, window=window[:100])


class PartRequest(msgspec.Struct, frozen=True):
    """What requests that are answered page by page have in common."""

    MaxResults: int | None = None
    NextToken: str | None = None


def part_of_records(records: Sequence[DaxRecordT], request: PartRequest) -> tuple[Sequence[DaxRecordT], dict[str, str]]:
    """A page of records, and the reply's NextToken if there is a next one. Raises ServiceError."""
    most = DESCRIBED_MAX if request.MaxResults is None else request.MaxResults
    if not DESCRIBED_MIN <= most <= DESCRIBED_MAX:
        bad_value(sentences.MAX_RESULTS, least=DESCRIBED_MIN, most=DESCRIBED_MAX)
    begin = place_of_token(request.NextToken)
    if begin is None:
        bad_value(sentences.NEXT_TOKEN)
    page, following = part_from(records, begin, most)
    return page, {} if following is None else {"NextToken": following}
