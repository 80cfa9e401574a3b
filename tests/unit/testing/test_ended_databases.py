"""A database that has ended is freed at once, however often a test suite starts one;
what its owner keeps of it still answers.
"""

import gc
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.clock import MovableClock, SystemClock
from hashrange.cloudwatch.metrics import Metrics
from hashrange.server.listener import Secrets, Server
from hashrange.service.service import Service
from hashrange.service.taken_apart import parts_of
from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database
from tests.unit.server.harness import ECHO_OPERATIONS, StubStore


@pytest.fixture(autouse=True)
def without_collector(only_new_garbage: None) -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def use(database: Any) -> list[weakref.ref[object]]:
    """Use a database, and return what must not live longer than it."""
    client = database.client()
    client.create_table(
        TableName="music",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    client.put_item(TableName="music", Item={"id": {"S": "a"}})
    snapshot = database.snapshot()
    database.restore(snapshot)
    database.reset()
    return [weakref.ref(one) for one in parts_of(database._process.service)]


@pytest.mark.parametrize("kind", ["memory", "disk", "listening"])
def test_nothing_is_left_of_databases_that_have_ended(tmp_path: Path, kind: str) -> None:
    threads = threading.active_count()
    for number in range(3):
        database = Database(
            Settings(data_dir=str(tmp_path / str(number)) if kind == "disk" else None, port=0, admin=True)
        )
        database.start()
        with database:
            refs = use(database)
            if kind == "listening":
                assert database.endpoint
            with database.fork() as fork:
                refs += use(fork)
        assert len(refs) > 60
        living = [one for ref in refs if (one := ref()) is not None]
        assert {type(one).__qualname__ for one in living if vars(one)} == set()
        assert {type(one).__qualname__ for one in living} <= {"MetricRecording"}, (
            "the clock, which is kept, may know it"
        )
        assert threading.active_count() == threads


@pytest.mark.parametrize("is_kept", [False, True])
def test_metrics_are_saved_at_the_end_if_they_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    """A database in memory saved them too, just before they were deleted."""
    saves: list[Metrics] = []
    save = Metrics.save

    async def seen(metrics: Metrics) -> None:
        saves.append(metrics)
        await save(metrics)

    settings = Settings(data_dir=str(tmp_path / "data") if is_kept else None, port=0)
    with server(settings) as database:
        data: Any = {"Namespace": "shop", "MetricData": [{"MetricName": "sold", "Value": 1.0}]}
        database.client("cloudwatch").put_metric_data(**data)
        with database.fork():
            monkeypatch.setattr(Metrics, "save", seen)
    assert len(saves) == is_kept
    with server(settings) as database:
        found = database.client("cloudwatch").list_metrics(Namespace="shop")["Metrics"]
        assert [one["MetricName"] for one in found] == ["sold"] * is_kept


def test_a_closed_database_says_so_and_still_knows_its_time() -> None:
    with server() as database:
        before = database.clock.now()
    assert database.clock.now() >= before
    for use_again in (
        database.reset,
        database.snapshot,
        lambda: database.clock.advance(1),
        lambda: database.faults.report,
    ):
        with pytest.raises(RuntimeError, match="This database is closed"):
            use_again()


def test_a_server_that_never_started_can_be_collected() -> None:
    """No part is hidden from the collector, as members of a struct without it would be."""
    store: Any = StubStore()
    service = Service(store, ECHO_OPERATIONS, MovableClock(SystemClock()), Settings(data_dir=None, admin=True))
    kept = [weakref.ref(one) for one in parts_of(Server(service, Secrets(None, None)), service)]
    assert len(kept) > 30
    del service
    gc.collect()
    assert [type(one).__qualname__ for ref in kept if (one := ref()) is not None] == []
