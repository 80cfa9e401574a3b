"""A database that throttles, whose clock stands at the begin of a minute, and a provisioned table."""

from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database

TABLE = {
    "TableName": "orders",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "who", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-who",
            "KeySchema": [{"AttributeName": "who", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
        }
    ],
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
}
PLACE = {
    "ServiceNamespace": "dynamodb",
    "ResourceId": "table/orders",
    "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
}


def at_minute(database: Database) -> None:
    """Stop the clock at the begin of a minute."""
    database.clock.freeze()
    database.clock.advance(60 - database.clock.now() % 60)


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None)) as database:
        at_minute(database)
        database.client().create_table(**TABLE)
        yield database


@pytest.fixture
def scaling(database: Database) -> Any:
    return database.client("application-autoscaling")


class Load:
    """Loads of one table: units that are written in a minute, by transactions of large items."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._client = database.client()

    def minute(self, units: int) -> int:
        """Write so many units within a minute, whatever is throttled; returns the provisioned units after it."""
        item = {"pk": {"S": "a"}, "text": {"S": "x" * 102_300}}  # 100 units
        for _ in range(units // 100):
            self._client.put_item(TableName="orders", Item=item)
        for _ in range(units % 100):
            self._client.put_item(TableName="orders", Item={"pk": {"S": "b"}})
        self._database.clock.advance(60)
        return self.units()

    def units(self) -> int:
        """Provisioned write units."""
        table = self._client.describe_table(TableName="orders")["Table"]
        return int(table["ProvisionedThroughput"]["WriteCapacityUnits"])


@pytest.fixture
def load(database: Database) -> Load:
    return Load(database)


def follow(scaling: Any, target: float = 70.0, **members: Any) -> Any:
    """Put a policy that follows the use of the table's writes."""
    return scaling.put_scaling_policy(
        **PLACE,
        PolicyName="writes",
        PolicyType="TargetTrackingScaling",
        TargetTrackingScalingPolicyConfiguration={
            "TargetValue": target,
            "PredefinedMetricSpecification": {"PredefinedMetricType": "DynamoDBWriteCapacityUtilization"},
            **members,
        },
    )


def activities(scaling: Any, **members: Any) -> list[Any]:
    """Activities, newest first."""
    found: list[Any] = scaling.describe_scaling_activities(ServiceNamespace="dynamodb", **members)["ScalingActivities"]
    return found
