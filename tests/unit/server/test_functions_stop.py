"""A server that stops ends what its functions run, answers their clients,
and counts no batch as failed because of that.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.clock import SystemClock
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.server import listener
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from tests.support.function_servers import PYTHON, ROLE, STREAM, FunctionServer, environment_of, processes, zip_of
from tests.support.servers import ThreadServer
from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

ENDLESS = """
import time

def handler(event, context):
    open("PATH", "a").write("x")
    while True: time.sleep(1)
"""
TRIGGERS = """
[destinations]
"arn:aws:s3:::failed" = { file = "FAILED" }
"""


class StoppingServer:
    """A server in this process, with a store on disk, whose invocations end as soon as it stops."""

    def __init__(self, folder: Path) -> None:
        self.begun = folder / "begun"
        self.failed = folder / "failed"
        self.data_dir = folder / "data"
        triggers = folder / "triggers.toml"
        triggers.write_text(TRIGGERS.replace("FAILED", str(self.failed)))
        settings = Settings(port=0, data_dir=str(self.data_dir), functions=True, triggers=str(triggers))
        self._server = ThreadServer(
            lambda: open_store(str(self.data_dir), SystemClock(), None), ALL_OPERATIONS, settings=settings
        )
        self.functions, self.tables = (
            boto3.client(
                name, endpoint_url=self._server.endpoint, region_name=REGION, aws_access_key_id=ACCESS_KEY,
                aws_secret_access_key=SECRET_KEY,
                config=Config(retries={"total_max_attempts": 1}, read_timeout=2 * PATIENCE_SECONDS),
            )
            for name in ("lambda", "dynamodb")
        )  # fmt: skip

    def create(self, code: str) -> None:
        """Create a function that may run for a long time."""
        self.functions.create_function(
            FunctionName="f",
            Runtime=PYTHON,
            Role=ROLE,
            Handler="app.handler",
            Code={"ZipFile": zip_of(app_py=code)},
            Timeout=900,
        )

    def environments(self) -> list[int]:
        """The processes of its functions."""
        mark = f"AWS_ENDPOINT_URL_DYNAMODB={self._server.endpoint}".encode()
        return [pid for pid in processes() if mark in environment_of(pid)]

    def stop(self) -> None:
        """Stop it; nothing of its functions is left."""
        self._server.stop()
        assert self._server._failure is None
        self.functions.close()
        self.tables.close()
        assert self.environments() == []


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoppingServer]:
    """A server that the test stops."""
    monkeypatch.setattr(listener, "STOP_FUNCTIONS_SECONDS", 0.0)
    monkeypatch.setenv("PATH", os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield StoppingServer(tmp_path)
    assert not list(tmp_path.glob("hashrange-functions-*"))


def in_thread(function: Callable[[], Any]) -> tuple[Thread, list[Any]]:
    """Call a function in a thread; the list gets its result, or its error."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(function())
        except ClientError as error:
            results.append(error)

    thread = Thread(target=run)
    thread.start()
    return thread, results


def test_an_invocation_is_ended_and_answered(server: StoppingServer) -> None:
    server.create(ENDLESS.replace("PATH", str(server.begun)))
    thread, results = in_thread(lambda: json.load(server.functions.invoke(FunctionName="f")["Payload"]))
    wait_until(server.begun.exists)
    server.stop()
    thread.join()
    assert results[0]["errorType"] == "Runtime.ExitError"


def test_a_creation_that_does_not_end_is_refused(server: StoppingServer) -> None:
    thread, results = in_thread(lambda: server.create("import re\nre.match('(a+)+$', 'a' * 64 + 'b')"))
    wait_until(server.environments)
    server.stop()
    thread.join()
    assert isinstance(results[0], ClientError)
    assert "Runtime.ExitError" in str(results[0])


def test_a_batch_that_is_at_its_function_has_not_failed(server: StoppingServer) -> None:
    table: Any = {
        "TableName": "source", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}], "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": STREAM,
    }  # fmt: skip
    stream = server.tables.create_table(**table)["TableDescription"]["LatestStreamArn"]
    server.create(ENDLESS.replace("PATH", str(server.begun)))
    server.functions.create_event_source_mapping(
        EventSourceArn=stream, FunctionName="f", StartingPosition="TRIM_HORIZON", MaximumRetryAttempts=0,
        DestinationConfig={"OnFailure": {"Destination": "arn:aws:s3:::failed"}},
    )  # fmt: skip
    server.tables.put_item(TableName="source", Item={"pk": {"S": "a"}})
    wait_until(server.begun.exists)
    thread, _ = in_thread(lambda: server.functions.invoke(FunctionName="f"))
    wait_until(lambda: server.begun.read_text() == "xx")
    server.stop()
    thread.join()
    assert not server.failed.exists()
    store = open_store(str(server.data_dir), SystemClock(), None)
    try:
        assert len(store.documents.below("mapping/")) == 1
        assert store.documents.below("checkpoint/") == []
        assert store.documents.below("processing-result/") == []
    finally:
        store.close_now()


def test_a_declared_function_that_does_not_load_delays_nothing(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("while True: pass")
    triggers = tmp_path / "triggers.toml"
    triggers.write_text(f"[functions.endless]\ncode = '{tmp_path}'\nhandler = 'app.handler'\ntimeout = 900\n")
    server = FunctionServer(tmp_path, "--triggers", str(triggers))
    try:
        wait_until(server.environments)  # the server has said that it is ready
        assert server.call("ListTables", {}).status == 200
    finally:
        server.stop()
    assert server.environments() == []
    assert list(server.temporary.iterdir()) == []
    assert " ERROR " not in server.log()
