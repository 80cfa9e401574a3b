"""What many tables have counted and shown is recorded in pieces by who reads,
as if it had been recorded when it happened.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.cloudwatch.feature import METRICS
from hashrange.cloudwatch.metrics import Metrics
from hashrange.service.metric_gauges import CHANGES_MAX
from hashrange.settings import Settings
from hashrange.store.embedded.catalog import EmbeddedCatalog
from hashrange.testing import server
from hashrange.testing.database import Database
from tests.support.working import give_way_always, lines_between_looks
from tests.unit.testing.music import create

TABLES = 120
UNITS = {
    "BillingMode": "PROVISIONED",
    "ProvisionedThroughput": {"ReadCapacityUnits": 7, "WriteCapacityUnits": 3},
}


@pytest.fixture
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None)) as database:
        database.clock.freeze()
        database.clock.advance((3600 - database.clock.now() % 3600) % 3600)
        yield database


def metrics_of(database: Database) -> Metrics:
    return database._process.service.features.part(METRICS)


def recording_of(database: Database) -> Any:
    """The `MetricRecording`."""
    source: Any = metrics_of(database).sources._sources[0]
    return source.__self__


def cells(database: Database, name: str, table: str, minutes: int = 10) -> list[tuple[int, float, float]]:
    """Minute since the hour, values and sum of each datapoint of a table's metric."""
    now = database.clock.now()
    reply = database.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/DynamoDB",
        MetricName=name,
        Dimensions=[{"Name": "TableName", "Value": table}],
        StartTime=now - 60 * minutes,
        EndTime=now + 60,
        Period=60,
        Statistics=["SampleCount", "Sum"],
    )
    points = [(int(one["Timestamp"].timestamp()), one["SampleCount"], one["Sum"]) for one in reply["Datapoints"]]
    return [(at // 60 % 60, count, total) for at, count, total in sorted(points)]


def put(client: Any, table: str, count: int = 1) -> None:
    for number in range(count):
        client.put_item(TableName=table, Item={"pk": {"S": str(number)}})


def lines_of_reading(database: Database) -> int:
    async def read() -> int:
        return lines_between_looks(metrics_of(database).sources.read)

    return int(database._process.run(read))


def test_many_tables_are_recorded_in_pieces(database: Database) -> None:
    """With 2,000 tables each part of it held up all clients for 90 to 160 ms."""
    client = database.client()
    for number in range(TABLES):
        create(client, f"table-{number}", **UNITS)
    assert lines_of_reading(database) < 3_000
    for number in range(TABLES):
        put(client, f"table-{number}")
    database._process.run(recording_of(database).fold)  # as is done four times a second
    database.clock.advance(60)
    assert lines_of_reading(database) < 3_000
    database.clock.advance(600)
    assert lines_of_reading(database) < 3_000
    assert cells(database, "ConsumedWriteCapacityUnits", "table-7", 20)[:3] == [(0, 1, 1.0), (1, 1, 0.0), (2, 1, 0.0)]


def test_a_table_that_is_deleted_before_anybody_reads_has_no_zero_for_a_minute_in_which_it_was_used(
    database: Database,
) -> None:
    client = database.client()
    create(client, "orders", **UNITS)
    put(client, "orders", 3)
    database.clock.advance(60)
    put(client, "orders", 2)
    database.clock.advance(120)
    client.delete_table(TableName="orders")
    database.clock.advance(120)
    expected = [(0, 3, 3.0), (1, 2, 2.0), (2, 1, 0.0)]
    assert cells(database, "ConsumedWriteCapacityUnits", "orders") == expected
    of_source = [(minute, count, total) for minute, count, total in expected]
    assert cells(database, "ConsumedReadCapacityUnits", "orders") == [(minute, 1, 0.0) for minute, _, _ in of_source]


def test_gauges_show_what_held_when_they_were_observed(database: Database) -> None:
    client = database.client()
    create(client, "orders", **UNITS)
    database.clock.advance(360)
    client.update_table(TableName="orders", ProvisionedThroughput={"ReadCapacityUnits": 70, "WriteCapacityUnits": 3})
    database.clock.advance(300)
    found = cells(database, "ProvisionedReadCapacityUnits", "orders", 20)
    assert found == [(0, 1, 7.0), (5, 1, 7.0), (6, 1, 70.0), (10, 1, 70.0)]


def test_neither_a_change_nor_an_advance_looks_at_all_tables(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That took 5 ms for each of them beside 10,000 tables."""
    client = database.client()
    create(client, "first")
    lines_of_reading(database)
    looks: list[EmbeddedCatalog] = []
    monkeypatch.setattr(EmbeddedCatalog, "all_tables", looks.append)
    create(client, "second")
    put(client, "second")
    client.delete_table(TableName="first")
    database.clock.advance(60)
    assert cells(database, "ConsumedWriteCapacityUnits", "second")
    assert not looks


def test_changes_that_nobody_reads_do_not_pile_up(database: Database) -> None:
    client = database.client()
    recording = recording_of(database)
    for number in range(CHANGES_MAX + 20):
        create(client, f"table-{number}", **UNITS)
    assert len(recording._gauges._changes) <= CHANGES_MAX
    assert cells(database, "ProvisionedReadCapacityUnits", "table-0") == [(0, 1, 7.0)]
    assert cells(database, "ProvisionedReadCapacityUnits", f"table-{CHANGES_MAX + 10}") == [(0, 1, 7.0)]


def test_what_is_done_while_it_is_recorded_is_not_lost(database: Database) -> None:
    client = database.client()
    for number in range(40):
        create(client, f"table-{number}", **UNITS)
        put(client, f"table-{number}")
    service = database._process.service
    recording = recording_of(database)
    times: list[int] = []

    def meanwhile() -> None:
        times.append(1)
        if len(times) == 3:
            recording._turn(has_moved=True)
            recording.fold()

    async def read() -> None:
        metrics_of(database).sources.read()

    async def run() -> int:
        ways_given, _ = give_way_always(read(), meanwhile)
        service.workers.take_turns(asyncio.get_running_loop())
        return ways_given

    assert database._process.run(run) > 5
    put(client, "table-3", 2)
    database.clock.advance(60)
    assert cells(database, "ConsumedWriteCapacityUnits", "table-3") == [(0, 3, 3.0)]
