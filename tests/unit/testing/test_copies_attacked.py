"""Copies of whole databases under hostile or clumsy use: released, lost, shared and long-keyed snapshots,
and writes that a reset overtakes.
"""

import asyncio
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from hashrange.cli.main import main
from hashrange.clock import MovableClock, SystemClock
from hashrange.errors import ApiError, HashrangeError
from hashrange.items import steps
from hashrange.items.types import Key
from hashrange.server.listener import Secrets, Server
from hashrange.service.opening import open_service
from hashrange.service.snapshots import take_snapshot
from hashrange.settings import Settings
from hashrange.store.embedded import late_entries, open_store
from hashrange.store.snapshot_file import FIRST_WORDS
from hashrange.testing import Database, server
from tests.clients.serving import ServerProcess
from tests.support.clocks import VirtualClock
from tests.support.raw_client import RawClient
from tests.support.samples import finish, row_of, table_maker
from tests.unit.store.test_late_entries import begin, end, entries, indexed, write

SCHEMA = {
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "at", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
    "BillingMode": "PAY_PER_REQUEST",
}
ORDERS = {"TableName": "orders", **SCHEMA}
FORKS = 4
ROUNDS = 5


@pytest.fixture(params=["memory", "disk"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    return Settings(data_dir=None if request.param == "memory" else str(tmp_path / "data"))


def tables_of(database: Database) -> list[str]:
    names: list[str] = database.client().list_tables()["TableNames"]
    return names


def test_a_released_snapshot_does_not_empty_the_database(settings: Settings) -> None:
    with server(settings) as database:
        database.client().create_table(**ORDERS)
        snapshot = database.snapshot()
        snapshot.release()
        with pytest.raises(HashrangeError):
            database.restore(snapshot)
        assert tables_of(database) == ["orders"]


def test_a_released_snapshot_is_not_saved_as_an_empty_file(settings: Settings, tmp_path: Path) -> None:
    with server(settings) as database:
        database.client().create_table(**ORDERS)
        snapshot = database.snapshot()
        snapshot.release()
        with pytest.raises(HashrangeError):
            snapshot.save(tmp_path / "file")
        assert not (tmp_path / "file").exists()


def test_a_snapshot_whose_files_are_gone_does_not_empty_the_database(tmp_path: Path) -> None:
    with server(Settings(data_dir=str(tmp_path / "data"))) as database:
        database.client().create_table(**ORDERS)
        snapshot = database.snapshot()
        shutil.rmtree(tmp_path / "data" / "copies")
        with pytest.raises(HashrangeError):
            database.restore(snapshot)
        assert tables_of(database) == ["orders"]


def test_a_fork_of_a_snapshot_that_is_released_meanwhile_is_not_empty(settings: Settings) -> None:
    """The admin API finds the snapshot, and another client's DELETE comes before the fork's task has its first turn."""

    async def tables_of_fork() -> int | None:
        """The number of tables in the fork; None if it was refused."""
        clock = MovableClock(SystemClock())
        service = await open_service(settings, clock)
        listening = Server(service, Secrets(None, None))
        await listening.start()
        try:
            await service.store.catalog.create(table_maker("orders"))
            number = listening.snapshots.keep(await take_snapshot(service))
            starting = asyncio.ensure_future(listening.forks.start(listening.snapshots.find(number)))
            await asyncio.sleep(0)
            await listening.snapshots.release(number)
            try:
                port = await starting
            except HashrangeError:
                return None
            return len(listening.forks._open[port].service.store.catalog.all_tables())
        finally:
            await listening.stop()
            await service.store.close()

    assert asyncio.run(tables_of_fork()) in {1, None}


def test_forks_on_their_threads_return_to_one_snapshot_at_once(settings: Settings) -> None:
    errors: list[str] = []

    def restore(database: Database) -> None:
        ready.wait()
        try:
            database.restore(snapshot)
        except HashrangeError as error:
            errors.append(str(error))

    with server(settings) as database:
        database.client().create_table(**ORDERS)
        for _ in range(ROUNDS):
            snapshot = database.snapshot()
            forks = [database.fork() for _ in range(FORKS)]
            ready = threading.Barrier(FORKS)
            threads = [threading.Thread(target=restore, args=(fork,)) for fork in forks]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for fork in forks:
                fork.close()
            snapshot.release()
    assert errors == []


@pytest.fixture
def process(tmp_path: Path) -> Iterator[ServerProcess]:
    running = ServerProcess(None, "--admin")
    yield running
    running.stop()


def test_a_snapshot_with_the_longest_keys_is_written_to_a_file(
    process: ServerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A piece of 256 KB ends with a row whose key has 3 KB: in base64 it is more than a body of 4,096 bytes."""
    client = RawClient("127.0.0.1", process.port)
    assert client("CreateTable", ORDERS).status == 200
    for number in range(12):
        key = {"id": {"S": f"{number:04}" * 512}, "at": {"S": "y" * 1024}}
        put = client("PutItem", {"TableName": "orders", "Item": {**key, "content": {"S": "z" * 40_000}}})
        assert put.status == 200, put
    code = main(["snapshot", str(tmp_path / "file"), "--endpoint", process.endpoint])
    assert (code, capsys.readouterr().err) == (0, "")


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_a_write_that_a_reset_overtakes_does_not_reach_another_table(place: str, tmp_path: Path) -> None:
    """The write has found its table and gives way; after the reset, a new table gets the same id."""
    loop = asyncio.new_event_loop()
    store = open_store(None if place == "memory" else str(tmp_path / "data"), VirtualClock(), loop)
    try:
        finish(store.catalog.create(table_maker("orders")))
        before = store.catalog.find("000000000000", "us-east-1", "orders")
        assert before is not None
        store.copying.restore(None)
        finish(store.catalog.create(table_maker("customers")))
        after = store.catalog.find("000000000000", "us-east-1", "customers")
        assert after is not None
        key = Key(b"key of an order")
        with pytest.raises((ApiError, HashrangeError)):
            finish(store.mutate(before, key, lambda _: row_of(1)))
        assert finish(store.get(after.source_id, key, consistent=True)) is None
    finally:
        store.close_now()
        loop.close()


@pytest.mark.parametrize("seconds", [1e12, 1e300])
def test_a_snapshot_file_with_an_impossible_time_is_refused(seconds: float, tmp_path: Path) -> None:
    saved, altered = tmp_path / "saved", tmp_path / "altered"
    with server() as database:
        database.client().create_table(**ORDERS)
        database.snapshot().save(saved)
    _, _, rows = saved.read_bytes().partition(b"\n")
    head = json.dumps({"version": 1, "service_time": seconds}).encode()
    altered.write_bytes(FIRST_WORDS + head + b"\n" + rows)
    with pytest.raises(HashrangeError, match="altered"), server(snapshot=altered):
        pass


def test_a_folder_whose_server_died_during_a_restore_is_not_said_to_be_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between two renamings, the content is in `engine.former`; `hashrange check` must not say that there is none."""
    data_dir = tmp_path / "data"
    loop = asyncio.new_event_loop()
    store = open_store(str(data_dir), VirtualClock(), loop)
    finish(store.catalog.create(table_maker("orders")))
    store.close_now()
    loop.close()
    os.rename(data_dir / "engine", data_dir / "engine.former")
    main(["check", str(data_dir)])
    assert "holds no Hashrange data" not in capsys.readouterr().err


@pytest.mark.parametrize("place", ["memory", "disk"])
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_late_index_entries_do_not_come_after_a_restore(
    place: str, turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write whose index entries come one by one has given way; the store is restored; the write goes on."""
    monkeypatch.setattr(late_entries, "LATE_BYTES_MIN", 1000)
    loop = asyncio.new_event_loop()
    store = open_store(None if place == "memory" else str(tmp_path / "data"), VirtualClock(), loop)
    try:
        finish(store.catalog.create(indexed))
        empty = loop.run_until_complete(store.copying.checkpoint())
        writing = write(store, "a", "g", 400)
        begin(writing, turns)
        store.copying.restore(empty)
        empty.release()
        with suppress(HashrangeError):
            end(writing)
        assert entries(store) == [0, 0, 0, 0]
    finally:
        store.close_now()
        loop.close()


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_nothing_else_runs_in_the_middle_of_a_restore(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The restored content has late index entries to be derived from items, which is work that gives way elsewhere."""
    monkeypatch.setattr(late_entries, "LATE_BYTES_MIN", 1000)
    loop = asyncio.new_event_loop()
    store = open_store(None if place == "memory" else str(tmp_path / "data"), VirtualClock(), loop)
    ways: list[str] = []
    try:
        finish(store.catalog.create(indexed))
        writing = write(store, "a", "g", 400)
        begin(writing)
        unfinished = loop.run_until_complete(store.copying.checkpoint())
        end(writing)
        monkeypatch.setattr(steps, "LOOK_STEPS", 0)
        monkeypatch.setattr(steps, "_left", 0)
        monkeypatch.setattr(steps, "_look", lambda: ways.append("looked"))
        store.copying.restore(unfinished)
        monkeypatch.undo()
        unfinished.release()
        assert entries(store) == [1, 1, 1, 1]
    finally:
        store.close_now()
        loop.close()
    assert ways == []
