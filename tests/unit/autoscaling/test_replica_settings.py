"""DescribeTableReplicaAutoScaling tells what auto scaling does with a table and its indexes."""

from pathlib import Path
from typing import Any

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database
from tests.unit.autoscaling.conftest import PLACE, TABLE

NOT_SCALED = {"AutoScalingDisabled": True, "ScalingPolicies": []}
INDEX_READS = {
    **PLACE,
    "ResourceId": "table/orders/index/by-who",
    "ScalableDimension": "dynamodb:index:ReadCapacityUnits",
}
ROLE = (
    "arn:aws:iam::000000000000:role/aws-service-role/dynamodb.application-autoscaling.amazonaws.com"
    "/AWSServiceRoleForApplicationAutoScaling_DynamoDBTable"
)


def policy_of(kind: str, **members: Any) -> dict[str, Any]:
    """The members of PutScalingPolicy that are no place."""
    metric = {"PredefinedMetricType": f"DynamoDB{kind}CapacityUtilization"}
    return {
        "PolicyName": f"of-{kind}",
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": {
            "TargetValue": 60.0, "PredefinedMetricSpecification": metric, **members,
        },
    }  # fmt: skip


def replica(database: Database) -> dict[str, Any]:
    """The only replica of the table."""
    reply = database.client().describe_table_replica_auto_scaling(TableName="orders")
    [found] = reply["TableAutoScalingDescription"]["Replicas"]
    return dict(found)


def test_what_is_scaled_is_told_and_all_else_is_disabled(database: Database, scaling: Any) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    assert replica(database)["ReplicaProvisionedWriteCapacityAutoScalingSettings"] == NOT_SCALED, "it has no policy"
    scaling.put_scaling_policy(**PLACE, **policy_of("Write"))
    scaling.register_scalable_target(**INDEX_READS, MinCapacity=5, MaxCapacity=50, RoleARN="arn:aws:iam::1:role/r")
    scaling.put_scaling_policy(**INDEX_READS, **policy_of("Read", ScaleInCooldown=0, DisableScaleIn=True))
    found = replica(database)
    assert found["ReplicaProvisionedReadCapacityAutoScalingSettings"] == NOT_SCALED
    assert found["ReplicaProvisionedWriteCapacityAutoScalingSettings"] == {
        "MinimumUnits": 5,
        "MaximumUnits": 100,
        "AutoScalingRoleArn": ROLE,
        "ScalingPolicies": [
            {"PolicyName": "of-Write", "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 60.0}}
        ],
    }
    [index] = found["GlobalSecondaryIndexes"]
    assert index["ProvisionedWriteCapacityAutoScalingSettings"] == NOT_SCALED
    assert index["ProvisionedReadCapacityAutoScalingSettings"] == {
        "MinimumUnits": 5,
        "MaximumUnits": 50,
        "AutoScalingRoleArn": "arn:aws:iam::1:role/r",
        "ScalingPolicies": [
            {
                "PolicyName": "of-Read",
                "TargetTrackingScalingPolicyConfiguration": {
                    "DisableScaleIn": True, "ScaleInCooldown": 0, "TargetValue": 60.0,
                },
            }
        ],
    }  # fmt: skip


def test_on_demand_the_settings_are_told_as_disabled(database: Database, scaling: Any) -> None:
    scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
    scaling.put_scaling_policy(**PLACE, **policy_of("Write"))
    database.client().update_table(TableName="orders", BillingMode="PAY_PER_REQUEST")
    settings = replica(database)["ReplicaProvisionedWriteCapacityAutoScalingSettings"]
    assert (settings["AutoScalingDisabled"], settings["MinimumUnits"]) == (True, 5)
    assert [one["PolicyName"] for one in settings["ScalingPolicies"]] == ["of-Write"]


def test_a_server_that_has_just_started_tells_them_too(tmp_path: Path) -> None:
    with server(Settings(data_dir=str(tmp_path))) as database:
        database.client().create_table(**TABLE)
        scaling = database.client("application-autoscaling")
        scaling.register_scalable_target(**PLACE, MinCapacity=5, MaxCapacity=100)
        scaling.put_scaling_policy(**PLACE, **policy_of("Write"))
    with server(Settings(data_dir=str(tmp_path))) as database:
        assert replica(database)["ReplicaProvisionedWriteCapacityAutoScalingSettings"]["MaximumUnits"] == 100
