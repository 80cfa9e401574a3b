"""Functions, mappings, checkpoints and queued events survive restarts, are in snapshots and forks,
and are gone after a reset, with all that ran for them.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from botocore.exceptions import ClientError

from tests.support.function_servers import FunctionServer, Invoking, zip_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

HANDLER = """
import json, os, time
from urllib.request import Request, urlopen

PORT = os.environ["AWS_ENDPOINT_URL_DYNAMODB"].rpartition(":")[2]

def put(key):
    body = json.dumps({"TableName": "results", "Item": {"pk": {"S": key}}}).encode()
    credential = os.environ["AWS_ACCESS_KEY_ID"] + "/20260101/us-east-1/dynamodb/aws4_request"
    signature = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=" + 64 * "0"
    date = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    headers = {"X-Amz-Target": "DynamoDB_20120810.PutItem", "Content-Type": "application/x-amz-json-1.0",
               "Authorization": signature.replace("20260101", date[:8]), "X-Amz-Date": date}
    urlopen(Request(os.environ["AWS_ENDPOINT_URL_DYNAMODB"], body, headers)).close()

def see(text):
    file = os.open("SEEN", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, (text + "\\n").encode())
    os.close(file)

def handler(event, context):
    if event == "port":
        return PORT
    if event == "fail":
        see("failed")
        raise ValueError("no")
    if isinstance(event, str):
        see("begun")
        while not os.path.exists(event): time.sleep(0.001)
        put("from " + event)
        return
    for record in event["Records"]:
        key = record["dynamodb"]["Keys"]["pk"]["S"]
        if key.startswith("/"):
            see("begun")
            while not os.path.exists(key): time.sleep(0.001)
        see(key)
"""


class World:
    """Where handlers tell what they see, and servers of this test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen_path = folder / "seen"
        self.code = HANDLER.replace("SEEN", str(self.seen_path))
        self.servers: list[FunctionServer] = []

    def start(self, *arguments: str, **members: Any) -> FunctionServer:
        """Start a server, which is stopped in the end."""
        server = FunctionServer(self.folder, *arguments, **members)
        self.servers.append(server)
        return server

    def seen(self) -> list[str]:
        """What handlers have told since the last call."""
        text = self.seen_path.read_text() if self.seen_path.exists() else ""
        return text.split()

    def make(self, server: FunctionServer) -> str:
        """Create tables, a function and a mapping that has delivered a record; returns the mapping's UUID."""
        stream = server.make_table("source")
        server.make_table("results")
        server.create("follow", self.code)
        uuid = server.map("follow", stream, BatchSize=1)
        server.put("source", "first")
        wait_until(lambda: self.seen() == ["first"])
        wait_until(lambda: last_result(server, uuid) == "OK")
        return uuid


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world whose servers have left nothing in the end."""
    world = World(tmp_path)
    try:
        yield world
    finally:
        for server in world.servers:
            server.stop()
    for server in world.servers:
        assert server.environments() == []
        assert list(server.temporary.iterdir()) == []
        assert " ERROR " not in server.log()


def last_result(server: FunctionServer, uuid: str, functions: Any = None) -> str:
    """LastProcessingResult of a mapping."""
    return str((functions or server.functions).get_event_source_mapping(UUID=uuid)["LastProcessingResult"])


def test_restarts_change_nothing(world: World) -> None:
    data_dir = world.folder / "data"
    server = world.start(data_dir=data_dir)
    uuid = world.make(server)
    assert server.invoke("follow", "fail", InvocationType="Event") == (None, None)
    wait_until(lambda: world.seen() == ["first", "failed"])
    before = server.functions.get_function_configuration(FunctionName="follow")
    mapping = server.functions.get_event_source_mapping(UUID=uuid)
    server.stop()

    without = world.start(data_dir=data_dir, has_functions=False)
    with pytest.raises(ClientError, match="--functions"):
        without.functions.list_functions()
    without.put("source", "meanwhile")
    without.stop()

    server = world.start(data_dir=data_dir)
    wait_until(lambda: world.seen() == ["first", "failed", "meanwhile"])
    after = server.functions.get_function_configuration(FunctionName="follow")
    assert without_metadata(after) == without_metadata(before)
    assert without_metadata(server.functions.get_event_source_mapping(UUID=uuid)) == without_metadata(mapping)
    with urlopen(server.functions.get_function(FunctionName="follow")["Code"]["Location"]) as reply:
        assert reply.read() == zip_of(app_py=world.code)
    server.administer("clock/advance", {"seconds": 60})
    assert world.seen() == ["first", "failed", "meanwhile", "failed"]


def test_a_snapshot_file_holds_functions_and_checkpoints(world: World) -> None:
    server = world.start()
    uuid = world.make(server)
    file = world.folder / "snapshot"
    subprocess.run(
        [sys.executable, "-m", "hashrange", "snapshot", str(file), "--endpoint", server.endpoint],
        check=True, env={"PYTHONPATH": ":".join(sys.path), "PATH": ""}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    server.stop()
    other = world.start("--snapshot", str(file))
    assert last_result(other, uuid) == "OK"
    other.put("source", "second")
    wait_until(lambda: world.seen() == ["first", "second"])
    assert other.invoke("follow", "port") == (None, str(other.port))


def test_a_fork_has_functions_of_its_own(world: World) -> None:
    server = world.start()
    uuid = world.make(server)
    fork = server.administer("forks")
    functions, tables = (server.client(name, fork["endpoint"]) for name in ("lambda", "dynamodb"))
    assert functions.invoke(FunctionName="follow", Payload=b'"port"')["Payload"].read() == f'"{fork["port"]}"'.encode()
    assert server.invoke("follow", "port") == (None, str(server.port))
    tables.put_item(TableName="source", Item={"pk": {"S": "in-fork"}})
    wait_until(lambda: world.seen() == ["first", "in-fork"])
    functions.delete_function(FunctionName="follow")
    functions.delete_event_source_mapping(UUID=uuid)
    server.put("source", "in-server")
    wait_until(lambda: world.seen() == ["first", "in-fork", "in-server"])
    functions.create_function(
        FunctionName="new", Runtime=f"python3.{sys.version_info.minor}", Role="arn:aws:iam::000000000000:role/r",
        Handler="app.handler", Code={"ZipFile": zip_of(app_py=world.code)},
    )  # fmt: skip
    assert server.environments(fork["endpoint"])
    server.administer(f"forks/{fork['port']}", method="DELETE")
    assert server.environments(fork["endpoint"]) == []
    assert [one["FunctionName"] for one in server.functions.list_functions()["Functions"]] == ["follow"]
    functions.close()
    tables.close()


def test_a_reset_ends_what_runs(world: World) -> None:
    server = world.start()
    world.make(server)
    go = world.folder / "go"
    invoking = Invoking(server, "follow", str(go))
    wait_until(lambda: world.seen()[1:] == ["begun"])
    server.put("source", str(go))
    wait_until(lambda: world.seen()[1:] == ["begun", "begun"])
    server.administer("reset")
    kind, error = invoking.end()
    assert (kind, error["errorType"]) == ("Unhandled", "Runtime.ExitError")
    wait_until(lambda: not server.environments() and not server.code_folders())
    assert server.functions.list_functions()["Functions"] == []
    assert server.functions.list_event_source_mappings()["EventSourceMappings"] == []
    go.touch()
    server.make_table("source")
    server.make_table("results")
    server.put("source", "later")
    server.administer("clock/advance", {"seconds": 3600})
    assert server.call("Scan", {"TableName": "results"}).json()["Count"] == 0
    assert world.seen() == ["first", "begun", "begun"]


def test_a_restore_brings_functions_and_checkpoints_back(world: World) -> None:
    server = world.start()
    uuid = world.make(server)
    snapshot = server.administer("snapshots")["snapshot"]
    go = world.folder / "go"
    for key in ("second", str(go)):
        server.put("source", key)
    wait_until(lambda: world.seen() == ["first", "second", "begun"])
    server.functions.update_function_code(
        FunctionName="follow", ZipFile=zip_of(app_py="def handler(event, context): return 0")
    )
    assert server.invoke("follow", "port") == (None, 0)
    server.administer(f"snapshots/{snapshot}/restore")
    go.touch()  # the invocation from before has been ended
    assert last_result(server, uuid) == "OK"
    assert server.invoke("follow", "port") == (None, str(server.port))
    keys = [f"after{number}" for number in range(5)]
    for key in keys:
        server.put("source", key)
    wait_until(lambda: world.seen() == ["first", "second", "begun", *keys])
    server.administer(f"snapshots/{snapshot}/restore")
    server.put("source", "again")
    wait_until(lambda: world.seen() == ["first", "second", "begun", *keys, "again"])


def test_a_declared_function_and_its_mapping_outlive_a_reset(world: World) -> None:
    (world.folder / "app.py").write_text(world.code)
    triggers = world.folder / "triggers.toml"
    triggers.write_text(
        f"[functions.declared]\ncode = '{world.folder}'\nhandler = 'app.handler'\n[[mapping]]\ntable = 'source'\n"
        "function = 'declared'\n"
    )
    server = world.start("--triggers", str(triggers))
    for key in ("first", "second"):
        server.make_table("source")
        server.put("source", key)
        wait_until(lambda key=key: world.seen()[-1:] == [key])  # type: ignore[misc]
        server.administer("reset")
        wait_until(lambda: not server.environments())
    assert world.seen() == ["first", "second"]
    assert server.invoke("declared", "port") == (None, str(server.port))


def without_metadata(reply: dict[str, Any]) -> dict[str, Any]:
    """A reply without botocore's own member."""
    return {name: member for name, member in reply.items() if name != "ResponseMetadata"}
