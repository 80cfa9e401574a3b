"""The metrics of AWS/DAX: what a node counts is there at once, in the minute in which it happened."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.support.dax_client import DaxClient, DaxError
from tests.unit.dax.test_data_plane import TABLE, get, key, put


def sums(database: Database, minutes: int = 5) -> dict[str, list[float]]:
    """Name of each metric of the node → sums of its last minutes, oldest first."""
    cloudwatch = database.client("cloudwatch")
    now = datetime.fromtimestamp(database.clock.now(), UTC)
    dimensions = [{"Name": "ClusterId", "Value": "default"}, {"Name": "NodeId", "Value": "default-a"}]
    found = {}
    for metric in cloudwatch.list_metrics(Namespace="AWS/DAX", Dimensions=dimensions)["Metrics"]:
        reply = cloudwatch.get_metric_statistics(
            Namespace="AWS/DAX",
            MetricName=metric["MetricName"],
            Dimensions=dimensions,
            StartTime=now - timedelta(minutes=minutes),
            EndTime=now + timedelta(minutes=1),
            Period=60,
            Statistics=["Sum"],
        )
        points = sorted(reply["Datapoints"], key=lambda point: str(point["Timestamp"]))
        found[metric["MetricName"]] = [point["Sum"] for point in points]
    return found


def test_what_a_node_counts(database: Database, direct: Any, dax: DaxClient) -> None:
    del direct
    database.clock.freeze()
    put(dax, n=1)
    for artist in ("Nina", "Ella", "Ella"):
        get(dax, artist)
    dax.call("scan", TABLE, None)
    with pytest.raises(DaxError):
        dax.call("getItem", TABLE, b"\xff", None)
    found = sums(database)
    expected = {
        "GetItemRequestCount": [4],
        "PutItemRequestCount": [1],
        "ScanRequestCount": [1],
        "ItemCacheHits": [2],
        "ItemCacheMisses": [2],
        "ScanCacheMisses": [1],
        "ErrorRequestCount": [1],
        "FailedRequestCount": [1],
    }
    assert {name: found[name] for name in expected} == expected
    assert found["TotalRequestCount"][0] >= 6
    assert found["ClientConnections"][0] >= 0
    assert found["NetworkBytesOut"][0] > 0
    assert "FaultRequestCount" not in found


def test_a_count_belongs_to_its_minute(database: Database, direct: Any, dax: DaxClient) -> None:
    del direct
    database.clock.freeze()
    for count in (1, 2, 3):
        for _ in range(count):
            dax.call("getItem", TABLE, key(), None)
        database.clock.advance(60)
    assert sums(database)["GetItemRequestCount"] == [1, 2, 3]


def test_without_metrics_nothing_is_kept_of_requests() -> None:
    with server(Settings(data_dir=None, port=0, dax_port=0, metrics="off")) as database:
        with DaxClient(str(database.dax_endpoint)) as client:
            for _ in range(5):
                client.call("endpoints")
        (caches,) = [
            running.caches
            for running in database._process._server.dax._running.values()  # type: ignore[union-attr]
        ]
        assert caches.counts["TotalRequestCount"] == 5
        assert not caches.latencies_seconds
