"""UpdateCluster: changes the description, window, notifications, groups of a cluster."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.dax.api.members import (
    bad_value,
    check_description,
    check_topic,
    check_window,
    cluster_to_change,
    described_cluster,
    found_parameter_group,
)
from hashrange.dax.clusters import Clusters
from hashrange.messages import dax as sentences

TOPIC_STATUSES = ("active", "inactive")


class UpdateClusterRequest(msgspec.Struct, frozen=True):
    """Request of UpdateCluster."""

    ClusterName: str
    Description: str | None = None
    PreferredMaintenanceWindow: str | None = None
    NotificationTopicArn: str | None = None
    NotificationTopicStatus: str | None = None
    ParameterGroupName: str | None = None
    SecurityGroupIds: list[str] | None = None


async def update_cluster(clusters: Clusters, caller: Caller, request: UpdateClusterRequest) -> Mapping[str, Any]:
    """Returns the changed cluster. Parameters of another group take effect when nodes are rebooted.
    Raises ServiceError and StorageError.
    """
    cluster = cluster_to_change(clusters, caller, request.ClusterName)
    check_description(request.Description)
    check_topic(request.NotificationTopicArn)
    if request.PreferredMaintenanceWindow is not None:
        check_window(request.PreferredMaintenanceWindow)
    status = request.NotificationTopicStatus
    if status is not None and status not in TOPIC_STATUSES:
        bad_value(sentences.TOPIC_STATUS, status=status[:100])
    group = request.ParameterGroupName
    if group is not None:
        found_parameter_group(clusters, caller, group)
    given = {
        "description": request.Description,
        "maintenance_window": None
        if request.PreferredMaintenanceWindow is None
        else request.PreferredMaintenanceWindow.lower(),
        "topic_arn": request.NotificationTopicArn,
        "topic_status": status,
        "parameter_group": group,
        "security_groups": request.SecurityGroupIds,
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if group is not None:
        changes["group_owner"] = (caller.account, caller.region)
    changed = msgspec.structs.replace(cluster, status="modifying", until_seconds=clusters.until_seconds, **changes)
    described = described_cluster(clusters, caller, changed)
    await clusters.keep(changed)
    return {"Cluster": described}


OPERATION = Operation("UpdateCluster", UpdateClusterRequest, update_cluster, FORM)
