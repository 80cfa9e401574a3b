"""The container's image, without a container engine: the Dockerfile's steps are run,
and what they make is started as it says.

Root, mmdebstrap and util-linux are needed; see tests/support/image_building.py.
DynamoDB Local's documentation has the compose file whose settings are used here:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.DownloadingAndRunning.html
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.containers import Container
from tests.support.dockerfile import Image
from tests.support.image_building import ROOT, Build, compressed_bytes, folder_in_memory, reason_against

pytestmark = pytest.mark.packaging

IMAGE_BYTES_MAX = 80_000_000
USER_ID = 10001
ROOT_USER = "0:0"
HOME = "/home/dynamodblocal"
BOTO3 = """
import boto3, json
client = boto3.client("dynamodb", endpoint_url="http://127.0.0.1:8000", region_name="us-east-1",
                      aws_access_key_id="key", aws_secret_access_key="secret")
def call(operation, **members):
    return client._make_api_call(operation, members)
"""
RAW = f"""
import json, sys
sys.path.insert(0, {str(ROOT)!r})
from tests.support.raw_client import RawClient
client = RawClient("127.0.0.1", 8000)
def call(operation, **members):
    reply = client(operation, members)
    assert reply.status == 200, reply
    return reply.json()
"""
"""Starts in a tenth of the time that boto3 takes."""
LIST = RAW + 'print(json.dumps(call("ListTables")["TableNames"]))'
WRITE_AND_READ = """
call("CreateTable", TableName="Notes", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
     AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}], BillingMode="PAY_PER_REQUEST")
call("PutItem", TableName="Notes", Item={"id": {"S": "one"}})
print(json.dumps(call("Scan", TableName="Notes")["Items"]))
"""


class Built(NamedTuple):
    """The file system of the image, and what the Dockerfile says of its start."""

    root: Path
    image: Image

    def start(
        self,
        arguments: list[str] | None = None,
        user: str | None = None,
        folder: str | None = None,
        variables: dict[str, str] | None = None,
    ) -> Container:
        return Container(self.root, self.image, arguments, user=user, folder=folder, variables=variables)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """The image, made by the steps of the Dockerfile."""
    if reason := reason_against():
        pytest.skip(reason)
    with folder_in_memory(tmp_path_factory.mktemp("image")) as folder:
        build = Build(folder)
        yield Built(build.run(), build.image)


def write_and_read(container: Container, client: str = RAW) -> None:
    """Write an item, and read it back."""
    assert json.loads(container.client(client + WRITE_AND_READ)) == [{"id": {"S": "one"}}]


def test_it_is_small(built: Built) -> None:
    size_bytes = compressed_bytes(built.root)
    print(f"\nThe image has {size_bytes / 1e6:.1f} MB, compressed.")
    assert size_bytes <= IMAGE_BYTES_MAX


def test_it_has_what_serving_needs_compiled_and_nothing_of_the_build(built: Built) -> None:
    packages = built.root / "opt/hashrange/lib/python3.11/site-packages"
    code = packages / "hashrange"
    sources = {path.relative_to(code).with_suffix("") for path in code.rglob("*.py")}
    compiled = {
        path.relative_to(code).parent.parent / path.name.split(".")[0] for path in code.rglob("__pycache__/*.pyc")
    }
    assert len(sources) > 500
    assert sources == compiled
    for name in ("pip", "setuptools", "hatchling"):
        assert not (packages / name).exists()
    for folder in ("build", "var/cache/apt/archives/partial", "var/lib/apt/lists", "usr/share/doc"):
        assert not any((built.root / folder).glob("*")), folder


def test_it_serves_durably_and_not_as_root(built: Built) -> None:
    with built.start() as container:
        container.wait()
        health = container.run(built.image.health_command)
        assert (health.returncode, health.stderr) == (0, "")
        write_and_read(container, BOTO3)
        users = container.processes()
        assert set(users) == {"tini", "hashrange"}
        assert set(users.values()) == {USER_ID}
        assert container.stop() == (0, "")
    assert built.image.volumes == ["/data"]
    written = list((built.root / "data").rglob("*"))
    assert any(path.suffix == ".log" for path in written)
    assert {(path.stat().st_uid, path.stat().st_gid) for path in written} == {(USER_ID, USER_ID)}


JAR = ["-jar", "DynamoDBLocal.jar"]
LIBRARIES = "-Djava.library.path=./DynamoDBLocal_lib"
COMMANDS = {
    "its default": ([*JAR, "-inMemory"], None, None, None),
    "shared and in memory": ([*JAR, "-sharedDb", "-inMemory"], None, None, None),
    "with libraries": ([LIBRARIES, *JAR, "-sharedDb", "-dbPath", "./data"], None, None, "data/data"),
    "in its folder": ([*JAR, "-sharedDb", "-dbPath", f"{HOME}/data"], None, None, "home/dynamodblocal/data"),
    "from its folder": ([*JAR, "-sharedDb", "-dbPath", "./data"], None, HOME, "home/dynamodblocal/data"),
    "the documented compose file": (
        [*JAR, "-sharedDb", "-dbPath", "./data"],
        ROOT_USER,
        HOME,
        "home/dynamodblocal/data",
    ),
    "without a folder": ([*JAR, "-sharedDb"], None, None, "data"),
}
"""DynamoDB Local's commands: arguments, user and folder of the container, and where the data is (None: in memory)."""


@pytest.mark.parametrize("name", COMMANDS)
def test_dynamodb_local_s_commands_work_unchanged(built: Built, name: str) -> None:
    arguments, user, folder, place = COMMANDS[name]
    with built.start(arguments, user, folder) as container:
        container.wait("Initializing DynamoDB Local")  # for which wait strategies look
        write_and_read(container)
        assert container.stop() == (0, "")
    folders = ["data", "home/dynamodblocal/data", "data/data"]
    filled = {one for one in folders if (built.root / one / "engine").exists()}
    assert filled == ({place} if place else set())


def test_tables_of_the_folder_init_are_there_at_the_start(built: Built) -> None:
    request = {
        "TableName": "Begun",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    file = built.root / "init" / "begun.json"
    file.write_text(json.dumps(request), encoding="utf-8")
    try:
        with built.start() as container:
            container.wait()
            assert json.loads(container.client(LIST)) == ["Begun"]
            assert container.stop()[0] == 0
    finally:
        file.unlink()


def test_the_health_check_sees_a_server_on_another_port_and_the_lack_of_one(built: Built) -> None:
    with built.start(variables={"HASHRANGE_PORT": "9000"}) as container:
        container.wait()
        assert container.run(built.image.health_command).returncode == 0
        container.environment["HASHRANGE_PORT"] = "9001"
        ended = container.run(built.image.health_command)
        assert ended.returncode == 1
        assert "Connection refused" in ended.stderr
        assert container.stop() == (0, "")


def test_process_1_reaps_what_others_leave_behind(built: Built) -> None:
    with built.start() as container:
        container.wait()
        container.reap_orphan()


def test_a_wrong_command_is_refused_with_its_exit_code(built: Built) -> None:
    with built.start([*JAR, "-no-such-flag"]) as container:
        code, said = container.end()
    assert code == 2
    assert said.startswith("hashrange: -no-such-flag is no flag of DynamoDB Local that Hashrange understands;")


def test_the_linter_has_nothing_to_say() -> None:
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if hadolint is None:
        pytest.skip("hadolint is not installed; `make test` installs it where it exists")
    ended = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "")
