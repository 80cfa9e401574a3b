"""What do Terraform and CloudFormation call to keep a table? These calls, in this order.

The CDK and SAM deploy by CloudFormation, so its calls cover theirs. The CDK's Table is an AWS::DynamoDB::Table, its
TableV2 an AWS::DynamoDB::GlobalTable, also with one replica.

Neither tool is run here; the calls and their members are those of Terraform's AWS provider 6, which Pulumi uses too
(`internal/service/dynamodb/table.go`):

| step | calls |
|---|---|
| configuration of the provider | GetCallerIdentity |
| create | CreateTable; DescribeTable until the table, its warm throughput and each index are ACTIVE; UpdateTimeToLive, DescribeTimeToLive until ENABLED; UpdateContinuousBackups, DescribeContinuousBackups until ENABLED; then a read |
| read | DescribeTable, DescribeContinuousBackups, DescribeTimeToLive, ListTagsOfResource |
| update | UpdateTable to delete each index that is gone, alone for the table class, for the billing mode, twice for another view type, to create each new index; each with DescribeTable until ACTIVE; UpdateContinuousBackups; UntagResource, TagResource |
| delete | DeleteTable, DescribeTable until it is not found |

After each of these, a plan must be empty: a read returns what was configured, or the provider's default.
CloudFormation's calls are derived from the permissions that its resource types ask for. AWS::DynamoDB::Table adds:

| step | calls |
|---|---|
| create and read | UpdateContributorInsights, DescribeContributorInsights, DescribeKinesisStreamingDestination, GetResourcePolicy |
| update | one kind of change in each UpdateTable, one index after the other; UpdateTimeToLive; PutResourcePolicy |

AWS::DynamoDB::GlobalTable with one replica calls the same, and Application Auto Scaling: RegisterScalableTarget,
PutScalingPolicy, DescribeScalableTargets, DescribeScalingPolicies, and, before the table is deleted, DeleteScalingPolicy and
DeregisterScalableTarget.
"""  # noqa: E501

import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import server
from tests.support.waiting import wait_until

NAME = "orders"
DELAY_SECONDS = 0.02
"""How long states take, so that there is something to wait for."""
READ = ["DescribeTable", "DescribeContinuousBackups", "DescribeTimeToLive", "ListTagsOfResource"]
BY_OWNER = {"AttributeName": "owner", "KeyType": "HASH"}
CREATION: dict[str, Any] = {
    "TableName": NAME,
    "BillingMode": "PROVISIONED",
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
        {"AttributeName": "owner", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-owner",
            "KeySchema": [BY_OWNER],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]},
            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
        }
    ],
    "LocalSecondaryIndexes": [
        {
            "IndexName": "by-owner-of-pk",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "owner", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    "SSESpecification": {"Enabled": True, "SSEType": "KMS"},
    "TableClass": "STANDARD",
    "DeletionProtectionEnabled": False,
    "Tags": [{"Key": "team", "Value": "a"}, {"Key": "old", "Value": "1"}],
}


class TableProvider:
    """Calls DynamoDB as the provider does, and notes the operations."""

    def __init__(self, endpoint: str) -> None:
        access = {"region_name": "us-east-1", "aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        self.tables = boto3.client("dynamodb", endpoint_url=endpoint, **access)
        self.sts = boto3.client("sts", endpoint_url=endpoint, **access)
        self.called: list[str] = []

    def call(self, operation: str, **members: Any) -> Any:
        """The reply of an operation. Operations that are repeated are noted once."""
        if self.called[-1:] != [operation]:
            self.called.append(operation)
        return getattr(self.tables, xform_name(operation))(**members)

    def take_called(self) -> list[str]:
        """The operations since the last time."""
        called, self.called = self.called, []
        return called

    def wait(self, read: Callable[[], str], pending: set[str], target: str) -> None:
        """Read a state until it is `target`; any state but `pending` ends the provider's run."""

        def is_reached() -> bool:
            state = read()
            assert state in pending | {target}
            return state == target

        wait_until(is_reached)

    def table(self) -> Any:
        """What DescribeTable says."""
        return self.call("DescribeTable", TableName=NAME)["Table"]

    def wait_for_table(self) -> None:
        """Wait for the table, its warm throughput and its indexes, as after each change."""
        self.wait(lambda: str(self.table()["TableStatus"]), {"CREATING", "UPDATING"}, "ACTIVE")
        self.wait(lambda: str(self.table()["WarmThroughput"]["Status"]), {"UPDATING"}, "ACTIVE")
        for index in self.table().get("GlobalSecondaryIndexes", []):
            self.wait_for_index(index["IndexName"])

    def wait_for_index(self, name: str) -> None:
        """Wait until an index is ACTIVE."""

        def status() -> str:
            indexes = {one["IndexName"]: one for one in self.table()["GlobalSecondaryIndexes"]}
            return str(indexes[name]["IndexStatus"])

        self.wait(status, {"CREATING", "UPDATING"}, "ACTIVE")

    def update(self, **members: Any) -> None:
        """UpdateTable, and wait."""
        self.call("UpdateTable", TableName=NAME, **members)
        self.wait_for_table()

    def turn_on_time_to_live(self) -> None:
        """Turn it on, and wait."""
        specification = {"AttributeName": "expires", "Enabled": True}
        self.call("UpdateTimeToLive", TableName=NAME, TimeToLiveSpecification=specification)

        def status() -> str:
            reply = self.call("DescribeTimeToLive", TableName=NAME)
            return str(reply["TimeToLiveDescription"]["TimeToLiveStatus"])

        self.wait(status, {"DISABLED", "ENABLING"}, "ENABLED")

    def recover(self, days: int) -> None:
        """Turn point-in-time recovery on, and wait."""
        specification = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": days}
        self.call("UpdateContinuousBackups", TableName=NAME, PointInTimeRecoverySpecification=specification)
        self.wait(lambda: str(self.recovery()["PointInTimeRecoveryStatus"]), {"DISABLED"}, "ENABLED")

    def recovery(self) -> Any:
        """What DescribeContinuousBackups says."""
        reply = self.call("DescribeContinuousBackups", TableName=NAME)
        return reply["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]

    def read(self) -> dict[str, Any]:
        """The attributes of the resource, by the names of the API's members."""
        table = self.table()
        recovery = self.recovery()
        time_to_live = self.call("DescribeTimeToLive", TableName=NAME)["TimeToLiveDescription"]
        tags = self.call("ListTagsOfResource", ResourceArn=table["TableArn"])["Tags"]
        return {
            "TableName": table["TableName"],
            "BillingMode": table.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED"),
            "ProvisionedThroughput": units_of(table),
            "KeySchema": table["KeySchema"],
            "AttributeDefinitions": in_order(table["AttributeDefinitions"]),
            "GlobalSecondaryIndexes": [index_of(one) for one in table.get("GlobalSecondaryIndexes", [])],
            "LocalSecondaryIndexes": [index_of(one) for one in table.get("LocalSecondaryIndexes", [])],
            "StreamSpecification": table.get("StreamSpecification"),
            "HasStreamArn": "LatestStreamArn" in table and "LatestStreamLabel" in table,
            "SSE": (table["SSEDescription"]["Status"], table["SSEDescription"]["SSEType"]),
            "TableClass": table.get("TableClassSummary", {}).get("TableClass", "STANDARD"),
            "DeletionProtectionEnabled": table["DeletionProtectionEnabled"],
            "Replicas": table.get("Replicas", []),
            "Recovery": (recovery["PointInTimeRecoveryStatus"], recovery.get("RecoveryPeriodInDays")),
            "TimeToLive": (time_to_live["TimeToLiveStatus"], time_to_live.get("AttributeName")),
            "Tags": in_order(tags),
        }


def units_of(owner: Any) -> dict[str, int]:
    """Units without what else is said about them."""
    return {name: owner["ProvisionedThroughput"][name] for name in ("ReadCapacityUnits", "WriteCapacityUnits")}


def index_of(index: Any) -> dict[str, Any]:
    """The members of an index that are configured."""
    members = {name: index[name] for name in ("IndexName", "KeySchema", "Projection")}
    return members | ({"ProvisionedThroughput": units_of(index)} if "IndexStatus" in index else {})


def in_order(members: list[Any]) -> list[Any]:
    return sorted(members, key=lambda one: sorted(one.values()))


def configured(**changes: Any) -> dict[str, Any]:
    """What a read must return after the creation, with what has changed since."""
    return {
        **{name: one for name, one in CREATION.items() if name != "SSESpecification"},
        "AttributeDefinitions": in_order(CREATION["AttributeDefinitions"]),
        "Tags": in_order(CREATION["Tags"]),
        "HasStreamArn": True,
        "SSE": ("ENABLED", "KMS"),
        "Replicas": [],
        "Recovery": ("ENABLED", 7),
        "TimeToLive": ("ENABLED", "expires"),
        **changes,
    }


@pytest.fixture(scope="module")
def endpoint_of_states() -> Iterator[str]:
    """A server whose states take a moment."""
    with server(Settings(data_dir=None, port=0, table_state_delay_seconds=DELAY_SECONDS)) as database:
        yield database.endpoint


@pytest.fixture
def provider(endpoint_of_states: str) -> Iterator[TableProvider]:
    made = TableProvider(endpoint_of_states)
    yield made
    made.tables.close()
    made.sts.close()


def delete(provider: TableProvider) -> None:
    """DeleteTable, and DescribeTable until it is not found."""
    provider.call("DeleteTable", TableName=NAME)

    def is_gone() -> bool:
        try:
            assert provider.table()["TableStatus"] == "DELETING"
        except ClientError as error:
            assert error.response["Error"]["Code"] == "ResourceNotFoundException"
            return True
        return False

    wait_until(is_gone)


def test_a_table_is_created_updated_and_destroyed(provider: TableProvider) -> None:
    assert provider.sts.get_caller_identity()["Account"] == "000000000000"
    assert provider.call("CreateTable", **CREATION)["TableDescription"]["TableStatus"] == "CREATING"
    provider.wait_for_table()
    provider.turn_on_time_to_live()
    provider.recover(7)
    assert provider.take_called() == [
        "CreateTable", "DescribeTable", "UpdateTimeToLive", "DescribeTimeToLive",
        "UpdateContinuousBackups", "DescribeContinuousBackups",
    ]  # fmt: skip
    assert provider.read() == configured()
    assert provider.take_called() == READ
    assert provider.read() == configured(), "a second refresh finds no difference"

    arn = provider.table()["TableArn"]
    provider.update(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-owner"}}])
    provider.update(TableClass="STANDARD_INFREQUENT_ACCESS")
    provider.update(StreamSpecification={"StreamEnabled": False})
    provider.update(StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    provider.update(BillingMode="PAY_PER_REQUEST")
    again = {"IndexName": "again", "KeySchema": [BY_OWNER], "Projection": {"ProjectionType": "ALL"}}
    provider.update(
        AttributeDefinitions=CREATION["AttributeDefinitions"], GlobalSecondaryIndexUpdates=[{"Create": again}]
    )
    provider.call("UntagResource", ResourceArn=arn, TagKeys=["old"])
    provider.call("TagResource", ResourceArn=arn, Tags=[{"Key": "team", "Value": "b"}])
    provider.recover(35)
    none = {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
    expected = configured(
        BillingMode="PAY_PER_REQUEST",
        ProvisionedThroughput=none,
        GlobalSecondaryIndexes=[{**again, "ProvisionedThroughput": none}],
        TableClass="STANDARD_INFREQUENT_ACCESS",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        Tags=[{"Key": "team", "Value": "b"}],
        Recovery=("ENABLED", 35),
    )
    assert provider.read() == expected
    assert provider.read() == expected, "a second refresh finds no difference"
    delete(provider)


def test_what_cloudformation_calls(provider: TableProvider) -> None:
    provider.call("CreateTable", **CREATION)
    provider.wait_for_table()
    provider.turn_on_time_to_live()
    provider.recover(7)
    arn = provider.table()["TableArn"]
    owners: list[dict[str, Any]] = [{}, {"IndexName": "by-owner"}]
    for owner in owners:
        provider.call("UpdateContributorInsights", TableName=NAME, ContributorInsightsAction="ENABLE", **owner)

    def read() -> Any:
        insights = [provider.call("DescribeContributorInsights", TableName=NAME, **owner) for owner in owners]
        kinesis = provider.call("DescribeKinesisStreamingDestination", TableName=NAME)
        with pytest.raises(ClientError) as caught:
            provider.call("GetResourcePolicy", ResourceArn=arn)
        return (
            provider.read(),
            [one["ContributorInsightsStatus"] for one in insights],
            kinesis["KinesisDataStreamDestinations"],
            caught.value.response["Error"]["Code"],
        )

    wait_until(lambda: read()[1] == ["ENABLED", "ENABLED"])
    expected: Any = (configured(), ["ENABLED", "ENABLED"], [], "PolicyNotFoundException")
    assert read() == expected
    assert read() == expected
    delete(provider)


def test_what_cloudformation_calls_to_update(provider: TableProvider) -> None:
    provider.call("CreateTable", **CREATION)
    provider.wait_for_table()
    arn = provider.table()["TableArn"]
    definitions = CREATION["AttributeDefinitions"]
    provider.update(ProvisionedThroughput={"ReadCapacityUnits": 7, "WriteCapacityUnits": 6})
    provider.update(GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by-owner"}}])
    for name in ("first", "second"):
        units = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
        index = {"IndexName": name, "KeySchema": [BY_OWNER], "Projection": {"ProjectionType": "KEYS_ONLY"}}
        creation = {"Create": {**index, "ProvisionedThroughput": units}}
        provider.update(AttributeDefinitions=definitions, GlobalSecondaryIndexUpdates=[creation])
    provider.update(SSESpecification={"Enabled": False})
    provider.turn_on_time_to_live()
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::123456789012:root"},
        "Action": "dynamodb:GetItem",
        "Resource": arn,
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    provider.call("PutResourcePolicy", ResourceArn=arn, Policy=policy)
    assert json.loads(provider.call("GetResourcePolicy", ResourceArn=arn)["Policy"]) == json.loads(policy)

    table = provider.table()
    assert units_of(table) == {"ReadCapacityUnits": 7, "WriteCapacityUnits": 6}
    assert [one["IndexName"] for one in table["GlobalSecondaryIndexes"]] == ["first", "second"]
    assert "SSEDescription" not in table
    delete(provider)


def test_what_cloudformation_calls_for_a_global_table_with_one_replica(
    provider: TableProvider, endpoint_of_states: str
) -> None:
    access = {"region_name": "us-east-1", "aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    scaling = boto3.client("application-autoscaling", endpoint_url=endpoint_of_states, **access)
    provider.call("CreateTable", **CREATION)
    provider.wait_for_table()
    owner = {
        "ServiceNamespace": "dynamodb",
        "ResourceId": f"table/{NAME}",
        "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
    }
    scaling.register_scalable_target(**owner, MinCapacity=6, MaxCapacity=20)
    metric = {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"}
    tracking = {"TargetValue": 70.0, "PredefinedMetricSpecification": metric}
    policy = {"PolicyName": "writes", "PolicyType": "TargetTrackingScaling"}
    scaling.put_scaling_policy(**owner, **policy, TargetTrackingScalingPolicyConfiguration=tracking)

    [target] = scaling.describe_scalable_targets(ServiceNamespace="dynamodb", ResourceIds=[owner["ResourceId"]])[
        "ScalableTargets"
    ]
    [described] = scaling.describe_scaling_policies(**owner)["ScalingPolicies"]
    assert (target["MinCapacity"], target["MaxCapacity"]) == (6, 20)
    assert described["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] == 70
    assert provider.read()["Replicas"] == [], "a table with one replica is no global table"

    scaling.delete_scaling_policy(**owner, PolicyName="writes")
    scaling.deregister_scalable_target(**owner)
    delete(provider)
    scaling.close()
