"""Which operations ask for what no table has here? Global tables, and auto scaling of replicas.

Tools ask for them nevertheless, and get an empty list or what the service says while a feature is off.
Source: service behaviour, captures to October 2026.
"""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.operations.lookup import TableRequest, described_table
from hashrange.operations.naming import table_operation
from hashrange.operations.operation import JSON, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN, PositiveInteger
from hashrange.tables.description import described_sources, table_description
from hashrange.tables.states import status

# --- global tables ------------------------------------------------------------------------------


class ListGlobalTablesRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The name to start after, which need not exist, the page size, and a Region that must hold a replica,
    for global tables of the 2017 version.
    """

    ExclusiveStartGlobalTableName: (
        Annotated[str, Meta(min_length=3, max_length=255, pattern=f"^{NAME_PATTERN}$")] | None
    ) = None
    Limit: PositiveInteger | None = None
    RegionName: str | None = None


async def list_global_tables(_scope: Scope, _request: ListGlobalTablesRequest) -> Reply:
    """ListGlobalTables: return an empty list."""
    return {"GlobalTables": []}


# --- replicas -----------------------------------------------------------------------------------

_NOT_SCALED: dict[str, Any] = {"AutoScalingDisabled": True, "ScalingPolicies": []}


async def describe_table_replica_auto_scaling(scope: Scope, request: TableRequest) -> Reply:
    """DescribeTableReplicaAutoScaling: return the auto scaling settings of a table's only replica, in the table's own
    Region; auto scaling is off, as it is not supported yet.

    Order of checks: name → table exists. A table of one Region is its only replica. Settings that were never configured
    are shown as in the service, and a global index only while it is ACTIVE. Source: service behaviour, captures to
    October 2026 of global tables; for a table of one Region, our own interpretation.
    """
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


OPERATIONS = (
    Operation("ListGlobalTables", ListGlobalTablesRequest, list_global_tables, JSON),
    table_operation("DescribeTableReplicaAutoScaling", describe_table_replica_auto_scaling),
)
