"""The whole server as a process: it prints its endpoint, serves, and on a signal ends cleanly and keeps its data."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.raw_client import RawClient

SOURCES = Path(__file__).parents[3] / "src"
PROGRAM = """
import sys
from hashrange.server.app import run
from hashrange.settings import Settings

run(Settings(port=0, data_dir=sys.argv[1] or None), lambda endpoint, _: print(endpoint, flush=True))
"""
TABLE = {
    "TableName": "music", "BillingMode": "PAY_PER_REQUEST", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
}  # fmt: skip


class Process:
    """A server in its own process."""

    def __init__(self, data_dir: str) -> None:
        command = [sys.executable, "-c", PROGRAM, data_dir]
        environment = {**os.environ, "PYTHONPATH": str(SOURCES)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stdout is not None
        port = int(self.process.stdout.readline().rpartition(":")[2])
        self.raw = RawClient("127.0.0.1", port)

    def end(self, name: signal.Signals) -> tuple[int, str]:
        """Send the signal; return the exit status and standard error."""
        self.process.send_signal(name)
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_cleanly_and_the_next_one_has_its_data(tmp_path: Path, name: signal.Signals) -> None:
    first = Process(str(tmp_path / "data"))
    assert first.raw("CreateTable", TABLE).status == 200
    assert first.raw("PutItem", {"TableName": "music", "Item": {"pk": {"S": "a"}}}).status == 200
    assert first.end(name) == (0, "")
    second = Process(str(tmp_path / "data"))
    assert second.raw("GetItem", {"TableName": "music", "Key": {"pk": {"S": "a"}}}).json() == {
        "Item": {"pk": {"S": "a"}}
    }
    assert second.end(name) == (0, "")
