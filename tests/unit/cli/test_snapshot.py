"""`hashrange snapshot`: the content of a running server goes into a file, with which a second server begins."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.cli.main import DONE, FAILED, WRONG_USE, main
from tests.clients.serving import ServerProcess
from tests.support.raw_client import RawClient

TABLE = {
    "TableName": "music",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}
ITEMS = 1500
"""Items of a kilobyte: more than one piece of rows."""
BATCH = 25


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    process = ServerProcess(None, "--admin")
    client = RawClient("127.0.0.1", process.port)
    assert client("CreateTable", TABLE).status == 200
    for first in range(0, ITEMS, BATCH):
        items = [{"id": {"S": str(number)}, "text": {"S": "x" * 1000}} for number in range(first, first + BATCH)]
        puts = {"RequestItems": {"music": [{"PutRequest": {"Item": item}} for item in items]}}
        assert client("BatchWriteItem", puts).status == 200
    yield process
    process.stop()


def count_items(process: ServerProcess) -> int:
    client, count = RawClient("127.0.0.1", process.port), 0
    start: dict[str, Any] = {}
    while True:
        reply: Any = client("Scan", {"TableName": "music", "Select": "COUNT", **start}).json()
        count += int(reply["Count"])
        if "LastEvaluatedKey" not in reply:
            return count
        start = {"ExclusiveStartKey": reply["LastEvaluatedKey"]}


def test_a_second_server_begins_with_the_content_of_the_first(
    server: ServerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "music.snapshot"
    assert main(["snapshot", str(path), "--endpoint", server.endpoint]) == DONE
    said = capsys.readouterr().out
    assert said.startswith(f"{path}: 1,5")
    assert said.endswith(f" rows in {path.stat().st_size:,} bytes.\n")
    first = path.read_bytes()
    assert main(["snapshot", str(path), "--endpoint", server.endpoint]) == DONE
    rows_of = [data[data.index(b"\n") :] for data in (first, path.read_bytes())]
    assert rows_of[0] == rows_of[1]
    for folder in (None, tmp_path / "data"):
        other = ServerProcess(folder, "--snapshot", str(path))
        try:
            assert count_items(other) == ITEMS
        finally:
            other.stop()


def test_faults_are_told(server: ServerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "none" / "music.snapshot"
    assert main(["snapshot", str(missing), "--endpoint", server.endpoint]) == FAILED
    assert capsys.readouterr().err == f"hashrange: {missing} cannot be written: No such file or directory.\n"
    plain = ServerProcess()
    try:
        assert main(["snapshot", str(tmp_path / "file"), "--endpoint", plain.endpoint]) == FAILED
    finally:
        plain.stop()
    told = f"hashrange: the server at {plain.endpoint} has no admin API. Start it with --admin.\n"
    assert capsys.readouterr().err == told
    assert main(["snapshot", str(tmp_path / "file"), "--endpoint", plain.endpoint]) == FAILED
    assert capsys.readouterr().err.startswith(f"hashrange: no server answers at {plain.endpoint}")
    assert os.listdir(tmp_path) == []
    assert main(["serve", "--in-memory", "--snapshot", str(missing)]) == WRONG_USE
    assert "cannot be read: No such file or directory." in capsys.readouterr().err
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"nothing")
    assert main(["serve", "--in-memory", "--port", "0", "--snapshot", str(damaged)]) == WRONG_USE
    assert capsys.readouterr().err == f"hashrange: {damaged} is no snapshot file of Hashrange.\n"
