"""What do metrics show of changes that a table sends to Kinesis? With a Kinesis that accepts, throttles,
refuses or does not answer. Through boto3.
"""

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import Database, server
from hashrange.triggers.kinesis import shard_delivery
from tests.support.fake_kinesis import Asked, FakeKinesis, Misbehaviour, threaded_kinesis
from tests.unit.metric_recording.seen import Seen, create_table, freeze_at_minute, key

AGE, UNITS = "AgeOfOldestUnreplicatedRecord", "ConsumedChangeDataCaptureUnits"
THROTTLED, FAILED = "ThrottledPutRecordCount", "FailedToReplicateRecordCount"
STREAM = "arn:aws:kinesis:us-east-1:000000000000:stream/changes"
OF_ORDERS = {"TableName": "orders", "DelegatedOperation": "StreamRecords"}
DAY = 86_400.0


@pytest.fixture
def kinesis() -> Iterator[FakeKinesis]:
    with threaded_kinesis("changes") as kinesis:
        yield kinesis


@pytest.fixture
def database(kinesis: FakeKinesis) -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0, kinesis_endpoint=kinesis.url)) as database:
        freeze_at_minute(database)
        yield database


@pytest.fixture(autouse=True)
def table(database: Database, client: Any, seen: Seen) -> None:
    enable(database, client, "orders")


def enable(database: Database, client: Any, name: str) -> None:
    """Create a table whose changes go to Kinesis."""
    create_table(client, name)
    client.enable_kinesis_streaming_destination(TableName=name, StreamArn=STREAM)
    database.clock.advance(0)
    (found,) = client.describe_kinesis_streaming_destination(TableName=name)["KinesisDataStreamDestinations"]
    assert found["DestinationStatus"] == "ACTIVE"


def put(client: Any, name: str = "a", size: int = 0, table: str = "orders") -> None:
    client.put_item(TableName=table, Item=key(name) | {"text": {"S": "x" * size}})


def on_puts(kinesis: FakeKinesis, misbehaviour: Misbehaviour | None) -> None:
    """Let every PutRecords meet this from now on."""

    def misbehave(asked: Asked) -> Misbehaviour | None:
        return misbehaviour if asked.operation == "PutRecords" else None

    kinesis.misbehave = misbehave


def minutes(seen: Seen, name: str) -> list[tuple[float, float]]:
    """Minutes before now, and sum, of each datapoint."""
    points = seen.points(name, "AWS/DynamoDB", 60, DAY, **OF_ORDERS)
    return [((seen.now_seconds() - point.at_seconds) // 60, point.statistics.sum) for point in points]


# --- accepted changes -----------------------------------------------------------------------------


def test_an_accepted_change_consumes_a_unit_for_each_kb_of_its_larger_image(
    database: Database, client: Any, seen: Seen, kinesis: FakeKinesis
) -> None:
    put(client)
    put(client, size=3_000)
    put(client, size=10)
    client.delete_item(TableName="orders", Key=key())
    put(client, "small")
    database.clock.advance(0)
    assert len(kinesis.changes()) == 5
    found = seen.all(UNITS, **OF_ORDERS)
    assert found is not None
    assert (found.sample_count, found.sum, found.minimum, found.maximum) == (5, 1 + 3 + 3 + 1 + 1, 1, 3)
    assert seen.dimensions(UNITS) == [OF_ORDERS]
    (point,) = seen.points(UNITS, **OF_ORDERS)
    assert point.unit == "Count"


@pytest.mark.parametrize(("size", "units"), [(1_024, 1), (1_025, 2), (2_048, 2), (2_049, 3)])
def test_units_are_rounded_up(database: Database, client: Any, seen: Seen, size: int, units: int) -> None:
    put(client, size=size - len("pk" + "a" + "sk" + "b" + "text"))
    database.clock.advance(0)
    assert seen.sum(UNITS, **OF_ORDERS) == units


def test_observations_belong_to_their_five_minutes(database: Database, client: Any, seen: Seen) -> None:
    put(client, "first")
    database.clock.advance(240)
    put(client, "second")
    database.clock.advance(0)
    database.clock.advance(60)
    put(client, "third")
    database.clock.advance(0)
    database.clock.advance(540)
    assert minutes(seen, UNITS) == [(14, 2), (9, 1)]
    assert [minute for minute, _ in minutes(seen, AGE)] == [14, 9]


def test_what_fails_and_is_accepted_later_consumes_once(
    database: Database, client: Any, seen: Seen, kinesis: FakeKinesis
) -> None:
    on_puts(kinesis, "error")
    put(client)
    database.clock.advance(30)
    assert seen.all(UNITS, **OF_ORDERS) is None
    on_puts(kinesis, None)
    database.clock.advance(60)
    assert seen.sum(UNITS, **OF_ORDERS) == 1
    assert seen.found(THROTTLED) == []
    assert seen.found(FAILED) == []


# --- changes that wait ----------------------------------------------------------------------------


def test_the_age_is_that_of_the_oldest_change_that_waits(
    database: Database, client: Any, seen: Seen, kinesis: FakeKinesis
) -> None:
    put(client)
    database.clock.advance(0)
    found = seen.all(AGE, **OF_ORDERS)
    assert found is not None
    assert found.maximum == 0
    on_puts(kinesis, "error")
    put(client, "first")
    database.clock.advance(400)
    put(client, "second")
    database.clock.advance(500)
    points = seen.points(AGE, "AWS/DynamoDB", 300, DAY, **OF_ORDERS)
    assert [point.unit for point in points] == ["Milliseconds"] * 3
    for point, end_seconds in zip(points, (300, 600, 900), strict=True):
        assert end_seconds - 60 <= point.statistics.maximum / 1000 <= end_seconds
    on_puts(kinesis, None)
    database.clock.advance(100)
    (*_, last) = seen.points(AGE, "AWS/DynamoDB", 300, DAY, **OF_ORDERS)
    assert 900 <= last.statistics.maximum / 1000 <= 960
    assert len(kinesis.changes()) == 3


@pytest.mark.parametrize("misbehaviour", ["garbage", "cut"])
def test_tables_wait_alike_while_kinesis_does_not_answer(
    database: Database, client: Any, seen: Seen, kinesis: FakeKinesis, misbehaviour: Misbehaviour
) -> None:
    """One request after each pause finds out whether Kinesis is there; all tables are seen to wait."""
    names = [f"table{number}" for number in range(12)]
    for name in names:
        enable(database, client, name)
    on_puts(kinesis, misbehaviour)
    for name in names:
        put(client, table=name)
    database.clock.advance(1_800)
    for name in names:
        found = seen.points(AGE, "AWS/DynamoDB", 300, DAY, TableName=name, DelegatedOperation="StreamRecords")
        assert len(found) >= 4
        assert found[-1].statistics.maximum >= 1_500_000


def test_a_table_of_which_nothing_waits_has_no_age(
    database: Database, client: Any, seen: Seen, kinesis: FakeKinesis
) -> None:
    enable(database, client, "waiting")
    put(client)
    database.clock.advance(0)
    on_puts(kinesis, "garbage")
    put(client, table="waiting")
    database.clock.advance(600)
    found = seen.all(AGE, **OF_ORDERS)
    assert found is not None
    assert (found.sample_count, found.maximum) == (1, 0)


# --- changes that are refused ---------------------------------------------------------------------


def test_a_throttled_request_counts_all_its_records(
    database: Database, client: Any, seen: Seen, kinesis: FakeKinesis
) -> None:
    kinesis.misbehave = lambda asked: (
        "throttled" if asked.operation == "PutRecords" and len(kinesis.asked) % 2 == 0 else None
    )
    for name in "abc":
        put(client, name)
        database.clock.advance(20)
    asked = [one for number, one in enumerate(kinesis.asked, 1) if one.operation == "PutRecords" and number % 2 == 0]
    assert asked
    assert seen.sum(THROTTLED, **OF_ORDERS) == sum(len(one.body["Records"]) for one in asked)
    assert seen.sum(UNITS, **OF_ORDERS) == 3


def test_throttled_records_of_a_request_are_one_value(
    database: Database, client: Any, seen: Seen, kinesis: FakeKinesis
) -> None:
    on_puts(kinesis, "none")
    client.batch_write_item(RequestItems={"orders": [{"PutRequest": {"Item": key(name)}} for name in ("a", "b", "c")]})
    database.clock.advance(0)
    requests = [len(one.body["Records"]) for one in kinesis.asked if one.operation == "PutRecords"]
    found = seen.all(THROTTLED, **OF_ORDERS)
    assert found is not None
    assert (found.sample_count, found.sum, found.maximum) == (len(requests), sum(requests), max(requests))
    assert seen.found(UNITS) == []
    assert seen.dimensions(THROTTLED) == [OF_ORDERS]


def test_records_that_are_too_long_fail(database: Database, client: Any, seen: Seen, kinesis: FakeKinesis) -> None:
    """Many tiny values, which are longer as JSON than stored."""
    item = key() | {"many": {"L": [{"NULL": True}] * 100_000}}
    client.put_item(TableName="orders", Item=item)
    put(client, "after")
    database.clock.advance(60)
    longest = max(
        len(base64.b64decode(record["Data"]))
        for one in kinesis.asked
        if one.operation == "PutRecords"
        for record in one.body["Records"]
    )
    assert longest > 1024 * 1024
    assert seen.sum(FAILED, **OF_ORDERS) == 1
    assert seen.sum(UNITS, **OF_ORDERS) == 1
    assert [one["dynamodb"]["Keys"] for one in kinesis.changes()] == [key("after")]


def test_records_that_no_data_stream_takes_fail_unsent(
    database: Database, client: Any, seen: Seen, kinesis: FakeKinesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_delivery, "KINESIS_RECORD_BYTES_MAX", 2_000)
    put(client, "long", size=2_000)
    database.clock.advance(0)
    assert seen.sum(FAILED, **OF_ORDERS) == 1
    put(client, "longer", size=3_000)
    put(client, "short")
    database.clock.advance(60)
    assert [one["dynamodb"]["Keys"] for one in kinesis.changes()] == [key("short")]
    assert seen.sum(FAILED, **OF_ORDERS) == 2


# --- other readers, and no recording ---------------------------------------------------------------------


def test_prometheus_counts_what_was_consumed_and_has_no_histogram_of_ages(
    database: Database, client: Any, seen: Seen
) -> None:
    put(client)
    database.clock.advance(0)
    text = database._process.ask("GET", "/metrics", {}, b"").body.decode()
    (line,) = [
        one for one in text.splitlines() if one.startswith("hashrange_consumed_change_data_capture_units_total{")
    ]
    assert line.endswith(" 1.0")
    assert "unreplicated" not in text


def test_a_server_without_metrics_delivers_all_the_same(kinesis: FakeKinesis) -> None:
    settings = Settings(data_dir=None, port=0, kinesis_endpoint=kinesis.url, metrics="off")
    with server(settings) as database:
        client = database.client()
        database.clock.freeze()
        enable(database, client, "unseen")
        put(client, table="unseen")
        database.clock.advance(0)
        assert len(kinesis.changes()) == 1


def test_what_is_accepted_while_nothing_is_recorded_is_never_counted(kinesis: FakeKinesis) -> None:
    settings = Settings(data_dir=None, port=0, kinesis_endpoint=kinesis.url, metrics="off")
    with server(settings) as database:
        client = database.client()
        database.clock.freeze()
        enable(database, client, "orders")
        put(client, "unseen")
        database.clock.advance(0)
        assert len(kinesis.changes()) == 1
        seen = Seen(database)
        put(client, "seen", size=1_500)
        database.clock.advance(0)
        assert seen.sum(UNITS, **OF_ORDERS) == 2
