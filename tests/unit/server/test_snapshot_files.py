"""The files of a snapshot over the admin API: of one moment, the same ones at each call; no other file is read."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.clock import MovableClock, SystemClock
from hashrange.messages.admin import CONTENT_IN_MEMORY, NO_SNAPSHOT_FILE
from hashrange.server.protocols.admin import copies
from hashrange.settings import Settings
from hashrange.store.embedded.check import check_store
from tests.support.copied_stores import Shop, content_of, opened_shop
from tests.support.in_process import in_process
from tests.support.raw_client import RawClient, Reply


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with opened_shop(tmp_path / "data") as shop:
        shop.make("orders")
        for number in range(5):
            shop.put("orders", str(number), f"{number}" * 1000)
        yield shop


def send(client: RawClient, path: str, **members: Any) -> Reply:
    return client.send("POST", f"/_hashrange/v1/{path}", {}, json.dumps(members).encode())


def taken(shop: Shop) -> str:
    return f"snapshots/{send(shop.client, 'snapshots').json()['snapshot']}"


def content_in(shop: Shop, snapshot: str, folder: Path) -> dict[str, Any]:
    """Read the files of a snapshot into a data folder, in small pieces; returns its content."""
    (folder / "engine").mkdir(parents=True)
    listed = send(shop.client, f"{snapshot}/files").json()
    for file in listed["files"]:
        content = b""
        while True:
            path = f"{snapshot}/files/{file['name'].replace('/', '%2F')}"
            reply = send(shop.client, path, offset=len(content))
            assert (reply.status, reply.headers["content-type"]) == (200, "application/octet-stream")
            if not reply.body:
                break
            content += reply.body
        assert len(content) == file["bytes"]
        (folder / file["name"]).write_bytes(content)
    report = check_store(str(folder))
    assert not report.faults
    return content_of(folder)


def test_files_are_read_in_pieces(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "FILE_PIECE_BYTES", 1000)
    snapshot, former = taken(shop), shop.copied_content()
    shop.put("orders", "later", "x")
    assert content_in(shop, snapshot, tmp_path / "copy") == former


@pytest.mark.parametrize("use", ["nothing", "rows", "restore", "forks"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_other_uses_of_a_snapshot_change_none_of_its_files(shop: Shop, tmp_path: Path, use: str, when: str) -> None:
    snapshot, former = taken(shop), shop.copied_content()
    if when == "after":
        listed = send(shop.client, f"{snapshot}/files").json()
    shop.drop("orders")
    if use == "forks":
        assert send(shop.client, "forks", snapshot=snapshot.rpartition("/")[2]).status == 200
    elif use != "nothing":
        assert send(shop.client, f"{snapshot}/{use}").status == 200
    if when == "after":
        assert send(shop.client, f"{snapshot}/files").json() == listed
    assert content_in(shop, snapshot, tmp_path / "copy") == former
    assert shop.client.send("DELETE", f"/_hashrange/v1/{snapshot}", {}, b"").status == 200
    assert len(os.listdir(shop.data_dir / "copies")) == (1 if use == "forks" else 0)


@pytest.mark.parametrize(
    "name",
    ["engine%2FLOCK", "LOCK", "..%2F..%2Fengine%2FCURRENT", "%2Fetc%2Fpasswd", "engine%2F..%2Fengine%2FCURRENT", "x"],
)
def test_no_other_file_is_read(shop: Shop, name: str) -> None:
    snapshot = taken(shop)
    reply = send(shop.client, f"{snapshot}/files/{name}")
    told = NO_SNAPSHOT_FILE.format(number=snapshot.rpartition("/")[2], name=name.replace("%2F", "/"))
    assert (reply.status, reply.json()["error"]) == (404, told)


def test_what_is_not_there_is_told(shop: Shop) -> None:
    snapshot = taken(shop)
    assert send(shop.client, "snapshots/99/files").status == 404
    assert send(shop.client, "snapshots/99/files/engine%2FCURRENT").status == 404
    reply = send(shop.client, f"{snapshot}/files/engine%2FCURRENT", offset=-1)
    assert reply.status == 400
    assert send(shop.client, f"{snapshot}/files/engine%2FCURRENT", offset=10**9).body == b""
    assert send(shop.client, "snapshots", idle_seconds=-1).status == 400


def test_a_store_in_memory_has_no_files() -> None:
    with in_process(Settings(data_dir=None, admin=True, port=0), MovableClock(SystemClock())) as process:
        client = RawClient("127.0.0.1", int(process.listen().rpartition(":")[2]))
        number = send(client, "snapshots").json()["snapshot"]
        for path in ("files", "files/engine%2FCURRENT"):
            reply = send(client, f"snapshots/{number}/{path}")
            assert (reply.status, reply.json()["error"]) == (409, CONTENT_IN_MEMORY)
