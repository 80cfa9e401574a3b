"""Faults that are set, replaced and removed: while requests are under way, with snapshots, forks and resets;
and what is left behind: nothing.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from hashrange.clock import SystemClock
from hashrange.errors import (
    InternalServerError,
    ThrottlingException,
    TransactionCanceledException,
    TransactionConflictException,
)
from hashrange.faults import drawing, fault_step
from hashrange.faults.fault import FAULTS_MAX, Fault, Faults
from hashrange.faults.fault_step import FaultStep
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.service.fault_feature import FAULTS
from hashrange.service.service import Service
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from hashrange.testing.database import Database, server
from hashrange.testing.in_process import InProcess
from tests.support.fronted import Fronted
from tests.support.stores import as_distributed
from tests.support.waiting import wait_until
from tests.unit.faults.kit import CHAT, impatient, make_music, message, met, outcome, put_songs, song, songs
from tests.unit.faults.sockets import connected, one_reply, request

LIST = "ListTables"


def list_tables(database: Database) -> str:
    return outcome(impatient(database).list_tables)


# --- without faults everything is as before -----------------------------------------------------------------


def plain_service(database: Database) -> tuple[Any, ...]:
    """What a service without faults has."""
    service = database._process.service
    return (
        service.requests.drawing,
        service.faulted.replies,
    )


def test_the_service_draws_no_faults_and_every_scope_has_the_real_store_again(database: Database) -> None:
    service = database._process.service
    before = plain_service(database)
    real = service.store
    clients = {"known before": database.client(region_name="eu-west-1")}
    clients["known before"].list_tables()
    database.faults.use(Fault("throttle", share=0.0), Fault("stale-read", seconds=5), Fault("late-records", seconds=5))
    clients["known while"] = database.client(region_name="eu-west-2")
    for client in clients.values():
        client.list_tables()
    scopes = [service.scope("000000000000", region) for region in ("eu-west-1", "eu-west-2")]
    assert [type(step) for step in service.features.steps] == [FaultStep]
    assert [scope.store for scope in scopes] == [service.features.front] * 2
    assert service.features.front is not real
    assert service.requests.drawing is not None
    database.faults.clear()
    scopes.append(service.scope("000000000000", "eu-west-3"))
    assert [scope.store for scope in scopes] == [real] * 3
    assert [scope.state_delay("music", "UpdateTable") for scope in scopes] == [0.0] * 3
    assert plain_service(database) == before


def test_counting_capacity_goes_on_with_and_without_faults(database: Database) -> None:
    client = impatient(database)
    with database.capacity() as used:
        put_songs(client, "a")
        with database.faults.during(Fault("throttle", count=1)):
            outcome(put_songs, client, "b")
            put_songs(client, "c")
        put_songs(client, "d")
    assert used.write == 3
    assert "_succeed" not in vars(database._process.service)


# --- what is kept -------------------------------------------------------------------------------------------------


def test_nothing_is_kept_of_tables_that_are_gone(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (drawing.TABLES_MAX, fault_step.STREAMS_MAX) == (100, 100)
    monkeypatch.setattr(drawing, "TABLES_MAX", 10)
    monkeypatch.setattr(fault_step, "STREAMS_MAX", 10)
    client = database.client()
    streamed = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
    database.faults.use(
        Fault("error", table="songs", key=song("b")),
        Fault("stale-read", seconds=10),
        Fault("late-records", seconds=10),
    )
    streams = database.client("dynamodbstreams")
    for _ in range(15):
        make_music(client, "songs", **streamed)
        client.put_item(TableName="songs", Item=song("a"))
        client.scan(TableName="songs")
        arn = client.describe_table(TableName="songs")["Table"]["LatestStreamArn"]
        (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="LATEST")
        client.delete_table(TableName="songs")
    client.scan(TableName="music")
    streams_seen: Any = database._process.service.scope("000000000000", "us-east-1").store.streams
    drawn = database._process.service.requests.drawing
    assert drawn is not None
    assert len(drawn._of_tables) <= 10
    assert len(streams_seen._names) <= 10


def test_a_read_that_may_meet_faults_looks_at_no_other_tables(
    own_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be thousands."""
    database = own_database
    client = impatient(database)
    database.faults.use(Fault("error", table=CHAT), Fault("stale-read", table="music", seconds=5))
    catalog = database._process.service.store.catalog
    all_tables = Mock(wraps=catalog.all_tables)
    monkeypatch.setattr(catalog, "all_tables", all_tables)
    client.get_item(TableName="music", Key=song("a"))
    assert outcome(client.scan, TableName=CHAT, IndexName="by_author") == "InternalServerError"
    all_tables.assert_not_called()


def test_a_table_that_has_been_deleted_can_still_be_asked_for(database: Database) -> None:
    """As by a request that is under way when its table is deleted."""
    service = database._process.service
    table = service.store.catalog.find("000000000000", "us-east-1", "music")
    assert table is not None
    database.client().delete_table(TableName="music")
    database.faults.use(Fault("error", table="music"), Fault("stale-read", seconds=5))

    get = partial(
        service.features.front.get, table.source_id, table.lookup_key(song("a")), Fronted().meter, consistent=True
    )
    assert database._process.run(get) is None


# --- reset, snapshots and forks ---------------------------------------------------------------------------------


def test_a_reset_removes_them(database: Database) -> None:
    database.faults.use(Fault("error", operation=LIST))
    assert list_tables(database) == "InternalServerError"
    database.reset()
    assert list_tables(database) == "done"
    assert plain_service(database)[0] is None


def test_snapshots_and_forks_carry_them_and_each_draws_for_itself(database: Database) -> None:
    database.faults.use(Fault("error", operation=LIST, share=0.5), seed=9)
    expected = [list_tables(database) for _ in range(20)]
    snapshot = database.snapshot()
    with database.fork() as fork:
        assert [list_tables(fork) for _ in range(20)] == expected
        fork.faults.clear()
        assert list_tables(fork) == "done"
    database.faults.clear()
    database.restore(snapshot)
    assert [list_tables(database) for _ in range(20)] == expected
    database.restore(snapshot)
    assert database.faults.report == []
    assert [list_tables(database) for _ in range(20)] == expected


def test_a_snapshot_without_faults_has_none_and_a_file_holds_none(database: Database, tmp_path: Path) -> None:
    before = database.snapshot()
    database.faults.use(Fault("error", operation=LIST))
    database.snapshot().save(tmp_path / "music.snapshot")
    database.restore(before)
    assert list_tables(database) == "done"
    with server(snapshot=tmp_path / "music.snapshot") as other:
        assert list_tables(other) == "done"


def test_lagging_entries_come_in_a_fork_and_after_a_restore_too(database: Database) -> None:
    client = database.client()
    database.clock.freeze()
    database.faults.use(Fault("index-lag", seconds=30))
    client.put_item(TableName=CHAT, Item=message("r", 1, author={"S": "a"}))
    snapshot = database.snapshot()

    def by_author(one: Database) -> int:
        return int(one.client().scan(TableName=CHAT, IndexName="by_author")["Count"])

    with database.fork() as fork:
        assert by_author(fork) == 0
        fork.clock.advance(30.01)
        assert (by_author(fork), by_author(database)) == (1, 0)
    database.faults.clear()
    database.clock.advance(0)
    assert by_author(database) == 1
    database.restore(snapshot)
    assert by_author(database) == 0
    database.clock.advance(30.01)
    assert by_author(database) == 1


def test_tables_of_a_reset_database_are_met_by_faults_set_later(database: Database) -> None:
    """Table ids begin anew, so that nothing may be remembered of the tables before."""
    client = impatient(database)
    fault = Fault("throttle", table="music", key=song("a"))
    for _ in range(3):
        database.faults.use(fault, Fault("stale-read", seconds=60))
        assert outcome(client.get_item, TableName="music", Key=song("a")) == "ThrottlingException"
        put_songs(client, "b")
        assert "Item" not in client.get_item(TableName="music", Key=song("b"))
        database.reset()
        database.faults.use(fault)
        make_music(client)
        assert outcome(client.get_item, TableName="music", Key=song("a")) == "ThrottlingException"
        assert outcome(client.get_item, TableName="music", Key=song("b")) == "done"
        database.faults.clear()


# --- requests under way ---------------------------------------------------------------------------------------------


def test_replies_that_are_late_meet_the_faults_that_they_met(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    due: list[Callable[[], None]] = []
    loop = database._process._loop
    call_later = loop.call_later

    def collect(seconds: float, callback: Any, *arguments: Any, **more: Any) -> Any:
        if seconds == 600:
            due.append(callback)
        return call_later(seconds, callback, *arguments, **more)

    monkeypatch.setattr(loop, "call_later", collect)
    database.faults.use(Fault("slow", seconds=600), Fault("error", when="after"))
    outcomes: list[str] = []
    thread = threading.Thread(target=lambda: outcomes.append(list_tables(database)))
    thread.start()
    wait_until(lambda: due)
    database.faults.clear()
    assert list_tables(database) == "done"
    database._process.run(due.pop())
    thread.join()
    assert outcomes == ["InternalServerError"]
    assert database._process.service.faulted.replies == {}


@pytest.fixture
def suspending() -> Iterator[InProcess]:
    """A database over a store whose every access waits, as that of a distributed store does."""

    async def open_service() -> Service:
        clock = SystemClock()
        store = as_distributed(open_store(None, clock, asyncio.get_running_loop()), 1)
        return Service(store, ALL_OPERATIONS, clock, Settings(data_dir=None))

    with InProcess(open_service) as process:
        call(process, "CreateTable", MUSIC)
        yield process


MUSIC = {
    "TableName": "music",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
REFUSED = (InternalServerError, ThrottlingException, TransactionCanceledException, TransactionConflictException)


def call(process: InProcess, operation: str, members: dict[str, Any]) -> Any:
    return process.call("000000000000", "us-east-1", operation, members)


def write_on(process: InProcess, worker: int, acknowledged: set[str], unsure: set[str]) -> None:
    """Write and read songs until 60 are done; note which were acknowledged, and of which the reply was lost."""
    for number in range(60):
        keys = [f"{worker}-{number}-{part}" for part in "ab"]
        put = {"TableName": "music"}
        try:
            if number % 3:
                keys = keys[:1]
                call(process, "PutItem", put | {"Item": song(keys[0])})
            else:
                actions = [{"Put": put | {"Item": song(key)}} for key in keys]
                call(process, "TransactWriteItems", {"TransactItems": actions})
            acknowledged.update(keys)
        except (ThrottlingException, TransactionCanceledException, TransactionConflictException):
            continue
        except (InternalServerError, ConnectionError):
            unsure.update(keys)
        try:
            call(process, "GetItem", put | {"Key": song(keys[0])})
            call(process, "Scan", put | {"Limit": 20})
            call(process, "BatchGetItem", {"RequestItems": {"music": {"Keys": [song(key) for key in keys]}}})
            call(process, "TransactGetItems", {"TransactItems": [{"Get": put | {"Key": song(keys[0])}}]})
        except (*REFUSED, ConnectionError):
            continue


def test_faults_may_change_while_requests_wait_in_the_store(suspending: InProcess) -> None:
    """Every request is answered, and what was acknowledged has been done, what was refused has not."""
    use, reports = suspending.service.features.part(FAULTS).use, 0
    sets = [
        Faults((Fault("throttle", share=0.2), Fault("error", share=0.1, when="after"), Fault("stale-read", seconds=5))),
        Faults((Fault("conflict", share=0.3), Fault("drop", share=0.1), Fault("drop", share=0.1, when="after"))),
        Faults((Fault("error", share=0.2, table="music", key=song("0-0-a")), Fault("conflict", seconds=5))),
        Faults(),
    ]
    acknowledged, unsure = set[str](), set[str]()
    workers = [
        threading.Thread(target=write_on, args=(suspending, number, acknowledged, unsure)) for number in range(4)
    ]
    for worker in workers:
        worker.start()
    turn = 0
    while any(worker.is_alive() for worker in workers):
        drawing = suspending.service.requests.drawing
        reports += 0 if drawing is None else drawing.met
        suspending.run(use, sets[turn % len(sets)])
        turn += 1
        workers[turn % len(workers)].join(0.005)
    suspending.run(use, Faults())
    there = set()
    start: dict[str, Any] = {}
    while True:
        reply = call(suspending, "Scan", {"TableName": "music", "ConsistentRead": True, **start})
        there |= {item["pk"]["S"] for item in reply["Items"]}
        if "LastEvaluatedKey" not in reply:
            break
        start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}
    assert acknowledged <= there <= acknowledged | unsure
    assert len(acknowledged) > 50
    assert reports > 10
    assert suspending.service.faulted.replies == {}


def test_a_transaction_that_waits_in_the_store_is_in_conflict_with_others_as_ever(suspending: InProcess) -> None:
    """The faults' store passes on what the store itself refuses."""
    suspending.run(suspending.service.features.part(FAULTS).use, Faults((Fault("throttle", table="other"),)))
    codes = Counter[str]()

    def work(number: int) -> None:
        actions = [{"Put": {"TableName": "music", "Item": song(key, n={"N": str(number)})}} for key in "ab"]
        for _ in range(20):
            try:
                call(suspending, "TransactWriteItems", {"TransactItems": actions})
                codes["done"] += 1
            except TransactionCanceledException as error:
                codes["cancelled"] += 1
                assert "TransactionConflict" in (error.message or "")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sum(codes.values()) == 80
    assert codes["done"] > 0
    items = call(suspending, "Scan", {"TableName": "music", "ConsistentRead": True})["Items"]
    assert len({item["n"]["N"] for item in items}) == 1


# --- many faults ------------------------------------------------------------------------------------------------------


def test_a_thousand_faults_are_all_looked_at(database: Database) -> None:
    client = impatient(database)
    none = [Fault("throttle", table="music", key=song(str(number)), share=0.0) for number in range(500)]
    others = [Fault("error", operation="Scan") for _ in range(FAULTS_MAX - 501)]
    database.faults.use(*none, *others, Fault("throttle", table="music", key=song("last")))
    put_songs(client, *"abc")
    assert outcome(put_songs, client, "last") == "ThrottlingException"
    assert met(database) == [(1000, "PutItem")]
    assert outcome(client.scan, TableName="music") == "InternalServerError"
    assert songs(database) == set("abc")


def test_a_request_may_meet_all_of_a_thousand(database: Database) -> None:
    client = impatient(database)
    database.faults.use(*[Fault("slow", seconds=0)] * 500, *[Fault("error", when="after")] * 499, Fault("half-reply"))
    with connected(database.endpoint) as connection:
        connection.sendall(request("ListTables"))
        assert connection.recv(4096).startswith(b"HTTP/1.1 500")
    assert len(database.faults.report) == 1000
    database.faults.use(*[Fault("stale-read", seconds=60)] * 1000)
    put_songs(client, "a")
    assert "Item" not in client.get_item(TableName="music", Key=song("a"))
    with connected(database.endpoint) as connection:
        connection.sendall(request("ListTables"))
        assert one_reply(connection)[0] == 200


def test_faults_may_be_set_from_many_threads(database: Database) -> None:
    def work(number: int) -> None:
        for _ in range(20):
            with database.faults.during(Fault("error", operation=LIST, share=0.5), seed=number):
                list_tables(database)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert plain_service(database)[0] is None
    assert list_tables(database) == "done"
