"""What programs ask CloudWatch for, exactly: a week that was made by advances and ends now,
by the caller's own clock. Through boto3.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.unit.metric_recording.seen import create_table, key, start_recording

WEEK_SECONDS = 7 * 86_400
ORDERS = [{"Name": "TableName", "Value": "orders"}]


@pytest.fixture(scope="module")
def used() -> Iterator[Database]:
    """A table that has been used each hour for a week."""
    with server(Settings(data_dir=None, port=0, clock_behind_seconds=WEEK_SECONDS)) as database:
        start_recording(database)
        client = database.client()
        create_table(client)
        client.put_item(TableName="orders", Item=key() | {"text": {"S": "x" * 9_000}})
        for _ in range(168):
            client.get_item(TableName="orders", Key=key(), ConsistentRead=True)
            client.get_item(TableName="orders", Key=key("none"), ConsistentRead=True)
            database.clock.advance(3_600)
        with pytest.raises(client.exceptions.ResourceNotFoundException):
            client.get_item(TableName="nowhere", Key=key())
        yield database


@pytest.fixture
def cloudwatch(used: Database) -> Any:
    return boto3.client(
        "cloudwatch",
        endpoint_url=used.endpoint,
        region_name="us-east-1",
        aws_access_key_id="000000000000",
        aws_secret_access_key="secret",
    )


def test_a_week_by_the_hour_has_168_points(cloudwatch: Any) -> None:
    now = datetime.now(UTC)
    points = cloudwatch.get_metric_statistics(
        Namespace="AWS/DynamoDB",
        MetricName="ConsumedReadCapacityUnits",
        Dimensions=ORDERS,
        StartTime=now - timedelta(days=7),
        EndTime=now,
        Period=3600,
        Statistics=["Sum", "Average", "Maximum"],
    )["Datapoints"]
    assert len(points) == 168
    assert {point["Sum"] for point in points} <= {4.0, 8.0, 0.0}
    assert {point["Maximum"] for point in points} <= {3.0, 0.0}
    assert sum(point["Sum"] for point in points) >= 4 * 167


def test_user_errors_of_a_table_have_no_points_and_those_of_the_account_do(cloudwatch: Any) -> None:
    now = datetime.now(UTC)
    common = {
        "Namespace": "AWS/DynamoDB",
        "MetricName": "UserErrors",
        "StartTime": now - timedelta(days=1),
        "EndTime": now + timedelta(minutes=2),
        "Period": 300,
        "Statistics": ["Sum"],
    }
    assert cloudwatch.get_metric_statistics(Dimensions=ORDERS, **common)["Datapoints"] == []
    (point,) = cloudwatch.get_metric_statistics(**common)["Datapoints"]
    assert (point["Sum"], point["Unit"]) == (1, "Count")


def test_metrics_are_listed_with_their_dimensions(cloudwatch: Any) -> None:
    listed = cloudwatch.list_metrics(Namespace="AWS/DynamoDB", MetricName="SuccessfulRequestLatency")["Metrics"]
    assert {dimension["Value"] for one in listed for dimension in one["Dimensions"]} == {
        "orders",
        "GetItem",
        "PutItem",
    }
