"""Accounts and Regions without tables cost little, and nobody forgets another's metrics by making some up."""

from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.cloudwatch.feature import METRICS
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.statistic import of_value
from hashrange.service import metric_places
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.support.working import calls_of
from tests.unit.metric_recording.conftest import ONCE
from tests.unit.metric_recording.seen import REGION, Seen, create_table, key
from tests.unit.metric_recording.test_in_pieces import recording_of

PLACES = 120
GOING = 4
"""Accounts without tables that tests let Hashrange keep."""


@pytest.fixture
def few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_places, "METRIC_PLACES_LEFT_MAX", GOING)
    monkeypatch.setattr(metric_places, "METRIC_PLACES_REFUSED_MAX", GOING)


def account(number: int) -> str:
    return f"{10**11 + number}"


def client_of(database: Database, number: int) -> Any:
    return database.client(aws_access_key_id=account(number), config=ONCE)


def come_and_go(database: Database, number: int) -> None:
    """An account creates a table, uses it, and deletes it."""
    client = client_of(database, number)
    create_table(client)
    client.put_item(TableName="orders", Item=key())
    client.delete_table(TableName="orders")


def be_refused(database: Database, number: int) -> None:
    client = client_of(database, number)
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.get_item(TableName="nowhere", Key=key())


def accounts_with(database: Database, name: str, numbers: range) -> list[int]:
    """Of these accounts, those that have a metric of this name."""
    return [number for number in numbers if Seen(database, account(number)).found(name)]


def calls_of_looks(database: Database, tables: int = 120) -> int:
    """The most functions that one look into the catalog calls while an account creates tables."""
    gauges = recording_of(database)._gauges
    client, most, look = client_of(database, 0), 0, gauges.look

    def counted(changed_seconds: float) -> None:
        nonlocal most
        most = max(most, calls_of(look, changed_seconds))

    gauges.look = counted
    for number in range(tables):
        create_table(client, f"table-{number}")
    gauges.look = look
    return most


def test_a_look_at_tables_does_not_grow_with_the_accounts(database: Database) -> None:
    """The 101st change recorded the gauges of all accounts: with 16,000 in 3.7 s."""
    for number in range(1, PLACES):
        come_and_go(database, number)
    recording_of(database)
    Seen(database).found()
    database.clock.freeze()
    database.clock.advance(301)
    assert calls_of_looks(database) < 4_000


def test_a_look_at_tables_does_not_grow_with_the_tables_of_a_start(database: Database) -> None:
    """All tables that are there at a start, or after a restore, are one change."""
    client = client_of(database, 1)
    for number in range(PLACES):
        create_table(client, f"{number:03}")
    recording = recording_of(database)
    database._process.run(recording._begin, database.clock.now())
    assert calls_of_looks(database) < 4_000
    waiting = len(recording._gauges._changes)
    create_table(client, "last")
    create_table(client, "very-last")
    assert len(recording._gauges._changes) <= waiting
    assert Seen(database, account(1)).all("TableCount", "AWS/Usage") is not None


def test_gauges_of_an_account_end_an_hour_after_its_last_table(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    client.delete_table(TableName="orders")
    for _ in range(3):
        database.clock.advance(3_000)
        seen.found()
    now_seconds = seen.now_seconds()
    times = [now_seconds - point.at_seconds for point in seen.points("AccountMaxReads")]
    assert times == [9_000 - 300 * number for number in range(13)]
    create_table(client)
    database.clock.advance(300)
    assert [now_seconds - point.at_seconds for point in seen.points("AccountMaxReads")][13:] == [0, -300]
    assert seen.points("TableCount", "AWS/Usage")[-1].statistics.maximum == 1


def test_a_year_without_tables_records_no_more_than_an_hour(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    client.delete_table(TableName="orders")
    database.clock.advance(365 * 86_400)
    assert len(seen.points("AccountMaxReads", "AWS/DynamoDB", 300, 366 * 86_400.0)) <= 13
    assert recording_of(database)._places.shown == {}


@pytest.mark.usefixtures("few_places")
def test_metrics_of_few_accounts_without_tables_are_kept(database: Database) -> None:
    """They were kept up to 100,000 metrics: 30 KB for each account whose only table was deleted."""
    create_table(client_of(database, 0))
    metrics = database._process.service.features.part(METRICS)
    of_node = MetricId(account(1), REGION, "AWS/DAX", "GetItemRequestCount", ())
    database._process.run(metrics.record, of_node, "Count", database.clock.now(), of_value(1.0))
    for number in range(1, 10):
        come_and_go(database, number)
    numbers = range(10)
    assert accounts_with(database, "ConsumedWriteCapacityUnits", numbers) == [*range(10 - GOING, 10)]
    assert accounts_with(database, "TableCount", numbers) == [0, *range(10 - GOING, 10)]
    assert accounts_with(database, "GetItemRequestCount", numbers) == [1]  # which other services count
    of_tables = [metric for metric, _ in metrics.totals.all() if metric != of_node]
    assert {int(metric.account) - 10**11 for metric in of_tables} == {0, *range(10 - GOING, 10)}
    come_and_go(database, 6)  # which is the last one again
    come_and_go(database, 1)
    assert accounts_with(database, "TableCount", numbers) == [0, 1, 6, 8, 9]


@pytest.mark.usefixtures("few_places")
def test_refused_requests_of_invented_accounts_leave_few_metrics(database: Database) -> None:
    """Each account and Region that anybody named had a metric, up to 100,000."""
    create_table(client_of(database, 0))
    come_and_go(database, 1)
    be_refused(database, 0)
    be_refused(database, 1)
    recording = recording_of(database)
    for number in range(2, 20):
        be_refused(database, number)
    errors = [metric for metric in recording._counts._values if metric.name == "UserErrors"]
    assert len(errors) == GOING + 2
    numbers = range(30)
    assert accounts_with(database, "UserErrors", numbers) == [0, 1, *range(20 - GOING, 20)]
    for number in (17, *range(20, 23)):
        be_refused(database, number)
    assert accounts_with(database, "UserErrors", numbers) == [0, 1, 17, 20, 21, 22]
    assert Seen(database, account(17)).sum("UserErrors") == 2
    assert accounts_with(database, "TableCount", numbers) == [0, 1]
    metrics = database._process.service.features.part(METRICS)
    counted = [int(metric.account) - 10**11 for metric, _ in metrics.totals.all() if metric.name == "UserErrors"]
    assert sorted(counted) == [0, 1, 17, 20, 21, 22]


@pytest.mark.usefixtures("few_places")
def test_errors_of_minutes_that_nobody_has_read_are_of_few_accounts_too(database: Database) -> None:
    for number in range(20):
        be_refused(database, number)
        database.clock.advance(60)
    assert accounts_with(database, "UserErrors", range(20)) == list(range(20 - GOING, 20))


@pytest.mark.usefixtures("few_places")
def test_an_account_that_is_refused_before_its_first_table_keeps_its_errors(database: Database) -> None:
    be_refused(database, 0)
    create_table(client_of(database, 0))
    for number in range(1, 20):
        be_refused(database, number)
    assert Seen(database, account(0)).sum("UserErrors") == 1


@pytest.fixture
def database_on_disk(tmp_path: Any) -> Iterator[Settings]:
    yield Settings(data_dir=str(tmp_path / "data"), port=0)


def test_of_a_folder_with_too_many_accounts_some_are_forgotten(
    database_on_disk: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that an earlier version has written."""
    with server(database_on_disk) as database:
        for number in range(10):
            be_refused(database, number)
        create_table(client_of(database, 10))
        come_and_go(database, 11)
        assert len(accounts_with(database, "UserErrors", range(12))) == 10
    monkeypatch.setattr(metric_places, "METRIC_PLACES_REFUSED_MAX", GOING)
    with server(database_on_disk) as database:
        accounts_with(database, "TableCount", range(12))  # loads, so that the next reading finds all
        found = [number for number in range(12) if Seen(database, account(number)).found()]
        assert found == [6, 7, 8, 9, 10, 11]
