"""A database inside a test: clients, and its content copied, restored, forked and emptied."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.errors import StorageError
from hashrange.faults.fault import Fault
from hashrange.settings import Settings, SettingUnusable
from hashrange.store.snapshot_file import SnapshotFileError
from hashrange.testing.database import Database, server
from tests.support.waiting import PATIENCE_SECONDS, wait_until
from tests.unit.testing.music import create


@pytest.fixture
def database() -> Iterator[Database]:
    with server() as database:
        yield database


def put(client: Any, *keys: str) -> None:
    for key in keys:
        client.put_item(TableName="music", Item={"pk": {"S": key}})


def keys_of(client: Any) -> list[str]:
    return sorted(item["pk"]["S"] for item in client.scan(TableName="music")["Items"])


def test_clients_and_resources_see_the_same_tables(database: Database) -> None:
    create(database.client())
    table = database.resource().Table("music")
    table.put_item(Item={"pk": "a"})
    assert keys_of(database.client()) == ["a"]
    assert len(database.client("dynamodbstreams").list_streams()["Streams"]) == 1


def test_an_emptied_database_has_no_tables_and_takes_new_ones(database: Database) -> None:
    client = database.client()
    create(client)
    put(client, "a")
    database.reset()
    assert client.list_tables()["TableNames"] == []
    assert database.client("dynamodbstreams").list_streams()["Streams"] == []
    create(client)
    assert keys_of(client) == []


def test_a_snapshot_is_restored_as_often_as_one_likes(database: Database) -> None:
    client = database.client()
    create(client)
    put(client, "a")
    snapshot = database.snapshot()
    for _ in range(2):
        put(client, "b")
        client.delete_item(TableName="music", Key={"pk": {"S": "a"}})
        assert keys_of(client) == ["b"]
        database.restore(snapshot)
        assert keys_of(client) == ["a"]
    snapshot.release()
    assert keys_of(client) == ["a"]


def test_forks_begin_alike_and_go_their_own_ways(database: Database) -> None:
    client = database.client()
    create(client)
    put(client, "a")
    with database.fork() as first, database.fork() as second:
        put(first.client(), "b")
        put(second.client(), "c")
        put(client, "d")
        assert [keys_of(one.client()) for one in (first, second)] == [["a", "b"], ["a", "c"]]
        with first.fork() as grandchild:
            assert keys_of(grandchild.client()) == ["a", "b"]
    assert keys_of(client) == ["a", "d"]


def test_time_to_live_goes_by_the_databases_own_time(database: Database) -> None:
    client = database.client()
    create(client)
    client.update_time_to_live(TableName="music", TimeToLiveSpecification={"Enabled": True, "AttributeName": "gone"})
    database.clock.freeze()
    now = int(database.clock.now())
    client.put_item(TableName="music", Item={"pk": {"S": "a"}, "gone": {"N": str(now + 3600)}})
    database.clock.advance(3599)
    assert keys_of(client) == ["a"]
    database.clock.advance(2)
    assert keys_of(client) == []
    with pytest.raises(ValueError, match="ahead only"):
        database.clock.advance(-1)
    for seconds in (1e10, float("inf")):
        with pytest.raises(ValueError, match="at most 100 years ahead"):
            database.clock.advance(seconds)


def test_a_snapshot_holds_the_time_too_and_each_fork_has_its_own(database: Database) -> None:
    database.clock.freeze()
    began = database.clock.now()
    snapshot = database.snapshot()
    with database.fork() as fork:
        fork.clock.advance(60)
        assert (database.clock.now(), fork.clock.now()) == (began, began + 60)
    database.clock.advance(10)
    database.restore(snapshot)
    assert database.clock.now() == began
    database.reset()
    database.clock.freeze()
    assert database.clock.now() > began


def test_a_saved_snapshot_is_what_another_database_begins_with(database: Database, tmp_path: Path) -> None:
    client = database.client()
    create(client)
    put(client, *"abc")
    database.clock.advance(3600)
    snapshot = database.snapshot()
    put(client, "d")
    snapshot.save(tmp_path / "music.snapshot")
    with server(snapshot=tmp_path / "music.snapshot") as other:
        assert keys_of(other.client()) == ["a", "b", "c"]
        assert other.clock.now() > database.clock.now() - 60
        put(other.client(), "e")
        assert keys_of(other.client()) == ["a", "b", "c", "e"]
        streams = other.client("dynamodbstreams").list_streams()["Streams"]
        assert streams == database.client("dynamodbstreams").list_streams()["Streams"]
    folder = tmp_path / "data"
    with server(Settings(data_dir=str(folder)), snapshot=tmp_path / "music.snapshot") as other:
        assert keys_of(other.client()) == ["a", "b", "c"]
    with server(Settings(data_dir=str(folder))) as other:
        assert keys_of(other.client()) == ["a", "b", "c"]
    with (
        pytest.raises(SettingUnusable, match="holds tables already"),
        server(Settings(data_dir=str(folder)), snapshot=tmp_path / "music.snapshot"),
    ):
        pass


def test_a_database_does_not_begin_with_half_a_snapshot(database: Database, tmp_path: Path) -> None:
    create(database.client())
    path, folder = tmp_path / "music.snapshot", str(tmp_path / "data")
    database.snapshot().save(path)
    path.write_bytes(path.read_bytes()[:-9])
    with (
        pytest.raises(SnapshotFileError, match="damaged or incomplete"),
        server(Settings(data_dir=folder), snapshot=path),
    ):
        pass
    with server(Settings(data_dir=folder)) as other:
        assert other.client().list_tables()["TableNames"] == []
    with pytest.raises(SnapshotFileError, match="cannot be read: No such file"), server(snapshot=tmp_path / "none"):
        pass


def test_a_closed_database_says_that_it_is_closed() -> None:
    with server() as database:
        client, snapshot = database.client(), database.snapshot()
    database.close()
    snapshot.release()
    uses: list[Callable[[], object]] = [
        client.list_tables,
        database.reset,
        database.snapshot,
        database.fork,
        lambda: database.endpoint,
        lambda: database.clock.advance(1),
    ]
    for use in uses:
        with pytest.raises(RuntimeError, match="This database is closed"):
            use()


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_a_snapshot_of_a_new_database(place: str, tmp_path: Path) -> None:
    """Its copies are new engines, which is quicker than linking; what can be done with it is the same."""
    with server(Settings(data_dir=None if place == "memory" else str(tmp_path / "data"))) as database:
        snapshot = database.snapshot()
        for _ in range(2):
            create(database.client())
            database.restore(snapshot)
            assert database.client().list_tables()["TableNames"] == []
        snapshot.save(tmp_path / "new.snapshot")
        with server(snapshot=tmp_path / "new.snapshot") as other, database.fork() as fork:
            for one in (other, fork, database):
                create(one.client())
                put(one.client(), "a")
                assert keys_of(one.client()) == ["a"]
        snapshot.release()
        with pytest.raises(StorageError, match="has been released"):
            database.restore(snapshot)
        assert keys_of(database.client()) == ["a"]


def test_a_database_that_ends_leaves_no_thread_waiting() -> None:
    """A slow reply would have come in an hour; the database ends before."""
    results: list[BaseException] = []

    def ask() -> None:
        try:
            client.put_item(TableName="music", Item={"pk": {"S": "a"}})
        except BaseException as error:
            results.append(error)

    with server() as database:
        client = database.client()
        create(client)
        database.faults.use(Fault("slow", operation="PutItem", seconds=3600))
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        wait_until(lambda: database.faults.report)
        database.close()
        asking.join(PATIENCE_SECONDS)
        assert not asking.is_alive()
    assert [type(error) for error in results] == [RuntimeError]
    assert "This database is closed" in str(results[0])


def test_a_restore_that_fails_changes_no_fault(database: Database) -> None:
    client = database.client(config=Config(retries={"total_max_attempts": 1}))
    create(client)
    database.faults.use(Fault("error", operation="PutItem", count=1))
    with pytest.raises(ClientError):
        put(client, "a")
    snapshot = database.snapshot()
    snapshot.release()
    with pytest.raises(StorageError):
        database.restore(snapshot)
    assert [met.kind for met in database.faults.report] == ["error"]
    put(client, "a")


def test_two_advances_at_once_stay_within_a_century(database: Database) -> None:
    """The clock alone is moved by most of the century: the jobs of that time would take seconds."""
    year_seconds = 365.25 * 86_400
    results: list[BaseException | None] = []

    def advance() -> None:
        try:
            database.clock.advance(1.5 * year_seconds)
        except ValueError as error:
            results.append(error)
        else:
            results.append(None)

    # A job is due on the way, so that an advance gives way to the other one.
    create(database.client())
    database._process.run(database.clock._clock.advance, 98 * year_seconds)
    before = database.clock.now()
    threads = [threading.Thread(target=advance) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(str(result)[:12] for result in results) == ["None", "Service time"]
    assert database.clock.now() < before + 1.6 * year_seconds


def test_a_reset_in_a_block_without_faults_removes_those_around_it(database: Database) -> None:
    client = database.client(config=Config(retries={"total_max_attempts": 1}))
    database.faults.use(Fault("error", operation="PutItem"))
    with database.faults.during():
        database.reset()
    create(client)
    put(client, "a")
