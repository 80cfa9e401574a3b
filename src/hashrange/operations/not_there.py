"""Which operations ask for what no table has here? Global tables, and auto scaling of replicas.

Tools ask for them nevertheless, and get an empty list or what the service says while a feature is off. NextToken is
refused, as no reply contains one. Source: service behaviour, captures to October 2026.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.aws_services.operation import Operation
from hashrange.errors import ValidationException
from hashrange.messages import other_services as say
from hashrange.operations.lookup import TableRequest, check_arn, described_table, table_name
from hashrange.operations.naming import table_operation
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.operations.shapes import NAME_PATTERN, PositiveInteger
from hashrange.tables.description import described_sources, table_description
from hashrange.tables.states import status
from hashrange.wire.rules import NO_RULES, RequestRules

# --- empty lists --------------------------------------------------------------------------------


class ListGlobalTablesRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The name to start after, which need not exist, the page size, and a Region that must hold a replica,
    for global tables of the 2017 version.
    """

    ExclusiveStartGlobalTableName: (
        Annotated[str, Meta(min_length=3, max_length=255, pattern=f"^{NAME_PATTERN}$")] | None
    ) = None
    Limit: PositiveInteger | None = None
    RegionName: str | None = None


def _empty_list(
    name: str,
    request: type[msgspec.Struct],
    member: str,
    tables: Callable[[Any], Iterable[str]] = lambda _: (),
    rules: RequestRules = NO_RULES,
) -> Operation[JsonWire]:
    """The operation whose reply is an empty list, also for a missing table.

    Order of checks: member constraints → table name, or form and account of the ARN → NextToken.
    """

    async def list_nothing(scope: Scope, request: Any) -> Reply:
        table, arn, token = (getattr(request, one, None) for one in ("TableName", "TableArn", "NextToken"))
        if table is not None:
            table_name(table)
        if arn is not None:
            check_arn(scope, arn, name)
        if token is not None:
            raise ValidationException(say.NEXT_TOKEN_INVALID)
        return {member: []}

    return Operation(name, request, list_nothing, JsonWire(rules=rules), tables=tables)


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
    _empty_list("ListGlobalTables", ListGlobalTablesRequest, "GlobalTables"),
    table_operation("DescribeTableReplicaAutoScaling", describe_table_replica_auto_scaling),
)
