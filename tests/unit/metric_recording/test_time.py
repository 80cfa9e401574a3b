"""To which minutes do observations belong, and what is shown of tables that nobody uses?
With service time that is frozen and moved.
"""

from collections.abc import Iterator
from math import inf
from typing import Any

import pytest

from hashrange.clock import MovableClock
from hashrange.operations.meter import Meter
from hashrange.service import metric_recording
from hashrange.service.metric_calls import ConsumedUnits, units_of
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.unit.metric_recording.seen import (
    DAY_SECONDS,
    Seen,
    create_table,
    freeze_at_minute,
    key,
    start_recording,
)

NAMESPACE = "AWS/DynamoDB"
READ, WRITTEN = "ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits"
ORDERS = {"TableName": "orders"}
WEEK_SECONDS = 7 * DAY_SECONDS


def values(seen: Seen, name: str, **dimensions: str) -> list[tuple[float, float, float]]:
    """Minutes before now, number of samples and sum of each datapoint."""
    end_seconds = seen.now_seconds()
    return [
        ((end_seconds - point.at_seconds) // 60, point.statistics.sample_count, point.statistics.sum)
        for point in seen.points(name, NAMESPACE, 60, DAY_SECONDS, **dimensions)
    ]


def test_an_observation_belongs_to_the_minute_in_which_its_call_ended(
    database: Database, client: Any, seen: Seen
) -> None:
    create_table(client)
    client.put_item(TableName="orders", Item=key())
    database.clock.advance(59)
    client.put_item(TableName="orders", Item=key())
    database.clock.advance(1)
    for _ in range(3):
        client.put_item(TableName="orders", Item=key())
    database.clock.advance(600)
    client.put_item(TableName="orders", Item=key())
    assert values(seen, WRITTEN, **ORDERS) == [
        (11, 2, 2),
        (10, 3, 3),
        *[(minute, 1, 0) for minute in range(9, 0, -1)],
        (0, 1, 1),
    ]


def test_the_running_minute_is_shown_at_once(client: Any, seen: Seen) -> None:
    create_table(client)
    for count in range(1, 4):
        client.put_item(TableName="orders", Item=key())
        assert values(seen, WRITTEN, **ORDERS) == [(0, count, count)]


def test_a_clock_that_runs_again_goes_on_in_its_minute(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    client.put_item(TableName="orders", Item=key())
    database.clock.resume()
    client.put_item(TableName="orders", Item=key())
    database.clock.advance(120)
    client.put_item(TableName="orders", Item=key())
    database.clock.freeze()
    assert [count for _, count, total in values(seen, WRITTEN, **ORDERS) if total] == [2, 1]


def test_a_week_of_an_idle_table_has_zeros_in_each_hour(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    database.clock.advance(WEEK_SECONDS)
    for name in (READ, WRITTEN):
        points = seen.points(name, NAMESPACE, 3600, WEEK_SECONDS + 1, **ORDERS)
        assert len(points) == 168
        assert {point.statistics.sum for point in points} == {0}


def test_a_week_of_use_shows_sum_average_and_maximum_of_each_hour(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    client.put_item(TableName="orders", Item=key() | {"text": {"S": "x" * 9_000}})
    for hour in range(168):
        for _ in range(hour % 3):
            client.get_item(TableName="orders", Key=key(), ConsistentRead=True)
        client.get_item(TableName="orders", Key=key("none"))
        database.clock.advance(3600)
    points = seen.points(READ, NAMESPACE, 3600, WEEK_SECONDS + 1, **ORDERS)
    assert len(points) == 168
    assert [point.statistics.sum for point in points] == [3 * (hour % 3) + 0.5 for hour in range(168)]
    assert [point.statistics.maximum for point in points] == [3 if hour % 3 else 0.5 for hour in range(168)]
    assert [point.statistics.sample_count for point in points] == [hour % 3 + 1 + 59 for hour in range(168)]
    assert seen.points("UserErrors", NAMESPACE, 60, WEEK_SECONDS, **ORDERS) == []


def test_gauges_are_observed_every_five_minutes(database: Database, client: Any, seen: Seen) -> None:
    database.clock.advance(61)
    create_table(client)
    database.clock.advance(899)
    assert [minute for minute, *_ in values(seen, "ProvisionedReadCapacityUnits", **ORDERS)] == [15, 11, 6, 1]
    for name, value in (("AccountMaxReads", 80_000.0), ("AccountMaxTableLevelWrites", 40_000.0)):
        found = seen.all(name)
        assert found is not None
        assert (found.minimum, found.maximum) == (value, value)


def test_a_change_shows_the_old_value_up_to_its_moment(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    database.clock.advance(1_000)
    throughput = {"ReadCapacityUnits": 500, "WriteCapacityUnits": 300}
    client.update_table(TableName="orders", ProvisionedThroughput=throughput)
    database.clock.advance(1_000)
    shown = values(seen, "ProvisionedReadCapacityUnits", **ORDERS)
    assert [total for _, _, total in shown] == [300, 300, 300, 300, 500, 500, 500, 500]
    assert [minute for minute, *_ in shown] == [33, 28, 23, 18, 17, 13, 8, 3]
    assert {total for _, _, total in values(seen, "ProvisionedWriteCapacityUnits", **ORDERS)} == {300}


def test_a_change_that_takes_time_shows_the_old_value_until_it_is_done() -> None:
    with server(Settings(data_dir=None, table_state_delay_seconds=120.0)) as database:
        freeze_at_minute(database)
        seen, client = Seen(database), database.client()
        create_table(client)
        database.clock.advance(1_000)
        throughput = {"ReadCapacityUnits": 500, "WriteCapacityUnits": 300}
        client.update_table(TableName="orders", ProvisionedThroughput=throughput)
        database.clock.advance(1_000)
        shown = values(seen, "ProvisionedReadCapacityUnits", **ORDERS)
        assert [(minute, total) for minute, _, total in shown] == [
            (33, 300), (28, 300), (23, 300), (18, 300), (15, 500), (13, 500), (8, 500), (3, 500),
        ]  # fmt: skip
        used = seen.all("AccountProvisionedReadCapacityUnits", "AWS/Usage")
        assert used is not None
        assert (used.minimum, used.maximum) == (300, 500)


def test_a_change_by_a_job_is_seen_at_the_moment_at_which_time_stood(
    database: Database, client: Any, seen: Seen
) -> None:
    """Auto Scaling calls UpdateTable without a request of a client."""
    create_table(client)
    database.clock.advance(600)
    process = database._process
    service = process.service
    request = {"TableName": "orders", "ProvisionedThroughput": {"ReadCapacityUnits": 7, "WriteCapacityUnits": 300}}
    recording, service.recording = service.recording, None
    process.call("000000000000", "us-east-1", "UpdateTable", request)
    service.recording = recording
    database.clock.advance(600)
    shown = values(seen, "ProvisionedReadCapacityUnits", **ORDERS)
    assert [(minute, total) for minute, _, total in shown] == [
        (20, 300), (15, 300), (10, 307), (5, 7), (0, 7),
    ]  # fmt: skip


def test_a_deleted_table_keeps_its_metrics_and_gets_no_more(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    client.put_item(TableName="orders", Item=key())
    database.clock.advance(300)
    client.delete_table(TableName="orders")
    database.clock.advance(3_600)
    assert values(seen, WRITTEN, **ORDERS) == [(65, 1, 1), *[(minute, 1, 0) for minute in range(64, 60, -1)]]
    assert [minute for minute, *_ in values(seen, "ProvisionedReadCapacityUnits", **ORDERS)] == [65, 60]
    usage = seen.points("TableCount", "AWS/Usage", 60, DAY_SECONDS)
    assert (usage[0].statistics.maximum, usage[-1].statistics.maximum) == (1, 0)
    create_table(client)
    client.put_item(TableName="orders", Item=key())
    assert values(seen, WRITTEN, **ORDERS)[-1] == (0, 1, 1)


def test_provisioned_capacity_of_accounts_is_a_share_of_their_quotas(client: Any, seen: Seen) -> None:
    throughput = {"ReadCapacityUnits": 4_000, "WriteCapacityUnits": 800}
    create_table(client, ProvisionedThroughput=throughput)
    create_table(client, "others", ProvisionedThroughput={"ReadCapacityUnits": 8_000, "WriteCapacityUnits": 400})
    expected = {
        "AccountProvisionedReadCapacityUtilization": 15.0,
        "AccountProvisionedWriteCapacityUtilization": 1.5,
        "MaxProvisionedTableReadCapacityUtilization": 20.0,
        "MaxProvisionedTableWriteCapacityUtilization": 2.0,
    }
    for name, percent in expected.items():
        found = seen.all(name)
        assert found is not None
        assert found.maximum == percent
        assert seen.points(name)[0].unit == "Percent"
    used = seen.all("AccountProvisionedReadCapacityUnits", "AWS/Usage")
    assert used is not None
    assert used.maximum == 12_000


def test_on_demand_tables_have_no_provisioned_capacity(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    client.update_table(TableName="orders", BillingMode="PAY_PER_REQUEST")
    database.clock.advance(3_600)
    assert [minute for minute, *_ in values(seen, "ProvisionedReadCapacityUnits", **ORDERS)] == [60]
    assert seen.found("OnDemandMaxReadRequestUnits") == []


def test_a_new_index_shows_its_progress(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    client.put_item(TableName="orders", Item=key() | {"a": {"S": "x"}})
    one = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    index = {
        "IndexName": "by-a",
        "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": one,
    }
    client.update_table(
        TableName="orders",
        AttributeDefinitions=[{"AttributeName": "a", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[{"Create": index}],
    )
    database.clock.advance(0)  # returns when the index is filled
    (described,) = client.describe_table(TableName="orders")["Table"]["GlobalSecondaryIndexes"]
    assert described["IndexStatus"] == "ACTIVE"
    of_index = {"GlobalSecondaryIndexName": "by-a", **ORDERS}
    progress = seen.all("OnlineIndexPercentageProgress", **of_index)
    assert progress is not None
    assert progress.maximum == 100
    assert seen.sum("OnlineIndexConsumedWriteCapacity", **of_index) == 0
    assert seen.all("OnlineIndexThrottleEvents", **of_index) is not None
    assert seen.sum("ProvisionedWriteCapacityUnits", **of_index) == 1


# --- other content, and other starts --------------------------------------------------------------


def test_snapshots_and_forks_have_the_metrics_and_count_on_by_themselves(
    database: Database, client: Any, seen: Seen
) -> None:
    create_table(client)
    client.put_item(TableName="orders", Item=key())
    with database.fork() as fork:
        of_fork = Seen(fork)
        fork.client().put_item(TableName="orders", Item=key())
        fork.client().put_item(TableName="orders", Item=key())
        assert values(of_fork, WRITTEN, **ORDERS) == [(0, 3, 3)]
    assert values(seen, WRITTEN, **ORDERS) == [(0, 1, 1)]


def test_a_restore_returns_to_the_metrics_of_its_snapshot(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    client.put_item(TableName="orders", Item=key())
    snapshot = database.snapshot()
    database.clock.advance(3_600)
    client.put_item(TableName="orders", Item=key())
    client.get_item(TableName="orders", Key=key())
    database.restore(snapshot)
    assert values(seen, WRITTEN, **ORDERS) == [(0, 1, 1)]
    client.put_item(TableName="orders", Item=key())
    database.clock.advance(120)
    assert values(seen, WRITTEN, **ORDERS)[0] == (2, 2, 2)
    assert values(seen, READ, **ORDERS) == [(2, 1, 0), (1, 1, 0)]


def test_a_reset_forgets_all(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    client.put_item(TableName="orders", Item=key())
    database.reset()
    assert seen.found() == []
    freeze_at_minute(database)
    create_table(client)
    client.put_item(TableName="orders", Item=key())
    assert values(seen, WRITTEN, **ORDERS)[-1] == (0, 1, 1)
    assert seen.sum(WRITTEN, **ORDERS) == 1


def test_a_reset_forgets_what_was_only_counted() -> None:
    with server(Settings(data_dir=None, port=0)) as database:
        seen, client = Seen(database), database.client()
        create_table(client)
        client.put_item(TableName="orders", Item=key())
        database.reset()
        create_table(client)
        client.put_item(TableName="orders", Item=key())
        assert seen.sum(WRITTEN, **ORDERS) == 1


def test_tables_of_a_restored_snapshot_are_idle_from_its_moment_on(database: Database, client: Any, seen: Seen) -> None:
    create_table(client)
    snapshot = database.snapshot()
    client.delete_table(TableName="orders")
    database.restore(snapshot)
    database.clock.advance(3_600)
    assert len(seen.points(WRITTEN, NAMESPACE, 60, DAY_SECONDS, **ORDERS)) == 60
    assert [minute for minute, *_ in values(seen, "ProvisionedReadCapacityUnits", **ORDERS)] == [*range(60, -1, -5)]


def test_time_that_goes_back_without_other_content_moves_no_observation(
    database: Database, client: Any, seen: Seen
) -> None:
    """As when content was to be replaced, and could not be."""
    create_table(client)
    clock = database._process.service.clock
    assert isinstance(clock, MovableClock)
    before = clock.state
    database.clock.advance(3_600)
    client.put_item(TableName="orders", Item=key())
    database._process.run(clock.go_to, before)
    client.put_item(TableName="orders", Item=key())
    client.put_item(TableName="orders", Item=key())
    assert values(seen, WRITTEN, **ORDERS)[0][2] == 2
    database.clock.advance(3_600)
    assert values(seen, WRITTEN, **ORDERS)[-1][1:] == (1, 1)


@pytest.fixture
def folder(tmp_path: Any) -> str:
    return str(tmp_path / "data")


def test_metrics_survive_a_restart(folder: str) -> None:
    settings = Settings(data_dir=folder, port=0)
    with server(settings) as database:
        start_recording(database)
        create_table(database.client())
        database.client().put_item(TableName="orders", Item=key())
        database._process.listen()
    with server(settings) as database:
        seen = Seen(database)
        assert seen.sum(WRITTEN, **ORDERS) == 1
        database.client().put_item(TableName="orders", Item=key())
        assert seen.sum(WRITTEN, **ORDERS) == 2


def test_nothing_is_counted_before_the_start() -> None:
    with server(Settings(data_dir=None, port=0, metrics="off")) as database:
        freeze_at_minute(database)
        client = database.client()
        create_table(client)
        client.put_item(TableName="orders", Item=key())
        database.clock.advance(600)
        seen = Seen(database)
        client.put_item(TableName="orders", Item=key())
        assert values(seen, WRITTEN, **ORDERS) == [(0, 1, 1)]


@pytest.fixture
def shared() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0, shared_db=True)) as database:
        freeze_at_minute(database)
        yield database


def test_with_one_database_for_all_metrics_are_those_of_its_account(shared: Database) -> None:
    client = shared.client(region_name="eu-west-1")
    seen = Seen(shared)
    create_table(client)
    client.put_item(TableName="orders", Item=key())
    assert seen.sum(WRITTEN, **ORDERS) == 1


def test_other_content_that_is_there_once_units_are_added_up_is_seen_before_they_are_counted(
    database: Database, client: Any, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adding them up gives way. What is counted before other content is seen is dropped."""
    create_table(client)
    recording: Any = database._process.service.recording

    def replaced_meanwhile(meter: Meter) -> ConsumedUnits:
        recording._generation, recording._turn_seconds = -1, -inf  # as after a restore
        return units_of(meter)

    monkeypatch.setattr(metric_recording, "units_of", replaced_meanwhile)
    client.transact_write_items(TransactItems=[{"Put": {"TableName": "orders", "Item": key("a")}}])
    assert [one for one in values(seen, WRITTEN, **ORDERS) if one[2]] == [(0, 1, 2.0)]
