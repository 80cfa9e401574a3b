"""Throughput of one table, switched while the server runs; together with faults, forks, resets,
changes of partitions, and clients that retry.
"""

import json
from typing import Any
from urllib.request import Request, urlopen

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.settings import AdaptiveSetting, Settings
from hashrange.testing import Database, Fault, server
from hashrange.throughput import capacity_side
from tests.unit.throughput.admin import buckets_of, set_throughput
from tests.unit.throughput.test_enforced import ONCE, create, put, put_until_throttled, reasons


@pytest.fixture
def short_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table keeps the units of 30 seconds instead of 300, so that they are used up sooner."""
    monkeypatch.setattr(capacity_side, "BURST_SECONDS", 30)


def test_one_table_is_enforced_while_others_are_not(short_burst: None) -> None:
    with server(Settings(data_dir=None, port=0, admin=True)) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        create(client, writes=1)
        for number in range(40):
            put(client, number)
        assert buckets_of(database, "orders")["table"] is None
        shown = set_throughput(database, "orders", mode="enforced")
        assert shown["table"]["writes"] == {
            "units_per_second": 1,
            "units_left": 30,
            "partitions": {"1": 1_000},
            "isolated_items": 0,
        }
        assert put_until_throttled(client)[0] == 30
        set_throughput(database, "orders", mode="unlimited")
        for number in range(40):
            put(client, number)


def test_faults_and_throughput_meet_the_same_requests(short_burst: None) -> None:
    with server(Settings(data_dir=None, port=0, admin=True)) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        create(client, writes=1)
        body = {"faults": [{"kind": "throttle", "operation": "PutItem", "count": 1, "reason": "AccountLimitExceeded"}]}
        with urlopen(Request(f"{database.endpoint}/_hashrange/v1/faults", json.dumps(body).encode())):
            pass
        set_throughput(database, "orders", mode="enforced")
        count, response = put_until_throttled(client)
        assert (count, reasons(response)[0]["reason"]) == (0, "TableWriteAccountLimitExceeded")
        count, response = put_until_throttled(client)
        assert (count, reasons(response)[0]["reason"]) == (30, "TableWriteProvisionedThroughputExceeded")
        with urlopen(Request(f"{database.endpoint}/_hashrange/v1/faults", method="DELETE")):
            pass
        assert put_until_throttled(client)[0] == 0


def test_faults_go_on_when_throughput_is_switched() -> None:
    """With their draws, and what they know of earlier rows."""
    with server(Settings(data_dir=None, port=0, admin=True)) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        create(client)
        database.faults.use(Fault("error", operation="Query"), Fault("stale-read", seconds=60))
        service = database._process.service
        drawing, (step,) = service.requests.drawing, service.features.steps
        assert service.features.front is service.scope("000000000000", "us-east-1").store
        for mode in ("enforced", "unlimited"):
            put(client, 1)
            set_throughput(database, "orders", mode=mode)
            assert service.requests.drawing is drawing
            assert service.features.steps[0] is step
            assert len(service.features.steps) == (2 if mode == "enforced" else 1)
            assert service.features.front is service.scope("000000000000", "us-east-1").store
        assert client.get_item(TableName="orders", Key={"pk": {"S": "1"}}).get("Item") is None


def test_a_fork_and_a_reset_begin_with_full_buckets(short_burst: None) -> None:
    with server(Settings(data_dir=None, port=0, throughput="enforced", admin=True)) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        create(client, writes=1)
        snapshot = database.snapshot()
        assert put_until_throttled(client)[0] == 30
        with database.fork() as fork:
            fork.clock.freeze()
            assert put_until_throttled(fork.client(config=ONCE))[0] == 30
        database.restore(snapshot)
        assert put_until_throttled(client)[0] == 30


@pytest.mark.parametrize(("adaptive", "most"), [("instant", 1_000), ("shares", 1_500), ("off", 3_000)])
def test_adaptive_capacity_decides_what_a_hot_key_gets(adaptive: AdaptiveSetting, most: int) -> None:
    settings = Settings(data_dir=None, port=0, throughput="enforced", adaptive_capacity=adaptive, admin=True)
    with server(settings) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        create(client, reads=4_000, writes=10)
        assert len(buckets_of(database, "orders")["table"]["writes"]["partitions"]) == (0 if adaptive == "off" else 2)
        for _ in range(most):
            database.call("PutItem", {"TableName": "orders", "Item": {"pk": {"S": "0"}}})
        with pytest.raises(ClientError):
            put(client)


def test_a_split_gives_another_partition() -> None:
    with server(Settings(data_dir=None, port=0, throughput="enforced", admin=True)) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        create(client, reads=10, writes=900)
        for number in range(50):
            put(client, number)
        with urlopen(Request(f"{database.endpoint}/_hashrange/v1/tables/orders/split", b"{}")):
            pass
        partitions = buckets_of(database, "orders")["table"]["writes"]["partitions"]
        assert list(partitions.values()) == [1_000, 1_000]


def test_an_on_demand_table_grows_with_its_peak_and_so_do_its_partitions() -> None:
    with server(Settings(data_dir=None, port=0, throughput="enforced", admin=True)) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        create(client, BillingMode="PAY_PER_REQUEST")
        assert _served(database) == (4_000, 4)
        assert _write(client, 40) == 40
        assert _write(client, 1) == 0
        database.clock.advance(1_800)
        assert _served(database) == (4_000, 4)
        _write(client, 1)  # the first write after half an hour makes the units of that second the previous peak
        database.clock.advance(0)
        assert _served(database) == (8_000, 8)
        database.clock.advance(1)
        assert _write(client, 80) == 80
        database.clock.advance(1_800)
        _write(client, 1)
        database.clock.advance(0)
        assert _served(database) == (16_000, 16)


def _served(database: Database) -> tuple[float, int]:
    """What a table has: write units a second, and partitions."""
    shown = buckets_of(database, "orders")["table"]["writes"]
    return shown["units_per_second"], len(shown["partitions"])


def _write(client: Any, count: int) -> int:
    """Write so many items of 100 units, to partitions that admit them;
    returns how many were admitted, of five times as many keys.
    """
    written = 0
    for number in range(5 * count):
        try:
            client.put_item(TableName="orders", Item={"pk": {"S": f"{number}"}, "text": {"S": "x" * 102_300}})
        except ClientError as error:
            (reason,) = reasons(error.response)
            assert reason["reason"] == "TableWriteKeyRangeThroughputExceeded"
            continue
        written += 1
        if written == count:
            break
    return written


class Advancing:
    """Moves service time by a second before each request, instead of the time for which a client pauses."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.requests = 0

    def __call__(self, **_: Any) -> None:
        self.requests += 1
        self._database.clock.advance(1)


@pytest.mark.parametrize("mode", ["legacy", "standard"])
def test_retries_of_a_client_go_through(mode: str, monkeypatch: pytest.MonkeyPatch, short_burst: None) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with server(Settings(data_dir=None, port=0, throughput="enforced", admin=True)) as database:
        database.clock.freeze()
        create(database.client(), writes=1)
        put_until_throttled(database.client(config=ONCE))
        client = database.client(config=Config(retries={"mode": mode, "max_attempts": 5}))
        advancing = Advancing(database)
        client.meta.events.register("before-send.dynamodb.PutItem", advancing)
        for number in range(10):
            reply = put(client, number)
            assert reply["ResponseMetadata"]["HTTPStatusCode"] == 200
        assert advancing.requests >= 10


def test_a_batch_writer_writes_what_was_left(short_burst: None) -> None:
    with server(Settings(data_dir=None, port=0, throughput="enforced", admin=True)) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        create(client, reads=100, writes=3)
        for number in range(80):
            put(client, number)
        resource = database.resource(config=ONCE)
        resource.meta.client.meta.events.register("before-send.dynamodb.BatchWriteItem", Advancing(database))
        with resource.Table("orders").batch_writer() as batch:
            for number in range(100):
                batch.put_item(Item={"pk": f"batch-{number}"})
        assert client.scan(TableName="orders", Select="COUNT")["Count"] == 180
