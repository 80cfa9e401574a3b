"""Who may read what a store and a server write? Nobody but their user; a folder that exists keeps its mode."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from hashrange.clock import SystemClock
from hashrange.store.embedded import open_store
from hashrange.store.snapshot_file import replaced_file
from tests.clients.serving import ServerProcess
from tests.support.raw_client import RawClient
from tests.support.samples import finish, table_maker

pytestmark = pytest.mark.skipif(os.name == "nt", reason="files of Windows have no such modes")
CLOCK = SystemClock()
TABLE = {
    "TableName": "things",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_to_others(folder: Path) -> list[str]:
    """What others have rights to, the folder itself included."""
    return [str(one) for one in (folder, *folder.rglob("*")) if mode_of(one) & 0o077]


def test_a_new_folder_and_all_in_it_is_for_one_user_only(tmp_path: Path) -> None:
    folder = tmp_path / "above" / "data"
    store = open_store(str(folder), CLOCK, None)
    finish(store.catalog.create(table_maker("t")))
    assert not open_to_others(folder)
    assert mode_of(tmp_path / "above") == 0o755
    store.engine.flush()
    store.close_now()
    assert not open_to_others(folder)


def test_a_folder_that_exists_keeps_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "engine").mkdir(parents=True)
    (folder / "engine").chmod(0o750)
    folder.chmod(0o755)
    open_store(str(folder), CLOCK, None).close_now()
    assert [mode_of(folder), mode_of(folder / "engine")] == [0o755, 0o750]
    assert mode_of(folder / "engine" / "CURRENT") == 0o644
    assert mode_of(folder / "lock") == 0o600


@pytest.mark.parametrize("mode", [0o700, 0o755])
def test_the_engine_of_a_copy_takes_over_the_mode_of_the_folder_that_it_replaces(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "data"
    (folder / "engine").mkdir(parents=True)
    (folder / "engine").chmod(mode)
    store = open_store(str(folder), CLOCK, None)
    store.copying.restore(asyncio.run(store.copying.checkpoint()))
    assert mode_of(folder / "engine") == mode
    if mode == 0o700:
        assert not open_to_others(folder / "engine")
    store.close_now()


def test_a_snapshot_file_is_for_one_user_only(tmp_path: Path) -> None:
    path = tmp_path / "snapshot"
    for _ in range(2):
        with replaced_file(path) as file:
            file.write(b"rows")
        assert mode_of(path) == 0o600
        path.chmod(0o644)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path / "data", "--admin")
    yield process
    if process.process.poll() is None:
        process.process.kill()
        process.process.communicate()


def test_all_that_a_server_makes_is_for_one_user_only(tmp_path: Path, server: ServerProcess) -> None:
    folder = tmp_path / "data"
    client = RawClient("127.0.0.1", server.port)
    assert client("CreateTable", TABLE).status == 200
    assert not open_to_others(folder)
    item = {"pk": {"S": "k"}, "text": {"S": "x" * 300_000}}
    for _ in range(40):  # more than a memtable holds, so that the engine's threads make files
        assert client("PutItem", {"TableName": "things", "Item": item}).status == 200
    for path in ("snapshots", "forks"):
        assert client.send("POST", f"/_hashrange/v1/{path}", {}, b"").status == 200
    assert list((folder / "engine").glob("*.sst"))
    assert list((folder / "copies").iterdir())
    assert not open_to_others(folder)
    server.stop()
    assert not open_to_others(folder)
