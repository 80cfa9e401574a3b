"""DescribeTableReplicaAutoScaling: a table is its only replica. (Tables that are scaled: tests/unit/autoscaling.)"""

from typing import Any

from tests.conformance.tables import create_request, definitions, fault, fresh_name, index
from tests.support.raw_client import RawClient

NOT_SCALED = {"AutoScalingDisabled": True, "ScalingPolicies": []}


def test_the_own_region_is_described(client: Any) -> None:
    name = fresh_name()
    client.create_table(
        **create_request(
            name, AttributeDefinitions=definitions("at", "id"), GlobalSecondaryIndexes=[index("global", "at")]
        )
    )
    assert client.describe_table_replica_auto_scaling(TableName=name)["TableAutoScalingDescription"] == {
        "TableName": name,
        "TableStatus": "ACTIVE",
        "Replicas": [
            {
                "RegionName": client.meta.region_name,
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "global",
                        "IndexStatus": "ACTIVE",
                        "ProvisionedReadCapacityAutoScalingSettings": NOT_SCALED,
                        "ProvisionedWriteCapacityAutoScalingSettings": NOT_SCALED,
                    }
                ],
                "ReplicaProvisionedReadCapacityAutoScalingSettings": NOT_SCALED,
                "ReplicaProvisionedWriteCapacityAutoScalingSettings": NOT_SCALED,
                "ReplicaStatus": "ACTIVE",
            }
        ],
    }


def test_missing_table(raw: RawClient) -> None:
    assert fault(raw, "DescribeTableReplicaAutoScaling", {"TableName": "nothing.here"}) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: nothing.here not found",
    )
