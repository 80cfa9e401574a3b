"""Reads the metrics that a database has recorded, without CloudWatch's API."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

from hashrange.cloudwatch.dynamodb.definitions import DYNAMODB_NAMESPACE
from hashrange.cloudwatch.feature import METRICS
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.statistic import Datapoint, StatisticSet, merged
from hashrange.service.service import Service
from hashrange.testing import Database

ACCOUNT, REGION = "000000000000", "us-east-1"
DAY_SECONDS = 86_400.0


def start_recording(database: Database) -> None:
    """Let the database record its metrics, unless it does."""
    service: Service = database._process.service
    if service.recording is None:
        database._process.run(service.start_recording)


class Seen:
    """The metrics of one account and Region of a database."""

    def __init__(self, database: Database, account: str = ACCOUNT, region: str = REGION) -> None:
        start_recording(database)
        self._database = database
        self._metrics = database._process.service.features.part(METRICS)
        self._place = (account, region)

    def now_seconds(self) -> float:
        """Service time."""
        return self._database.clock.now()

    def points(
        self,
        name: str,
        namespace: str = DYNAMODB_NAMESPACE,
        period_seconds: int = 60,
        past_seconds: float = DAY_SECONDS,
        /,
        **dimensions: str,
    ) -> Sequence[Datapoint]:
        """Datapoints of a metric with exactly these dimensions, up to now."""
        metric = MetricId(*self._place, namespace, name, tuple(sorted(dimensions.items())))
        now_seconds = self._database.clock.now() + 1
        found: Sequence[Datapoint] = self._database._process.run(
            self._metrics.points, metric, now_seconds - past_seconds, now_seconds, period_seconds
        )
        return found

    def all(self, name: str, namespace: str = DYNAMODB_NAMESPACE, /, **dimensions: str) -> StatisticSet | None:
        """The statistics of all observations of a metric; None if there are none."""
        points = self.points(name, namespace, **dimensions)
        return reduce(merged, [point.statistics for point in points]) if points else None

    def sum(self, name: str, namespace: str = DYNAMODB_NAMESPACE, /, **dimensions: str) -> float:
        """The sum of all observations of a metric; 0 if there are none."""
        found = self.all(name, namespace, **dimensions)
        return 0.0 if found is None else found.sum

    def found(self, name: str | None = None) -> Sequence[MetricId]:
        """The metrics that there are."""
        metrics: Sequence[MetricId] = self._database._process.run(self._metrics.find, *self._place, None, name)
        return metrics

    def dimensions(self, name: str) -> list[dict[str, str]]:
        """The sets of dimensions with which a metric has been observed."""
        return [dict(metric.dimensions) for metric in self.found(name)]


def create_table(client: Any, name: str = "orders", **more: Any) -> None:
    """Create a table with a sort key, and 300 units unless `more` says otherwise."""
    request: dict[str, Any] = {
        "TableName": name,
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "AttributeDefinitions": [{"AttributeName": one, "AttributeType": "S"} for one in ("pk", "sk")],
        "ProvisionedThroughput": {"ReadCapacityUnits": 300, "WriteCapacityUnits": 300},
    }
    client.create_table(**request | more)


def key(name: str = "a") -> dict[str, Any]:
    """The key of an item."""
    return {"pk": {"S": name}, "sk": {"S": "b"}}


def freeze_at_minute(database: Database) -> None:
    """Freeze service time at the begin of an hour, so that minutes and periods begin when the test does."""
    database.clock.freeze()
    database.clock.advance(3600 - database.clock.now() % 3600)
