"""DescribeTableReplicaAutoScaling: how are the units of a table and its global indexes scaled?

Source: service behaviour, captures to October 2026 of global tables; a table of one Region, for which the service finds
no global table, is its only replica by our own interpretation.
"""

from typing import Any

from hashrange.operations.lookup import TableRequest, described_table
from hashrange.operations.naming import table_operation
from hashrange.operations.operation import Scope
from hashrange.operations.reply import Reply
from hashrange.tables.description import described_sources, table_description
from hashrange.tables.states import status

_NOT_SCALED: dict[str, Any] = {"AutoScalingDisabled": True, "ScalingPolicies": []}


async def describe_table_replica_auto_scaling(scope: Scope, request: TableRequest) -> Reply:
    """DescribeTableReplicaAutoScaling: return the auto scaling settings of a table's only replica, in the table's own
    Region.

    Order of checks: name → table exists. Units that are not scaled are shown as in the service, and a global index only
    while it is ACTIVE. Raises StorageError.
    """
    table = await described_table(scope, request.TableName)
    now_seconds = scope.clock.service_time()
    current = status(table, now_seconds)
    statistics = await scope.store.statistics(described_sources(table))
    indexes = table_description(table, now_seconds, statistics).get("GlobalSecondaryIndexes", [])
    place = f"table/{table.name}"
    replica = {
        "RegionName": table.region,
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index["IndexName"],
                "IndexStatus": index["IndexStatus"],
                **await _settings(scope, f"{place}/index/{index['IndexName']}", "Provisioned"),
            }
            for index in indexes
            if index["IndexStatus"] == "ACTIVE"
        ],
        **await _settings(scope, place, "ReplicaProvisioned"),
        "ReplicaStatus": current,
    }
    described = {"TableName": table.name, "TableStatus": current, "Replicas": [replica]}
    return {"TableAutoScalingDescription": described}


async def _settings(scope: Scope, resource_id: str, prefix: str) -> dict[str, Any]:
    """The members that tell how reads and writes of a table or an index are scaled."""
    return {
        f"{prefix}{kind}CapacityAutoScalingSettings": await scope.scaling_settings(
            scope, resource_id, f"{kind}CapacityUnits"
        )
        or _NOT_SCALED
        for kind in ("Read", "Write")
    }


OPERATION = table_operation("DescribeTableReplicaAutoScaling", describe_table_replica_auto_scaling)
