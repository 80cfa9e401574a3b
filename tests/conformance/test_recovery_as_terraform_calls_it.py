"""What do Terraform and CloudFormation (and so CDK, SAM and Pulumi) call to keep a table with point-in-time recovery?
These calls, in this order.

Neither tool is run here; the calls and their members are those of Terraform's AWS provider 6, which Pulumi uses too:

| resource | create | read | update | delete |
|---|---|---|---|---|
| aws_dynamodb_table with point_in_time_recovery | CreateTable, DescribeTable until ACTIVE, UpdateContinuousBackups while it is ContinuousBackupsUnavailableException, DescribeContinuousBackups until ENABLED | DescribeTable, DescribeContinuousBackups, DescribeTimeToLive, ListTagsOfResource | UpdateContinuousBackups, DescribeContinuousBackups until it is as wanted | DeleteTable, DescribeTable until it is not found |
| the same with restore_source_name, restore_to_latest_time | RestoreTableToPointInTime, DescribeTable until ACTIVE, then as above | | | |

CloudFormation's AWS::DynamoDB::Table calls the same operations for PointInTimeRecoverySpecification, and
DescribeContinuousBackups in each read. After each of these, a plan must be empty: a read returns what was configured.
"""  # noqa: E501

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.clients.serving import ServerProcess
from tests.conformance.tables import create_request
from tests.support.waiting import wait_until

NAME = "orders"
DELAY_SECONDS = "0.05"
"""How long states take, so that there is something to wait for."""
DISABLED = {"PointInTimeRecoveryStatus": "DISABLED"}


@pytest.fixture(params=["0", DELAY_SECONDS])
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A client of a server whose states take some time, or none."""
    process = ServerProcess(None, "--table-state-delay", request.param)
    made = boto3.client(
        "dynamodb",
        endpoint_url=process.endpoint,
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"total_max_attempts": 1}),
    )
    yield made
    process.stop()


def is_active(client: Any, name: str) -> bool:
    return bool(client.describe_table(TableName=name)["Table"]["TableStatus"] == "ACTIVE")


def recovery_of(client: Any, name: str) -> Any:
    described = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    return described["PointInTimeRecoveryDescription"]


def retried(call: Callable[[], Any]) -> None:
    """Call until backups are enabled, as the provider does for up to 20 minutes."""

    def is_done() -> bool:
        try:
            call()
        except ClientError as error:
            assert error.response["Error"]["Code"] == "ContinuousBackupsUnavailableException"
            return False
        return True

    wait_until(is_done)


def update(client: Any, name: str, **specification: Any) -> None:
    """Update of `point_in_time_recovery`."""
    retried(lambda: client.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=specification))
    wanted = "ENABLED" if specification["PointInTimeRecoveryEnabled"] else "DISABLED"
    wait_until(lambda: recovery_of(client, name)["PointInTimeRecoveryStatus"] == wanted)


def read(client: Any, name: str) -> dict[str, Any]:
    """What a refresh reads."""
    table = client.describe_table(TableName=name)["Table"]
    recovery = recovery_of(client, name)
    assert client.describe_time_to_live(TableName=name)["TimeToLiveDescription"] == {"TimeToLiveStatus": "DISABLED"}
    assert client.list_tags_of_resource(ResourceArn=table["TableArn"])["Tags"] == []
    return {
        "name": table["TableName"],
        "enabled": recovery["PointInTimeRecoveryStatus"] == "ENABLED",
        "days": recovery.get("RecoveryPeriodInDays"),
        "restore": table.get("RestoreSummary"),
    }


def delete(client: Any, name: str) -> None:
    client.delete_table(TableName=name)

    def is_gone() -> bool:
        try:
            client.describe_table(TableName=name)
        except client.exceptions.ResourceNotFoundException:
            return True
        return False

    wait_until(is_gone)


def test_a_table_with_recovery(client: Any) -> None:
    client.create_table(**create_request(NAME))
    wait_until(lambda: is_active(client, NAME))
    update(client, NAME, PointInTimeRecoveryEnabled=True)
    assert read(client, NAME) == {"name": NAME, "enabled": True, "days": 35, "restore": None}
    update(client, NAME, PointInTimeRecoveryEnabled=True, RecoveryPeriodInDays=7)
    assert read(client, NAME) == {"name": NAME, "enabled": True, "days": 7, "restore": None}
    update(client, NAME, PointInTimeRecoveryEnabled=False)
    assert read(client, NAME) == {"name": NAME, "enabled": False, "days": None, "restore": None}
    delete(client, NAME)


def test_a_table_that_is_restored(client: Any) -> None:
    client.create_table(**create_request(NAME))
    wait_until(lambda: is_active(client, NAME))
    client.put_item(TableName=NAME, Item={"id": {"S": "a"}})
    update(client, NAME, PointInTimeRecoveryEnabled=True)
    client.restore_table_to_point_in_time(
        SourceTableName=NAME, TargetTableName="restored", UseLatestRestorableTime=True
    )
    wait_until(lambda: is_active(client, "restored"))
    update(client, "restored", PointInTimeRecoveryEnabled=True)
    assert read(client, "restored") == {"name": "restored", "enabled": True, "days": 35, "restore": None}
    assert client.scan(TableName="restored")["Items"] == [{"id": {"S": "a"}}]
    for name in (NAME, "restored"):
        delete(client, name)


def test_a_refresh_right_after_the_creation(client: Any) -> None:
    client.create_table(**create_request(NAME))
    wait_until(lambda: is_active(client, NAME))
    described = client.describe_continuous_backups(TableName=NAME)["ContinuousBackupsDescription"]
    assert described["PointInTimeRecoveryDescription"] == DISABLED
    assert described["ContinuousBackupsStatus"] in ("ENABLED", "DISABLED")
    delete(client, NAME)
