"""`hashrange snapshot`: the content of a running server goes into a file, with which a second server begins."""

import os
import signal
import subprocess
import sys
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
HELD_SNAPSHOT = """import os, signal, sys
from hashrange.cli import main, snapshot
class Held(snapshot.SnapshotWriter):
    def finish(self):
        print("held", flush=True)
        signal.pause()
        super().finish()
snapshot.SnapshotWriter = Held
sys.exit(main.main())
"""
"""A program that waits before it completes a snapshot's file."""


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


@pytest.mark.skipif(os.name == "nt", reason="signals end otherwise there")
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_leaves_neither_snapshot_nor_file(server: ServerProcess, tmp_path: Path, name: str, code: int) -> None:
    path = tmp_path / "music.snapshot"
    command = [sys.executable, "-c", HELD_SNAPSHOT, "snapshot", str(path), "--endpoint", server.endpoint]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.send_signal(getattr(signal, name))
        assert process.communicate() == ("", "")
        assert process.returncode == code
    client = RawClient("127.0.0.1", server.port)
    assert client.send("GET", "/_hashrange/v1/snapshots", {}, b"").json() == {"snapshots": []}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="signals end otherwise there")
def test_a_signal_that_is_ignored_ends_nothing(server: ServerProcess, tmp_path: Path) -> None:
    """So does nohup."""
    path = tmp_path / "music.snapshot"
    held = HELD_SNAPSHOT.replace("signal.pause()", "os.kill(os.getpid(), signal.SIGHUP)")
    program = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); {held}"
    command = [sys.executable, "-c", program, "snapshot", str(path), "--endpoint", server.endpoint]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert path.exists()


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
