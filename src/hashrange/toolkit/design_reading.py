"""What design does an existing table have? Read with DescribeTable and what else tells of a table."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hashrange.toolkit.failures import ToolkitFailure
from hashrange.toolkit.table_design import (
    AWS_MANAGED,
    AWS_OWNED,
    RECOVERY_DAYS_MAX,
    TARGET_PERCENT_USUAL,
    DesignedCapacity,
    DesignedIndex,
    DesignedKey,
    DesignedUnits,
    TableDesign,
)
from hashrange.toolkit.target import Target

SCALING = "application-autoscaling"
UNREAD_MEMBERS = {
    "Replicas": "replicas",
    "OnDemandThroughput": "limits of on-demand throughput",
    "VectorIndexes": "vector indexes",
}
"""Members of a description that a design does not hold → what they are."""

FOREIGN_TAGS = ("aws:", "hashrange:")
"""Beginnings of tags that AWS and `hashrange apply` give tables."""

Warn = Callable[[str], None]
"""Tells a sentence about what a design leaves out."""
Ranges = Mapping[tuple[str, str], DesignedUnits]
"""Resource and dimension → the range of auto scaling."""


def read_design(target: Target, name: str, warn: Warn) -> TableDesign:
    """The design of an existing table. Raises ToolkitFailure if the table cannot be described."""
    described = target.ask("dynamodb", "describe_table", TableName=name)["Table"]
    for member, noun in UNREAD_MEMBERS.items():
        if described.get(member):
            warn(f"The design leaves out the {noun} of {name}.")
    letters = {one["AttributeName"]: one["AttributeType"] for one in described["AttributeDefinitions"]}
    is_on_demand = described.get("BillingModeSummary", {}).get("BillingMode") == "PAY_PER_REQUEST"
    scaling = partial(_asked, "auto scaling", warn, target.ask_all, SCALING)
    ranges = None if is_on_demand else _scaled_ranges(scaling, name)
    partition_keys, sort_keys = _keys_of(described, letters)
    stream = described.get("StreamSpecification", {})
    return TableDesign(
        name=name,
        partition_key=partition_keys[0],
        sort_key=sort_keys[0] if sort_keys else None,
        capacity=_capacity_of(described, "table", f"table/{name}", ranges),
        global_indexes=tuple(
            _index_of(one, letters)._replace(
                capacity=_capacity_of(one, "index", f"table/{name}/index/{one['IndexName']}", ranges)
            )
            for one in described.get("GlobalSecondaryIndexes", ())
        ),
        local_indexes=tuple(
            _index_of(one, letters)._replace(partition_keys=()) for one in described.get("LocalSecondaryIndexes", ())
        ),
        stream_view=stream.get("StreamViewType") if stream.get("StreamEnabled") else None,
        is_deletion_protected=described.get("DeletionProtectionEnabled", False),
        table_class=described.get("TableClassSummary", {}).get("TableClass", "STANDARD"),
        encryption=_encryption_of(target, described.get("SSEDescription", {}), warn),
        **_told_elsewhere(target, name, described["TableArn"], warn),
    )


def _asked(
    subject: str, warn: Warn, ask: Callable[..., Any], service: str, operation: str, **members: Any
) -> dict[str, Any]:
    """A reply; with a warning, an empty one from a server that does not have the operation."""
    try:
        reply: dict[str, Any] = ask(service, operation, **members)
    except ToolkitFailure as failure:
        warn(f"The design leaves out {subject}: {failure}")
        return {}
    return reply


def _told_elsewhere(target: Target, name: str, arn: str, warn: Warn) -> dict[str, Any]:
    """The fields of a design that DescribeTable does not tell."""
    named = {"TableName": name}
    living = _asked("time to live", warn, target.ask, "dynamodb", "describe_time_to_live", **named)
    backups = _asked("point-in-time recovery", warn, target.ask, "dynamodb", "describe_continuous_backups", **named)
    tagged = _asked("the tags", warn, target.ask_all, "dynamodb", "list_tags_of_resource", ResourceArn=arn)
    ttl = living.get("TimeToLiveDescription", {})
    recovery = backups.get("ContinuousBackupsDescription", {}).get("PointInTimeRecoveryDescription", {})
    is_recoverable = recovery.get("PointInTimeRecoveryStatus") == "ENABLED"
    tags = sorted((one["Key"], one["Value"]) for one in tagged.get("Tags", ()))
    return {
        "ttl_attribute": ttl.get("AttributeName") if ttl.get("TimeToLiveStatus") in {"ENABLED", "ENABLING"} else None,
        "recovery_days": recovery.get("RecoveryPeriodInDays", RECOVERY_DAYS_MAX) if is_recoverable else None,
        "tags": tuple((key, value) for key, value in tags if not key.startswith(FOREIGN_TAGS)),
    }


def _capacity_of(
    description: Mapping[str, Any], kind: str, resource: str, ranges: Ranges | None
) -> DesignedCapacity | None:
    """The units of a table or an index. `ranges`: None on demand."""
    if ranges is None:
        return None
    units = [
        ranges.get((resource, f"dynamodb:{kind}:{word}"), DesignedUnits(description["ProvisionedThroughput"][word]))
        for word in ("ReadCapacityUnits", "WriteCapacityUnits")
    ]
    return DesignedCapacity(*units)


def _index_of(description: Mapping[str, Any], letters: Mapping[str, Any]) -> DesignedIndex:
    projection = description["Projection"]
    included = tuple(projection.get("NonKeyAttributes", ()))
    return DesignedIndex(
        description["IndexName"], *_keys_of(description, letters), projection["ProjectionType"], included
    )


def _keys_of(
    description: Mapping[str, Any], letters: Mapping[str, Any]
) -> tuple[tuple[DesignedKey, ...], tuple[DesignedKey, ...]]:
    """Partition keys and sort keys of a table or an index."""
    keys = [
        (one["KeyType"], DesignedKey(one["AttributeName"], letters[one["AttributeName"]]))
        for one in description["KeySchema"]
    ]
    return tuple(key for kind, key in keys if kind == "HASH"), tuple(key for kind, key in keys if kind == "RANGE")


def _encryption_of(target: Target, sse: Mapping[str, Any], warn: Warn) -> str:
    """The encryption in a description, in which the key that AWS manages for the account looks like any other."""
    key = sse.get("KMSMasterKeyArn")
    if key is None or sse.get("Status") not in {"ENABLED", "ENABLING", "UPDATING"}:
        return AWS_OWNED
    if not target.is_aws:
        warn(f"The key {key} is kept; leave it out of the design if it is the one that AWS manages.")
        return str(key)
    manager = target.ask("kms", "describe_key", KeyId=key)["KeyMetadata"]["KeyManager"]
    return AWS_MANAGED if manager == "AWS" else str(key)


def _scaled_ranges(asking: Callable[..., Any], name: str) -> Ranges:
    """Resource and dimension → the range of auto scaling. `asking`: asks Application Auto Scaling for all pages."""

    def own(operation: str, member: str) -> dict[tuple[str, str], Any]:
        found = asking(operation, ServiceNamespace="dynamodb").get(member, ())
        return {
            (one["ResourceId"], one["ScalableDimension"]): one
            for one in found
            if one["ResourceId"] == f"table/{name}" or one["ResourceId"].startswith(f"table/{name}/index/")
        }

    policies = own("describe_scaling_policies", "ScalingPolicies")
    ranges = {}
    for place, one in own("describe_scalable_targets", "ScalableTargets").items():
        tracked = policies.get(place, {}).get("TargetTrackingScalingPolicyConfiguration", {})
        target_percent = round(tracked.get("TargetValue", TARGET_PERCENT_USUAL))
        ranges[place] = DesignedUnits(one["MinCapacity"], one["MaxCapacity"], target_percent)
    return ranges
