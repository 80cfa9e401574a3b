"""How is a server measured that runs functions? It is started with them, its functions write to a pipe,
and its tables have streams.
"""

import io
import json
import os
import select
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from benchmarks.generator import LoadFailed
from benchmarks.peers import need
from benchmarks.processes import TICKS_PER_SECOND, Cores, machine_busy_seconds, stat_fields
from benchmarks.running import Running, running
from benchmarks.servers import BY_NAME, Contender, Launch
from benchmarks.signing import ACCESS_KEY, REGION, SECRET_KEY
from benchmarks.triggers.targets import Kind, Language

HANDLERS = Path(__file__).with_name("handlers")
FILES = {"Python": "measured.py", "Node": "measured.mjs"}
RUNTIMES = {"Python": f"python3.{sys.version_info.minor}", "Node": "nodejs20.x"}
NOT_PINNED = Cores("", "")
QUIET_SECONDS, QUIET_SECONDS_MAX = 0.3, 30.0
"""Time without a note after which no more is expected, or is missed."""
CORES = os.cpu_count() or 1


class Note(NamedTuple):
    """What the handler `note` writes when it begins."""

    at_seconds: float
    records: int


class Notes:
    """A named pipe to which handlers write, and what has been read from it."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._unread = b""
        self._notes: list[Note] = []

    def next(self, seconds_max: float = QUIET_SECONDS_MAX) -> Note:
        """The next note. Raises LoadFailed if none comes in this time."""
        while not self._notes:
            if not select.select([self._descriptor], [], [], seconds_max)[0]:
                raise LoadFailed(f"no handler began for {seconds_max:g} s")
            *lines, self._unread = (self._unread + os.read(self._descriptor, 1 << 16)).split(b"\n")
            self._notes += [Note(float(at), int(records)) for at, records in map(bytes.split, lines)]
        return self._notes.pop(0)

    def drain(self) -> None:
        """Forget all notes, once none has come for a while."""
        self._notes.clear()
        while select.select([self._descriptor], [], [], QUIET_SECONDS)[0]:
            os.read(self._descriptor, 1 << 16)
        self._unread = b""

    def close(self) -> None:
        """Close the pipe."""
        os.close(self._descriptor)


class TriggerServer:
    """A running server with functions."""

    def __init__(self, server: Running, notes: Notes) -> None:
        self.server, self.notes = server, notes
        self.client = server.client
        keys = {"aws_access_key_id": ACCESS_KEY, "aws_secret_access_key": SECRET_KEY, "region_name": REGION}
        endpoint = f"http://127.0.0.1:{server.port}"
        config = Config(retries={"total_max_attempts": 1})
        self._functions: Any = boto3.client("lambda", endpoint_url=endpoint, config=config, **keys)

    def _call(self, operation: str, **members: Any) -> Any:
        """Call an operation of Lambda's API by its name in boto3. Raises LoadFailed."""
        try:
            return getattr(self._functions, operation)(**members)
        except (ClientError, BotoCoreError) as error:
            raise LoadFailed(str(error)) from error

    def create_table(self, name: str) -> str:
        """Create an on-demand table with the key `pk` and a stream of both images; returns the stream's ARN."""
        reply = self.client.call(
            "CreateTable",
            {
                "TableName": name,
                "BillingMode": "PAY_PER_REQUEST",
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
            },
        )
        return str(reply["TableDescription"]["LatestStreamArn"])

    def create_function(self, name: str, language: Language, handler: str) -> None:
        """Create a function with a handler of `handlers`, as a zip. Raises NotInstallable, LoadFailed."""
        if language == "Node":
            need("node", "a function in JavaScript")
        zipped = io.BytesIO()
        with zipfile.ZipFile(zipped, "w") as archive:
            archive.write(HANDLERS / FILES[language], FILES[language])
        self._call(
            "create_function",
            FunctionName=name,
            Runtime=RUNTIMES[language],
            Handler=f"measured.{handler}",
            Role=f"arn:aws:iam::000000000000:role/{name}",
            Timeout=30,
            Code={"ZipFile": zipped.getvalue()},
            Environment={"Variables": {"NOTES": str(self.notes.path)}},
        )

    def create_mapping(self, function: str, stream_arn: str, **members: Any) -> str:
        """Map a stream to a function from its beginning; returns the mapping's UUID."""
        reply = self._call(
            "create_event_source_mapping",
            FunctionName=function,
            EventSourceArn=stream_arn,
            StartingPosition="TRIM_HORIZON",
            **members,
        )
        return str(reply["UUID"])

    def delete_mapping(self, uuid: str) -> None:
        """Delete a mapping."""
        self._call("delete_event_source_mapping", UUID=uuid)

    def invoke(self, function: str, event: Any) -> Any:
        """What a function returns. Raises LoadFailed if it fails."""
        reply = self._call("invoke", FunctionName=function, Payload=json.dumps(event))
        payload = reply["Payload"].read()
        if "FunctionError" in reply:
            raise LoadFailed(f"the function failed: {payload[:300]!r}")
        return json.loads(payload)

    def end_environment(self, function: str) -> None:
        """Let a function with the handler `begin` end its process. Raises LoadFailed."""
        reply = self._call("invoke", FunctionName=function, Payload=b'{"ends": true}')
        if "FunctionError" not in reply:
            raise LoadFailed("the function did not end its process")

    def own_cpu_seconds(self) -> float:
        """User and system time of the server's own process, without environments; steps of 10 ms."""
        return sum(map(int, stat_fields(self.server.process.family()[0])[11:13])) / TICKS_PER_SECOND


def with_functions(kind: Kind, declared: str) -> Contender:
    """The server of this checkout with functions, and a file of triggers with this content."""
    base = BY_NAME[f"ours-{kind}"]

    def launch(port: int, folder: Path) -> Launch:
        file = folder / "triggers.toml"
        file.write_text(declared, encoding="utf-8")
        launched = base.launch(port, folder)
        return launched._replace(command=[*launched.command, "--functions", "--triggers", str(file)])

    return base._replace(launch=launch)


@contextmanager
def serving(kind: Kind, declared: str = "") -> Iterator[TriggerServer]:
    """Start a server that runs functions. Raises LoadFailed."""
    with running(with_functions(kind, declared), NOT_PINNED) as server:
        notes = Notes(server.folder / "notes")
        try:
            yield TriggerServer(server, notes)
        finally:
            notes.close()


class Meanwhile:
    """How much of the machine did others use since this object was made?"""

    def __init__(self, server: Running) -> None:
        self._server = server
        self._began_seconds, self._busy_seconds, self._own_seconds = self._read()

    def _read(self) -> tuple[float, float, float]:
        own = os.times()
        own_seconds = own.user + own.system + own.children_user + own.children_system
        return time.perf_counter(), machine_busy_seconds(), own_seconds + self._server.process.cpu_seconds()

    def other_share(self) -> float:
        """CPU time of everything but the server, its environments and this process, as a share of all cores."""
        at_seconds, busy_seconds, own_seconds = self._read()
        others_seconds = busy_seconds - self._busy_seconds - (own_seconds - self._own_seconds)
        return max(0.0, others_seconds) / ((at_seconds - self._began_seconds) * CORES)
