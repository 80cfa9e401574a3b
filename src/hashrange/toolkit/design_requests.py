"""Which requests make a designed table?

CreateTable does not know time to live, point-in-time recovery and auto scaling: they are further requests, sent once
the table is active.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from hashrange.toolkit.patience import send_when_made
from hashrange.toolkit.table_design import (
    AWS_MANAGED,
    AWS_OWNED,
    DesignedCapacity,
    DesignedIndex,
    DesignedKey,
    DesignedUnits,
    TableDesign,
)
from hashrange.toolkit.target import Target

SCALING = "application-autoscaling"
WAIT = {"Delay": 1, "MaxAttempts": 600}
"""Seconds between two looks at a table that is being created, and the number of looks."""


class DesignRequest(NamedTuple):
    """One request, as boto3 takes it."""

    service: str
    operation: str
    members: dict[str, Any]

    def as_command(self) -> str:
        """The same as a command of the AWS CLI."""
        text = json.dumps(self.members, ensure_ascii=False).replace("'", r"'\''")
        return f"aws {self.service} {self.operation.replace('_', '-')} --cli-input-json '{text}'"


class ScaledUnits(NamedTuple):
    """Units that auto scaling moves. `resource`: the table's name, or `table/NAME/index/INDEX`, without `table/`."""

    resource: str
    dimension: str
    """`dynamodb:table:ReadCapacityUnits` and its like."""
    metric: str
    units: DesignedUnits


def create_table_members(design: TableDesign) -> dict[str, Any]:
    """The members of CreateTable, without those that have the service's default."""
    members: dict[str, Any] = {
        "TableName": design.name,
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": letter} for name, letter in design.key_attributes().items()
        ],
        "KeySchema": key_schema_members(design.keys()[:1], design.keys()[1:]),
        "BillingMode": "PAY_PER_REQUEST" if design.capacity is None else "PROVISIONED",
    }
    if design.capacity is not None:
        members["ProvisionedThroughput"] = _throughput(design.capacity)
    if design.global_indexes:
        members["GlobalSecondaryIndexes"] = [index_members(index) for index in design.global_indexes]
    if design.local_indexes:
        own = (design.partition_key,)
        members["LocalSecondaryIndexes"] = [
            index_members(one._replace(partition_keys=own)) for one in design.local_indexes
        ]
    if design.stream_view is not None:
        members["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": design.stream_view}
    if design.encryption != AWS_OWNED:
        members["SSESpecification"] = {"Enabled": True, "SSEType": "KMS"}
        if design.encryption != AWS_MANAGED:
            members["SSESpecification"]["KMSMasterKeyId"] = design.encryption
    if design.table_class != "STANDARD":
        members["TableClass"] = design.table_class
    if design.is_deletion_protected:
        members["DeletionProtectionEnabled"] = True
    if design.tags:
        members["Tags"] = [{"Key": key, "Value": value} for key, value in design.tags]
    return members


def key_schema_members(
    partition_keys: tuple[DesignedKey, ...], sort_keys: tuple[DesignedKey, ...]
) -> list[dict[str, str]]:
    """A KeySchema of the API."""
    return [{"AttributeName": key.name, "KeyType": "HASH"} for key in partition_keys] + [
        {"AttributeName": key.name, "KeyType": "RANGE"} for key in sort_keys
    ]


def index_members(index: DesignedIndex) -> dict[str, Any]:
    """An index as CreateTable and CloudFormation take it."""
    projection: dict[str, Any] = {"ProjectionType": index.projection}
    if index.included:
        projection["NonKeyAttributes"] = list(index.included)
    members = {
        "IndexName": index.name,
        "KeySchema": key_schema_members(index.partition_keys, index.sort_keys),
        "Projection": projection,
    }
    if index.capacity is not None:
        members["ProvisionedThroughput"] = _throughput(index.capacity)
    return members


def _throughput(capacity: DesignedCapacity) -> dict[str, int]:
    return {"ReadCapacityUnits": capacity.read.least, "WriteCapacityUnits": capacity.write.least}


def scaled_units(design: TableDesign) -> Iterator[ScaledUnits]:
    """What auto scaling moves, of the table and its global secondary indexes."""
    capacities = [("table", design.name, design.capacity)]
    capacities += [("index", f"{design.name}/index/{index.name}", index.capacity) for index in design.global_indexes]
    for kind, resource, capacity in capacities:
        if capacity is None:
            continue
        for word, units in (("Read", capacity.read), ("Write", capacity.write)):
            if units.most is not None:
                metric = f"DynamoDB{word}CapacityUtilization"
                yield ScaledUnits(resource, f"dynamodb:{kind}:{word}CapacityUnits", metric, units)


def further_requests(design: TableDesign) -> Iterator[DesignRequest]:
    """What has to be sent after CreateTable, once the table is active."""
    if design.ttl_attribute is not None:
        specification: dict[str, Any] = {"Enabled": True, "AttributeName": design.ttl_attribute}
        members = {"TableName": design.name, "TimeToLiveSpecification": specification}
        yield DesignRequest("dynamodb", "update_time_to_live", members)
    if design.recovery_days is not None:
        specification = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": design.recovery_days}
        members = {"TableName": design.name, "PointInTimeRecoverySpecification": specification}
        yield DesignRequest("dynamodb", "update_continuous_backups", members)
    for scaled in scaled_units(design):
        place = {
            "ServiceNamespace": "dynamodb",
            "ResourceId": f"table/{scaled.resource}",
            "ScalableDimension": scaled.dimension,
        }
        bounds = {"MinCapacity": scaled.units.least, "MaxCapacity": scaled.units.most}
        yield DesignRequest(SCALING, "register_scalable_target", place | bounds)
        policy = {
            "PolicyName": f"{scaled.metric}:{place['ResourceId']}",
            "PolicyType": "TargetTrackingScaling",
            "TargetTrackingScalingPolicyConfiguration": tracking(scaled),
        }
        yield DesignRequest(SCALING, "put_scaling_policy", place | policy)


def tracking(scaled: ScaledUnits) -> dict[str, Any]:
    """The configuration of a policy of target tracking, as the API and CloudFormation take it."""
    return {
        "TargetValue": scaled.units.target_percent,
        "PredefinedMetricSpecification": {"PredefinedMetricType": scaled.metric},
    }


class TableCreation:
    """The creation of a designed table, which knows what is left of it when it fails."""

    def __init__(self, target: Target, design: TableDesign) -> None:
        self._target, self._design = target, design
        self.is_begun = False
        """True once CreateTable has been sent with success."""
        self.left = list(further_requests(design))
        """What is sent after it, without what has been sent."""

    def carry_out(self) -> None:
        """Create the table, wait until it is active, and send what comes after. Raises ToolkitFailure."""
        self._target.ask("dynamodb", "create_table", **create_table_members(self._design))
        self.is_begun = True
        named = {"TableName": self._design.name}
        with self._target.worded(named):
            self._target.client("dynamodb").get_waiter("table_exists").wait(**named, WaiterConfig=WAIT)
        while self.left:
            service, operation, members = self.left[0]
            send_when_made(partial(self._target.ask, service, operation, **members))
            del self.left[0]
