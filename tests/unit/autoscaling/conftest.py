"""A database whose clock stands at noon, and a provisioned table."""

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


def at_noon(database: Database) -> None:
    """Stop the clock at a noon, because decreases of capacity are counted by the hours and days of UTC."""
    database.clock.freeze()
    database.clock.advance((36 * 3600 - database.clock.now() % 86_400) % 86_400)


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None)) as database:
        at_noon(database)
        database.client().create_table(**TABLE)
        yield database


@pytest.fixture
def scaling(database: Database) -> Any:
    return database.client("application-autoscaling")


class Load:
    """Loads of one table: units that are written in a minute."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def minute(self, units: int) -> int:
        """Write so many units within a minute, by items of up to 100; returns the provisioned units after it."""
        while units > 0:
            size = min(units, 100)
            item = {"pk": {"S": f"{size} units"}, "text": {"S": "x" * (1024 * size - 100)}}
            self._database.call("PutItem", {"TableName": "orders", "Item": item})
            units -= size
        self._database.clock.advance(60)
        return self.units()

    def units(self) -> int:
        """Provisioned write units."""
        table = self._database.call("DescribeTable", {"TableName": "orders"})["Table"]
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
