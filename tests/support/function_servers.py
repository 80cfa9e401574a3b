"""A server with functions in a process of its own, clients of it, and a look at what its functions leave behind."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

import boto3
from botocore.config import Config

from tests.support.prepared.starts import COMMAND, start_hashrange
from tests.support.raw_client import RawClient
from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY
from tests.support.waiting import PATIENCE_SECONDS

PYTHON = f"python3.{sys.version_info.minor}"
ROLE = "arn:aws:iam::000000000000:role/handlers"
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


class FunctionServer:
    """`hashrange serve --functions --admin` on a free port, in memory unless `arguments` say otherwise."""

    def __init__(self, folder: Path, *arguments: str, data_dir: Path | None = None, has_functions: bool = True) -> None:
        """`folder`: where its temporary files and its log go."""
        self.temporary = folder / "temporary"
        self.temporary.mkdir(exist_ok=True)
        place = ["--in-memory"] if data_dir is None else ["--data-dir", str(data_dir)]
        options = [*place, *(["--functions"] if has_functions else []), *arguments]
        command = [*COMMAND, "serve", "--port", "0", "--admin", *options]
        own_python = os.path.dirname(sys.executable)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PATH": os.pathsep.join([own_python, os.environ["PATH"]]),
            "TMPDIR": str(self.temporary),
        }
        self._log_path = folder / "log"
        with self._log_path.open("a") as log:
            self.process = start_hashrange(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"(http://127\.0\.0\.1:(\d+))", line)
        assert found, line or self.log()
        self.endpoint, self.port = found[1], int(found[2])
        self.call = RawClient("127.0.0.1", self.port)
        self.functions = self.client("lambda")

    def client(self, service: str, endpoint: str | None = None, **members: Any) -> Any:
        """A boto3 client without retries, of this server or of a fork's endpoint."""
        usual: dict[str, Any] = {
            "region_name": REGION,
            "aws_access_key_id": ACCESS_KEY,
            "aws_secret_access_key": SECRET_KEY,
            "config": Config(
                retries={"total_max_attempts": 1}, read_timeout=2 * PATIENCE_SECONDS, max_pool_connections=64
            ),
        }
        return boto3.client(service, endpoint_url=endpoint or self.endpoint, **usual | members)

    def log(self) -> str:
        """What the server has reported."""
        return self._log_path.read_text()

    # --- ends -----------------------------------------------------------------------------------

    def kill(self) -> None:
        """Kill the server without warning."""
        self.process.kill()
        self._end()

    def stop(self) -> None:
        """Stop the server by a signal; it must not fail."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self._end()
            assert self.process.returncode == 0, self.log()

    def _end(self) -> None:
        self.process.wait(2 * PATIENCE_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.functions.close()

    # --- requests -------------------------------------------------------------------------------

    def create(self, name: str, code: str, **members: Any) -> Any:
        """Create a function with this app.py."""
        usual: dict[str, Any] = {
            "FunctionName": name, "Runtime": PYTHON, "Role": ROLE, "Handler": "app.handler", "Timeout": 60,
            "Code": {"ZipFile": zip_of(app_py=code)},
        }  # fmt: skip
        return self.functions.create_function(**usual | members)

    def invoke(self, name: str, event: Any = None, **members: Any) -> tuple[str | None, Any]:
        """FunctionError, and what the function returns."""
        reply = self.functions.invoke(FunctionName=name, Payload=json.dumps(event), **members)
        payload = reply["Payload"].read()
        return reply.get("FunctionError"), json.loads(payload) if payload else None

    def make_table(self, name: str) -> str:
        """Create a table with a stream; returns the stream's ARN."""
        request = {
            "TableName": name,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "BillingMode": "PAY_PER_REQUEST",
            "StreamSpecification": STREAM,
        }
        reply = self.call("CreateTable", request)
        assert reply.status == 200, reply
        return str(reply.json()["TableDescription"]["LatestStreamArn"])

    def put(self, table: str, key: str, **numbers: int) -> None:
        """Put an item."""
        item = {"pk": {"S": key}, **{name: {"N": str(number)} for name, number in numbers.items()}}
        reply = self.call("PutItem", {"TableName": table, "Item": item})
        assert reply.status == 200, reply

    def map(self, function: str, stream_arn: str, **members: Any) -> str:
        """Connect a stream with a function; returns the mapping's UUID."""
        usual = {"StartingPosition": "TRIM_HORIZON", "FunctionName": function, "EventSourceArn": stream_arn}
        return str(self.functions.create_event_source_mapping(**usual | members)["UUID"])

    def administer(self, path: str, body: dict[str, Any] | None = None, method: str = "POST") -> Any:
        """What the admin API returns."""
        request = Request(f"{self.endpoint}/_hashrange/v1/{path}", json.dumps(body or {}).encode(), method=method)
        with urlopen(request, timeout=2 * PATIENCE_SECONDS) as reply:
            return json.load(reply)

    # --- what is left behind --------------------------------------------------------------------

    def environments(self, endpoint: str | None = None) -> list[int]:
        """The processes that handlers of this server, or of a fork, run in or have started; on Linux only."""
        mark = f"AWS_ENDPOINT_URL_DYNAMODB={endpoint or self.endpoint}".encode()
        return [pid for pid in processes() if mark in environment_of(pid)]

    def code_folders(self) -> list[str]:
        """The folders of unpacked code."""
        return [path.name for root in self.temporary.glob("hashrange-functions-*") for path in root.iterdir()]


class Invoking(Thread):
    """An invocation that runs meanwhile; `result` is what `FunctionServer.invoke` returns, or an error."""

    def __init__(self, server: FunctionServer, name: str, event: Any = None) -> None:
        super().__init__(daemon=True)
        self._server, self._name, self._event = server, name, event
        self.result: Any = None
        self.start()

    def run(self) -> None:
        try:
            self.result = self._server.invoke(self._name, self._event)
        except Exception as error:
            self.result = error

    def end(self) -> Any:
        """Wait for the result."""
        self.join(2 * PATIENCE_SECONDS)
        assert not self.is_alive(), f"the invocation of {self._name} does not end"
        return self.result


def zip_of(**files: str) -> bytes:
    """A zip of files: `app_py="…"` is app.py."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(".".join(name.rsplit("_", 1))), text)
    return buffer.getvalue()


def processes() -> list[int]:
    """All processes of this machine; none where there is no /proc."""
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def environment_of(pid: int) -> list[bytes]:
    """The environment that a process started with; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
