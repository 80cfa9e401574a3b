"""The admin API's copies of the whole database: reset, snapshots, forks; and what a running server's clients notice."""

import asyncio
import json
import os
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.clock import MovableClock, SystemClock
from hashrange.server import copies as kept_copies
from hashrange.server.clients import IN_THIS_PROCESS
from hashrange.server.copies import KeptSnapshots
from hashrange.server.protocols.admin import copies
from hashrange.server.protocols.admin.copies import ForkRequest, start_fork
from hashrange.server.protocols.admin.endpoint import Nothing, Refused, Serving
from hashrange.service.snapshots import ServiceSnapshot
from hashrange.settings import Settings
from hashrange.store.embedded import catalog, checkpoints, files, layout, open_tables, streams
from hashrange.store.embedded.checkpoints import EngineCheckpoint
from hashrange.store.embedded.engine import Memory, close_engine, remove_memory
from hashrange.store.embedded.open_tables import StoredTable
from hashrange.store.embedded.stream_states import ShardNews, StreamState
from hashrange.work_threads import free_entries
from tests.clients.serving import ServerProcess
from tests.support.in_process import in_process
from tests.support.raw_client import RawClient, Reply

TABLE = {
    "TableName": "orders",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
DAY_SECONDS = 86_400


@pytest.fixture(params=["memory", "disk"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(None if request.param == "memory" else tmp_path / "data", "--admin")
    yield process
    process.stop()


def client_at(port: int) -> RawClient:
    return RawClient("127.0.0.1", port)


def send(client: RawClient, method: str, path: str, **members: Any) -> Reply:
    return client.send(method, f"/_hashrange/v1/{path}", {}, json.dumps(members).encode() if members else b"")


def told(client: RawClient, method: str, path: str, **members: Any) -> Any:
    answer = send(client, method, path, **members)
    assert answer.status == 200, answer
    return answer.json()


def refused(client: RawClient, method: str, path: str, **members: Any) -> tuple[int, str]:
    answer = send(client, method, path, **members)
    return answer.status, answer.json()["error"]


def put(client: RawClient, *names: str) -> None:
    for name in names:
        answer = client("PutItem", {"TableName": "orders", "Item": {"id": {"S": name}}})
        assert answer.status == 200, answer


def names_in(client: RawClient) -> list[str]:
    answer = client("Scan", {"TableName": "orders"})
    assert answer.status == 200, answer
    return sorted(item["id"]["S"] for item in answer.json()["Items"])


def begun(port: int) -> RawClient:
    client = client_at(port)
    assert client("CreateTable", TABLE).status == 200
    put(client, "a")
    return client


def test_a_reset_empties_all_accounts_and_keeps_connections(server: ServerProcess) -> None:
    client = begun(server.port)
    told(client, "POST", "clock/advance", seconds=DAY_SECONDS)
    ahead = told(client, "GET", "info")["service_time"]
    assert told(client, "POST", "reset") == {}
    assert client("ListTables", {}).json() == {"TableNames": []}
    info = told(client, "GET", "info")
    assert info["service_time"] < ahead
    assert info["connections"] == 1
    assert client("CreateTable", TABLE).status == 200
    assert names_in(client) == []


def test_a_snapshot_is_restored_until_it_is_released(server: ServerProcess) -> None:
    client = begun(server.port)
    number = told(client, "POST", "snapshots")["snapshot"]
    for name in "bc":
        put(client, name)
        assert names_in(client) == ["a", name]
        told(client, "POST", f"snapshots/{number}/restore")
        assert names_in(client) == ["a"]
    put(client, "d")
    later = told(client, "POST", "snapshots")["snapshot"]
    assert told(client, "GET", "snapshots") == {"snapshots": [number, later]}
    told(client, "POST", f"snapshots/{number}/restore")
    told(client, "POST", f"snapshots/{later}/restore")
    told(client, "DELETE", f"snapshots/{number}")
    assert names_in(client) == ["a", "d"]
    assert refused(client, "POST", f"snapshots/{number}/restore") == (
        404,
        f"There is no snapshot {number}. Snapshots that can be used: {later}.",
    )


def test_a_fork_has_its_own_port_content_and_clock_until_it_is_ended(server: ServerProcess) -> None:
    client = begun(server.port)
    number = told(client, "POST", "snapshots")["snapshot"]
    put(client, "b")
    fork = told(client, "POST", "forks")
    other = client_at(fork["port"])
    put(other, "c")
    put(client, "d")
    assert (names_in(client), names_in(other)) == (["a", "b", "d"], ["a", "b", "c"])
    moved = told(other, "POST", "clock/advance", seconds=DAY_SECONDS)["service_time"]
    assert told(client, "GET", "info")["service_time"] < moved

    earlier = told(client, "POST", "forks", snapshot=number)
    assert names_in(client_at(earlier["port"])) == ["a"]
    nested = told(other, "POST", "forks")
    assert names_in(client_at(nested["port"])) == ["a", "b", "c"]
    assert told(client, "GET", "forks") == {"forks": [fork, earlier]}

    assert told(client, "DELETE", f"forks/{fork['port']}") == {}
    for port in (fork["port"], nested["port"]):
        with pytest.raises(ConnectionError):
            names_in(client_at(port))
    status, sentence = refused(client, "DELETE", f"forks/{fork['port']}")
    assert (status, sentence) == (404, f"There is no fork on port {fork['port']}. Ports of forks: {earlier['port']}.")
    assert names_in(client) == ["a", "b", "d"]


def test_a_fork_gets_connections_of_its_server_and_gives_them_back(tmp_path: Path) -> None:
    process = ServerProcess(None, "--admin", "--max-connections", "40")
    client = client_at(process.port)
    assert told(client, "POST", "forks")["port"]
    fork = told(client, "GET", "forks")["forks"][0]
    assert told(client_at(fork["port"]), "GET", "info")["settings"]["max_connections"] == 2
    counts = []
    for _ in range(2):
        while (answer := send(client, "POST", "forks")).status == 200:
            pass
        assert answer.status == 409
        assert told(client, "GET", "info")["settings"]["max_connections"] == 40
        ports = [fork["port"] for fork in told(client, "GET", "forks")["forks"]]
        counts.append(len(ports))
        for port in ports:
            told(client, "DELETE", f"forks/{port}")
    assert counts == [20, 20]  # 5 of 2 connections each, then of 1, until fewer than 16 are left
    process.stop()


def test_forks_that_start_together_do_not_get_the_same_connections() -> None:
    """There are 16 connections, so that one fork gets one; five others are refused, and not given none."""
    with in_process(
        Settings(data_dir=None, admin=True, port=0, max_connections=16), MovableClock(SystemClock())
    ) as database:
        database.listen()
        assert database._server is not None
        forks, service = database._server.forks, database.service
        serving = Serving(service, IN_THIS_PROCESS, KeptSnapshots(), forks, 0.0)

        async def start_together() -> list[object]:
            starts = [start_fork(serving, ForkRequest()) for _ in range(6)]
            return await asyncio.gather(*starts, return_exceptions=True)

        results = database.run(start_together)
        assert [isinstance(result, Refused) for result in results] == [False] + 5 * [True]
        (port,) = forks.endpoints
        assert told(client_at(port), "GET", "info")["settings"]["max_connections"] == 1


def test_an_unknown_fork_is_refused(server: ServerProcess) -> None:
    client = client_at(server.port)
    for port in ("1", "0", "-1", "x", "99999999", "%C2%B2"):
        status, sentence = refused(client, "DELETE", f"forks/{port}")
        assert status == 404, port
        assert sentence.endswith("Ports of forks: none."), port


def test_rows_are_read_in_pieces_and_bad_keys_refused(server: ServerProcess) -> None:
    client = begun(server.port)
    number = told(client, "POST", "snapshots")["snapshot"]
    rows = told(client, "POST", f"snapshots/{number}/rows")["rows"]
    keys = [b64decode(key) for key, _ in rows]
    assert keys == sorted(keys)
    after = rows[0][0]
    assert told(client, "POST", f"snapshots/{number}/rows", after=after)["rows"] == rows[1:]
    assert told(client, "POST", f"snapshots/{number}/rows", after=rows[-1][0])["rows"] == []
    for bad in ("=", "a", "ä", "AA==A"):
        assert refused(client, "POST", f"snapshots/{number}/rows", after=bad)[0] == 400


def test_frozen_time_stands_still_until_it_runs_again(server: ServerProcess) -> None:
    client = client_at(server.port)
    frozen = told(client, "POST", "clock/freeze")["service_time"]
    assert told(client, "GET", "info")["service_time"] == frozen
    assert told(client, "POST", "clock/advance", seconds=1)["service_time"] == frozen + 1
    assert told(client, "POST", "clock/resume")["service_time"] >= frozen + 1
    first = told(client, "GET", "info")["service_time"]
    while told(client, "GET", "info")["service_time"] == first:
        pass


def test_a_server_keeps_so_many_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_copies, "SNAPSHOTS_MAX", 2)
    kept = KeptSnapshots()
    released = []

    class Content:
        def release(self) -> None:
            released.append(self)

    for taken in range(2):
        assert not kept.is_full, taken
        kept.keep(ServiceSnapshot(Content(), None, 0.0))  # type: ignore[arg-type]
    assert kept.is_full
    asyncio.run(kept.release_all())
    assert (len(released), kept.numbers) == (2, [])


def test_a_reset_that_the_servers_end_overtakes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is cancelled like everything that runs then, which is no error of ours."""
    with in_process(Settings(data_dir=None, admin=True)) as database:
        serving = Serving(database.service, IN_THIS_PROCESS, KeptSnapshots(), None, 0.0)

        async def cancelled(service: object) -> None:
            raise asyncio.CancelledError

        monkeypatch.setattr(copies, "reset_service", cancelled)
        with pytest.raises(Refused, match=r"The server ends before the reset was done\. Nothing has changed"):
            database.run(copies.reset, serving, Nothing())


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (layout, "decode_table"),
        (catalog, "grown_sources"),
        (layout, "decode_partition_row"),
        (layout, "decode_stream"),
        (layout, "decode_shard"),
        (StreamState, "set"),
        (ShardNews, "note"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_tables_and_streams_are_read_on_another_thread_for_a_fork_and_a_restore(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    """On the loop, each table would hold up all others for 20 µs, and each shard for 30;
    a server may have thousands.
    """
    called_on: list[int] = []
    read = getattr(owner, name)

    def noted(*values: Any) -> Any:
        called_on.append(threading.get_ident())
        return read(*values)

    with in_process(Settings(data_dir=None, admin=True, port=0), MovableClock(SystemClock())) as process:
        client = client_at(int(process.listen().rpartition(":")[2]))
        stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        assert client("CreateTable", {**TABLE, "StreamSpecification": stream}).status == 200
        loop_thread = process.run(threading.get_ident)
        snapshot = told(client, "POST", "snapshots")["snapshot"]
        monkeypatch.setattr(owner, name, noted)
        told(client, "POST", f"snapshots/{snapshot}/restore")
        assert len(called_on) == 1
        told(client, "POST", "forks")
        assert len(called_on) == 2
        assert loop_thread not in called_on


def test_former_streams_are_freed_on_another_thread_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once would hold up others for 10 ms beside 20,000 shards."""
    freed: list[tuple[int, int]] = []

    def noted(*dicts: dict[Any, Any]) -> None:
        by_id, *others = dicts
        free_entries(*others)
        before = len(by_id)
        (state,) = by_id.values()
        holders = sys.getrefcount(state)
        del state
        free_entries(by_id)
        assert not by_id
        freed.append((threading.get_ident(), before))
        assert holders <= 3, "nothing but the dict keeps the stream, besides this function"

    with in_process(Settings(data_dir=None, admin=True, port=0), MovableClock(SystemClock())) as process:
        client = client_at(int(process.listen().rpartition(":")[2]))
        stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        assert client("CreateTable", {**TABLE, "StreamSpecification": stream}).status == 200
        loop_thread = process.run(threading.get_ident)
        snapshot = told(client, "POST", "snapshots")["snapshot"]
        fork = told(client, "POST", "forks")["port"]
        monkeypatch.setattr(checkpoints, "free_entries", noted)
        monkeypatch.setattr(streams, "free_entries", noted)
        told(client, "POST", f"snapshots/{snapshot}/restore")
        assert [count for _, count in freed] == [1]
        told(client, "DELETE", f"forks/{fork}")
        assert [count for _, count in freed] == [1, 1]
        assert loop_thread not in [thread for thread, _ in freed]


@pytest.mark.parametrize("is_read", [False, True], ids=["unread", "metrics were read"])
def test_former_tables_are_freed_on_another_thread(monkeypatch: pytest.MonkeyPatch, is_read: bool) -> None:
    """On the loop, 2,400 tables with twenty indexes would hold up others for 60 ms and more."""
    freed_on: list[int] = []

    class NotedTable(StoredTable):
        __slots__ = ()

        def __del__(self) -> None:
            freed_on.append(threading.get_ident())

    def freed() -> int:
        """How many have been freed since the last look, none of them on the loop."""
        assert loop_thread not in freed_on
        count = len(freed_on)
        freed_on.clear()
        return count

    for owner in (catalog, open_tables):
        monkeypatch.setattr(owner, "StoredTable", NotedTable)
    with in_process(Settings(data_dir=None, admin=True, port=0), MovableClock(SystemClock())) as process:
        port = int(process.listen().rpartition(":")[2])
        client = client_at(port)
        for name in ("orders", "users", "visits"):
            assert client("CreateTable", {**TABLE, "TableName": name}).status == 200
        loop_thread = process.run(threading.get_ident)
        snapshot = told(client, "POST", "snapshots")["snapshot"]
        fork = told(client, "POST", "forks")["port"]
        for each in (client, client_at(fork)):
            if is_read:
                assert each.send("GET", "/metrics", {}, b"").status == 200
        assert freed() == 0
        told(client, "POST", f"snapshots/{snapshot}/restore")
        assert freed() == 3
        assert names_in(client) == []
        told(client, "POST", "reset")
        assert freed() == 3
        told(client, "DELETE", f"forks/{fork}")
        assert freed() == 3


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_files_are_freed_on_another_thread(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the loop, the files of 300 MB would hold up all others for a tenth of a second and more."""
    freed: list[tuple[int, str]] = []
    data_dir = None if place == "memory" else str(tmp_path / "data")

    def noted_memory(memory: Memory) -> None:
        freed.append((threading.get_ident(), memory.path))
        remove_memory(memory)

    def noted_folder(path: str) -> None:
        if data_dir is not None and path.startswith(data_dir):
            freed.append((threading.get_ident(), path))
        remove_folder(path)

    closed_on: list[int] = []

    def noted_close(*values: Any, **options: Any) -> None:
        closed_on.append(threading.get_ident())
        close_engine(*values, **options)

    remove_folder = files.remove_folder
    with in_process(Settings(data_dir=data_dir, admin=True, port=0), MovableClock(SystemClock())) as process:
        client = begun(int(process.listen().rpartition(":")[2]))
        loop_thread = process.run(threading.get_ident)
        monkeypatch.setattr(checkpoints, "remove_memory", noted_memory)
        monkeypatch.setattr(files, "remove_folder", noted_folder)
        monkeypatch.setattr(checkpoints, "close_engine", noted_close)
        first, second, third = [told(client, "POST", "snapshots")["snapshot"] for _ in range(3)]
        for method, path in (
            ("POST", f"snapshots/{first}/restore"),
            ("POST", "reset"),
            ("DELETE", f"snapshots/{first}"),
            ("DELETE", f"snapshots/{second}"),
        ):
            told(client, method, path)
            assert len(freed) == 1, path
            assert freed.pop()[0] != loop_thread, path
        if data_dir is not None:
            assert sorted(os.listdir(data_dir)) == ["copies", "engine", "lock"]
            assert len(os.listdir(f"{data_dir}/copies")) == 1, "that of the third snapshot"
        assert closed_on
    assert loop_thread not in [*closed_on, *[thread for thread, _ in freed]]
    assert len(freed) == (2 if data_dir is None else 1), third


def test_a_snapshot_that_is_released_meanwhile_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """By another request: the server has not failed."""
    with in_process(Settings(data_dir=None, admin=True, port=0), MovableClock(SystemClock())) as process:
        client = begun(int(process.listen().rpartition(":")[2]))
        assert process._server is not None
        kept, copy = process._server.snapshots, EngineCheckpoint.copy
        for path, members in (("snapshots/{0}/restore", {}), ("forks", {"snapshot": "{0}"})):
            number = told(client, "POST", "snapshots")["snapshot"]

            def released(checkpoint: EngineCheckpoint, number: str = number) -> Any:
                asyncio.run(kept.release(number))
                return copy(checkpoint)

            with monkeypatch.context() as patched:
                patched.setattr(EngineCheckpoint, "copy", released)
                given = {name: value.format(number) for name, value in members.items()}
                status, error = refused(client, "POST", path.format(number), **given)
            assert (status, error.partition(".")[0]) == (404, f"There is no snapshot {number}")
        assert names_in(client) == ["a"]
