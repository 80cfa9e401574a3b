"""Which requests make a designed table?

CreateTable does not know time to live, point-in-time recovery and auto scaling: they are further requests, sent once
the table is active.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from hashrange.templates.companion_requests import companion_requests
from hashrange.templates.requests import TemplateRequest, table_requests
from hashrange.templates.stack import POLICY_TYPE, TARGET_TYPE
from hashrange.templates.wanted import WantedCompanion, WantedTable
from hashrange.toolkit.sending import words_of
from hashrange.toolkit.table_design import (
    AWS_MANAGED,
    AWS_OWNED,
    DesignedCapacity,
    DesignedIndex,
    DesignedKey,
    DesignedUnits,
    TableDesign,
)


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


def design_requests(design: TableDesign) -> list[TemplateRequest]:
    """The requests that make the table, in order: CreateTable first."""
    recovery = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": design.recovery_days}
    wanted = WantedTable(
        place=design.name,
        name=design.name,
        creation=create_table_members(design),
        time_to_live=design.ttl_attribute,
        recovery=None if design.recovery_days is None else recovery,
    )
    companions = [one for scaled in scaled_units(design) for one in _scaling(scaled)]
    requests = table_requests(wanted, None, None, {})
    return [*requests, *(one for companion in companions for one in companion_requests(companion, None, None))]


def _scaling(scaled: ScaledUnits) -> Iterator[WantedCompanion]:
    """The scalable target of some units, and its policy."""
    resource_id = f"table/{scaled.resource}"
    place = {"ServiceNamespace": "dynamodb", "ResourceId": resource_id, "ScalableDimension": scaled.dimension}
    bounds = {"MinCapacity": scaled.units.least, "MaxCapacity": scaled.units.most}
    yield WantedCompanion(scaled.resource, TARGET_TYPE, place | bounds)
    policy = {
        "PolicyName": f"{scaled.metric}:{resource_id}",
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": tracking(scaled),
    }
    yield WantedCompanion(scaled.resource, POLICY_TYPE, place | policy)


def as_command(request: TemplateRequest) -> str:
    """A request as a command of the AWS CLI."""
    text = json.dumps(request.members, ensure_ascii=False).replace("'", r"'\''")
    return f"aws {request.service} {words_of(request.operation, '-')} --cli-input-json '{text}'"


def tracking(scaled: ScaledUnits) -> dict[str, Any]:
    """The configuration of a policy of target tracking, as the API and CloudFormation take it."""
    return {
        "TargetValue": scaled.units.target_percent,
        "PredefinedMetricSpecification": {"PredefinedMetricType": scaled.metric},
    }
