"""Which table is a global table with one replica? GlobalTable's properties → those of a table, with scalable targets
and policies for its capacity.

Source: AWS CloudFormation template reference, *AWS::DynamoDB::GlobalTable*.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hashrange.templates.stack import TypedResource

SHARED = (
    "AttributeDefinitions", "BillingMode", "KeySchema", "LocalSecondaryIndexes", "SSESpecification",
    "StreamSpecification", "TableName", "TimeToLiveSpecification", "WarmThroughput",
)  # fmt: skip
OF_REPLICAS = (
    "ContributorInsightsSpecification", "DeletionProtectionEnabled", "KinesisStreamSpecification",
    "PointInTimeRecoverySpecification", "ResourcePolicy", "TableClass", "Tags",
)  # fmt: skip
ELSEWHERE = {
    "Replicas",
    "GlobalSecondaryIndexes",
    "WriteProvisionedThroughputSettings",
    "WriteOnDemandThroughputSettings",
}
ON_DEMAND_UNITS = {"Read": "MaxReadRequestUnits", "Write": "MaxWriteRequestUnits"}


def why_not_here(properties: Mapping[str, Any], region: str) -> str | None:
    """Why a global table cannot be a table in this Region; None if it can."""
    replicas = properties.get("Replicas")
    if not isinstance(replicas, list) or len(replicas) != 1 or not isinstance(replicas[0], dict):
        return f"it has {len(replicas) if isinstance(replicas, list) else 'no'} replicas, and only one is made"
    own = replicas[0].get("Region")
    return None if own == region else f"its replica is in {own}, and tables are made in {region}"


def single_table(
    place: str, properties: Mapping[str, Any], table_name: str
) -> tuple[dict[str, Any], list[TypedResource]]:
    """The properties of a table, and its scaling. `properties`: of a global table that can be here."""
    replica = properties["Replicas"][0]
    is_on_demand = properties.get("BillingMode") == "PAY_PER_REQUEST"
    made = {name: properties[name] for name in properties if name not in ELSEWHERE}
    made |= {name: replica[name] for name in OF_REPLICAS if name in replica}
    key = (replica.get("SSESpecification") or {}).get("KMSMasterKeyId")
    if key is not None:
        made["SSESpecification"] = {**(properties.get("SSESpecification") or {}), "KMSMasterKeyId": key}
    made |= _throughput(properties, replica, is_on_demand=is_on_demand)
    own_indexes = {one.get("IndexName"): one for one in replica.get("GlobalSecondaryIndexes") or []}
    indexes = properties.get("GlobalSecondaryIndexes") or []
    if indexes:
        made["GlobalSecondaryIndexes"] = [
            _index(index, own_indexes.get(index.get("IndexName"), {}), is_on_demand=is_on_demand) for index in indexes
        ]
    if is_on_demand:
        return made, []
    scaled = list(_scaling(place, f"table/{table_name}", "table", properties, replica))
    for index in indexes:
        name = index.get("IndexName")
        resource = f"table/{table_name}/index/{name}"
        scaled += _scaling(f"{place}.{name}", resource, "index", index, own_indexes.get(name, {}))
    return made, scaled


def _index(index: Mapping[str, Any], own: Mapping[str, Any], *, is_on_demand: bool) -> dict[str, Any]:
    made = {name: index[name] for name in index if name not in ELSEWHERE}
    if "ContributorInsightsSpecification" in own:
        made["ContributorInsightsSpecification"] = own["ContributorInsightsSpecification"]
    return made | _throughput(index, own, is_on_demand=is_on_demand)


def _throughput(shared: Mapping[str, Any], own: Mapping[str, Any], *, is_on_demand: bool) -> dict[str, Any]:
    """Units of a table or an index: writes are set for all replicas, reads for each."""
    if is_on_demand:
        found = {
            unit: settings[unit]
            for kind, unit in ON_DEMAND_UNITS.items()
            if unit in (settings := (shared if kind == "Write" else own).get(f"{kind}OnDemandThroughputSettings") or {})
        }
        return {"OnDemandThroughput": found} if found else {}
    units = {}
    for kind, settings in (("Read", own), ("Write", shared)):
        of_kind = settings.get(f"{kind}ProvisionedThroughputSettings") or {}
        scaling = of_kind.get(f"{kind}CapacityAutoScalingSettings") or {}
        number = scaling.get("SeedCapacity") or scaling.get("MinCapacity") or of_kind.get(f"{kind}CapacityUnits")
        if number is not None:
            units[f"{kind}CapacityUnits"] = number
    return {"ProvisionedThroughput": units} if units else {}


def _scaling(
    place: str, resource_id: str, level: str, shared: Mapping[str, Any], own: Mapping[str, Any]
) -> Iterator[TypedResource]:
    for kind, settings in (("Read", own), ("Write", shared)):
        of_kind = settings.get(f"{kind}ProvisionedThroughputSettings") or {}
        scaling = of_kind.get(f"{kind}CapacityAutoScalingSettings")
        if not scaling:
            continue
        target = {
            "ServiceNamespace": "dynamodb",
            "ResourceId": resource_id,
            "ScalableDimension": f"dynamodb:{level}:{kind}CapacityUnits",
        }
        limits = {name: scaling.get(name) for name in ("MinCapacity", "MaxCapacity")}
        yield TypedResource(
            f"{place}.{kind}Target", "AWS::ApplicationAutoScaling::ScalableTarget", {**target, **limits}
        )
        metric = {"PredefinedMetricSpecification": {"PredefinedMetricType": f"DynamoDB{kind}CapacityUtilization"}}
        tracking = {**(scaling.get("TargetTrackingScalingPolicyConfiguration") or {}), **metric}
        policy = {
            **target,
            "PolicyName": f"DynamoDB{kind}CapacityUtilization:{resource_id}",
            "PolicyType": "TargetTrackingScaling",
            "TargetTrackingScalingPolicyConfiguration": tracking,
        }
        yield TypedResource(f"{place}.{kind}Policy", "AWS::ApplicationAutoScaling::ScalingPolicy", policy)
