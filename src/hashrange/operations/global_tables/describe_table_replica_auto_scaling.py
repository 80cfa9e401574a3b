"""DescribeTableReplicaAutoScaling: return the auto scaling settings of a table's only replica;
auto scaling is off, as it is not supported yet.

Order of checks: name → table exists. A table of one Region is its only replica. Settings that were never configured are
shown as in the service, and a global index only while it is ACTIVE. Source: service behaviour, captures to October
2026 of global tables; for a table of one Region, our own interpretation.
"""

from typing import Any

from hashrange.aws_services.operation import Operation
from hashrange.operations.described_table import TableRequest, described_table
from hashrange.operations.naming import TABLE_NAME_FIRST, by_table_name
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.tables.description import described_sources, table_description
from hashrange.tables.states import status

_NOT_SCALED: dict[str, Any] = {"AutoScalingDisabled": True, "ScalingPolicies": []}


class DescribeTableReplicaAutoScalingRequest(TableRequest, frozen=True, kw_only=True, gc=False):
    """The table by name or ARN."""


async def describe_table_replica_auto_scaling(scope: Scope, request: DescribeTableReplicaAutoScalingRequest) -> Reply:
    """The table's name and state, and its only replica, in the table's own Region."""
    table = await described_table(scope, request.TableName)
    now_seconds = scope.clock.service_time()
    current = status(table, now_seconds)
    statistics = await scope.store.statistics(described_sources(table))
    indexes = table_description(table, now_seconds, statistics).get("GlobalSecondaryIndexes", [])
    replica = {
        "RegionName": table.region,
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index["IndexName"],
                "IndexStatus": index["IndexStatus"],
                "ProvisionedReadCapacityAutoScalingSettings": _NOT_SCALED,
                "ProvisionedWriteCapacityAutoScalingSettings": _NOT_SCALED,
            }
            for index in indexes
            if index["IndexStatus"] == "ACTIVE"
        ],
        "ReplicaProvisionedReadCapacityAutoScalingSettings": _NOT_SCALED,
        "ReplicaProvisionedWriteCapacityAutoScalingSettings": _NOT_SCALED,
        "ReplicaStatus": current,
    }
    described = {"TableName": table.name, "TableStatus": current, "Replicas": [replica]}
    return {"TableAutoScalingDescription": described}


OPERATION = Operation(
    "DescribeTableReplicaAutoScaling",
    DescribeTableReplicaAutoScalingRequest,
    describe_table_replica_auto_scaling,
    JsonWire(rules=TABLE_NAME_FIRST),
    tables=by_table_name,
)
