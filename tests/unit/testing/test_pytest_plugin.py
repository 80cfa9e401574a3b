"""The fixtures that a suite gets from the plugin, in a pytest of its own."""

import os
import re
import socket
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.unit.testing.suites import NO_OTHER_PLUGINS, SOURCE, command_of, run_pytest

MEETING_SECONDS = 60
"""It only ends a test that would hang."""

TABLE = """
import pytest

def create(client, name="Music"):
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
"""
EMPTY = (
    TABLE
    + """
@pytest.mark.parametrize("number", range(3))
def test_each_begins_empty(number, hashrange, dynamodb_client, dynamodb_resource):
    assert dynamodb_client.list_tables()["TableNames"] == []
    assert list(dynamodb_resource.tables.all()) == []
    create(dynamodb_client)
    hashrange.clock.freeze()
    hashrange.clock.advance(3600)
    dynamodb_resource.Table("Music").put_item(Item={"pk": str(number)})

@pytest.fixture
def music(dynamodb_client):
    create(dynamodb_client)
    yield
    raise RuntimeError

def test_fails(dynamodb_client, hashrange):
    create(dynamodb_client)
    hashrange.clock.freeze()
    assert False

def test_passes_after_one_that_failed(music):
    pass

def test_passes_after_one_whose_fixture_failed(dynamodb_client):
    assert dynamodb_client.list_tables()["TableNames"] == []
    create(dynamodb_client)
"""
)
BASE = (
    TABLE
    + """
@pytest.fixture(scope="session")
def hashrange_base(hashrange_database):
    create(hashrange_database.client())
    hashrange_database.resource().Table("Music").put_item(Item={"pk": "base"})

@pytest.mark.parametrize("number", range(3))
def test_each_begins_with_the_base_data(number, dynamodb_resource):
    table = dynamodb_resource.Table("Music")
    assert [item["pk"] for item in table.scan()["Items"]] == ["base"]
    table.delete_item(Key={"pk": "base"})
    create(dynamodb_resource.meta.client, "Other")
"""
)
TOGETHER = (
    TABLE
    + """
import os, socket
import boto3

def meet(name):
    # Returns when the other worker has come as far.
    with socket.create_connection(("127.0.0.1", int(os.environ["MEETING_PORT"])), timeout=60) as connection:
        connection.sendall(name.encode())
        assert connection.recv(1) == b"!"

@pytest.mark.parametrize("number", range(2))
def test_one_name_in_both_workers(number, dynamodb_resource, hashrange_environment):
    worker = os.environ["PYTEST_XDIST_WORKER"]
    create(dynamodb_resource.meta.client)
    table = dynamodb_resource.Table("Music")
    meet(worker)
    table.put_item(Item={"pk": "mine", "worker": worker})
    boto3.client("dynamodb").put_item(TableName="Music", Item={"pk": {"S": worker}})
    meet(worker)
    assert {item["pk"] for item in table.scan()["Items"]} == {"mine", worker}
    assert table.get_item(Key={"pk": "mine"})["Item"]["worker"] == worker
"""
)
UNMODIFIED = (
    TABLE
    + """
import boto3

client = boto3.client("dynamodb", region_name="us-east-1")

@pytest.fixture
def music(hashrange_boto3):
    create(boto3.client("dynamodb"))

@pytest.mark.parametrize("number", range(2))
def test_code_with_clients_of_its_own(number, music, hashrange, dynamodb_client):
    assert client.list_tables()["TableNames"] == ["Music"]
    boto3.resource("dynamodb").Table("Music").put_item(Item={"pk": str(number)})
    assert dynamodb_client.scan(TableName="Music")["Items"] == [{"pk": {"S": str(number)}}]
    assert hashrange.client().list_tables()["TableNames"] == ["Music"]

def test_without_the_fixture_it_is_not_caught():
    with pytest.raises(Exception, match="credentials"):
        client.list_tables()
"""
)
OTHER_PROGRAMS = (
    TABLE
    + """
import os, subprocess, sys

PROGRAM = '''
import boto3
client, streams = boto3.client("dynamodb"), boto3.client("dynamodbstreams")
client.put_item(TableName="Music", Item={"pk": {"S": "theirs"}})
print(streams.list_streams()["Streams"], client.meta.endpoint_url, streams.meta.endpoint_url)
'''

@pytest.mark.parametrize("number", range(2))
def test_a_program_that_the_test_starts(number, hashrange_environment, hashrange_endpoint, dynamodb_client):
    create(dynamodb_client)
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", hashrange_endpoint, hashrange_endpoint]
    assert dynamodb_client.scan(TableName="Music")["Items"] == [{"pk": {"S": "theirs"}}]
    assert hashrange_environment.items() <= os.environ.items()
    assert os.environ["AWS_REGION"] == os.environ["AWS_DEFAULT_REGION"] == "us-east-1"

def test_the_environment_is_as_before():
    assert os.environ["AWS_PROFILE"] == "elsewhere"
    assert "AWS_ENDPOINT_URL_DYNAMODB" not in os.environ
"""
)
CLOSING = """
import pytest

KEPT = "belongs to the fixture hashrange_database, .* Use it without `with`, and do not close it"

def test_enters_the_database(hashrange):
    with hashrange as database:
        database.client().list_tables()

def test_closes_the_database(hashrange, hashrange_database):
    for one in (hashrange, hashrange_database):
        with pytest.raises(RuntimeError, match=KEPT):
            one.close()

def test_closes_a_fork(hashrange):
    with hashrange.fork() as fork:
        fork.client().list_tables()

def test_it_is_still_open(dynamodb_client, hashrange_boto3):
    assert dynamodb_client.list_tables()["TableNames"] == []
"""
ITS_OWN = """
import pytest
from hashrange.testing import server

@pytest.fixture(scope="session")
def hashrange_database():
    with server() as database:
        yield database
    with pytest.raises(RuntimeError, match="This database is closed"):
        database.client().list_tables()
"""
LEFT_ALONE = """
import sys

def test_a_run_without_the_fixtures_loads_no_database():
    assert "hashrange.testing.pytest_plugin" in sys.modules
    assert not [name for name in sys.modules if name.startswith("hashrange.") and "testing" not in name]
    assert not {"boto3", "botocore", "msgspec", "rocksdict"} & set(sys.modules)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest says of these suites together, each of which is a file."""
    folder = tmp_path_factory.mktemp("suites")
    for name, text in (("base", BASE), ("closing", CLOSING), ("empty", EMPTY), ("its_own", ITS_OWN + CLOSING)):
        (folder / f"test_{name}.py").write_text(text, encoding="utf-8")
    return run_pytest(folder, "", "-rA")


def outcomes_of(name: str, said: str) -> dict[str, int]:
    """How many tests of a file have passed and failed, and have had an error in a fixture."""
    return Counter(re.findall(rf"^([A-Z]+) test_{name}\.py::", said, re.MULTILINE))


def test_each_test_begins_empty_whatever_the_one_before_did(said: str) -> None:
    assert outcomes_of("empty", said) == {"FAILED": 1, "PASSED": 5, "ERROR": 1}, said


def test_each_test_begins_with_the_base_data(said: str) -> None:
    assert outcomes_of("base", said) == {"PASSED": 3}, said


@pytest.mark.parametrize("name", ["closing", "its_own"])
def test_a_test_cannot_close_the_database_of_all_tests(name: str, said: str) -> None:
    assert outcomes_of(name, said) == {"FAILED": 1, "PASSED": 3}, said
    told = re.findall("^E +RuntimeError: This database belongs to the fixture hashrange_database", said, re.MULTILINE)
    assert len(told) == 2, said


def write_folders(folder: Path, **texts: str) -> None:
    """A conftest.py and a test file in each folder; the conftest's text first, then `---`."""
    for name, text in texts.items():
        conftest, test = text.split("---")
        (folder / name).mkdir()
        (folder / name / "conftest.py").write_text(conftest)
        (folder / name / f"test_{name}.py").write_text(test)


FOLDER = """
import pytest
@pytest.fixture(scope="session")
def hashrange_base(hashrange_database{extended}):
    hashrange_database.client().create_table(
        TableName="{name}",
        KeySchema=[{{"AttributeName": "pk", "KeyType": "HASH"}}],
        AttributeDefinitions=[{{"AttributeName": "pk", "AttributeType": "S"}}],
        BillingMode="PAY_PER_REQUEST",
    )
---
import pytest
@pytest.mark.parametrize("number", range(2))
def test_it(number, dynamodb_client):
    assert dynamodb_client.list_tables()["TableNames"] == {tables}
    dynamodb_client.delete_table(TableName="{name}")
"""
OTHER_DATABASE = """
import pytest
from hashrange.testing import server
@pytest.fixture(scope="session")
def hashrange_database():
    with server() as database:
        yield database
---
def test_it(hashrange):
    assert hashrange.client().list_tables()["TableNames"] == []
"""


def test_each_folder_has_its_own_base_data(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(FOLDER.split("---", maxsplit=1)[0].format(name="all", extended=""))
    write_folders(
        tmp_path,
        first=FOLDER.format(name="first", extended=", hashrange_base", tables=["all", "first"]),
        second=FOLDER.format(name="second", extended="", tables=["second"]),
        third=FOLDER.format(name="third", extended=", hashrange_base", tables=["all", "third"]),
    )
    outer = FOLDER.split("---")[1].format(name="all", tables=["all"])
    assert "8 passed" in run_pytest(tmp_path, outer)


def test_a_folder_may_have_another_database(tmp_path: Path) -> None:
    write_folders(tmp_path, first=FOLDER.format(name="first", extended="", tables=["first"]), second=OTHER_DATABASE)
    assert "4 passed" in run_pytest(tmp_path, "def test_it(hashrange): pass")


def test_base_data_of_another_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(FOLDER.split("---", maxsplit=1)[0].format(name="all", extended=""))
    write_folders(tmp_path, first=OTHER_DATABASE)
    outer = FOLDER.split("---")[1].format(name="all", tables=["all"])
    said = run_pytest(tmp_path, outer)
    assert "where you override hashrange_database, override hashrange_base too." in said, said


def test_each_worker_has_its_own_database(tmp_path: Path) -> None:
    """Two workers are in the same test at the same time, with tables of the same name."""
    (tmp_path / "test_it.py").write_text(TOGETHER)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(MEETING_SECONDS)
        port = str(listener.getsockname()[1])
        with subprocess.Popen(
            command_of("-p", "xdist", "-n", "2"),
            cwd=tmp_path,
            env=os.environ | NO_OTHER_PLUGINS | {"PYTHONPATH": str(SOURCE), "MEETING_PORT": port},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as run:
            try:
                met = [meeting(listener), meeting(listener)]
                said = run.communicate(timeout=MEETING_SECONDS)[0]
            finally:
                run.kill()
    assert met == [{"gw0", "gw1"}] * 2
    assert "2 passed" in said


def meeting(listener: socket.socket) -> set[str]:
    """Let two workers go on once both have come; their names."""
    connections = [listener.accept()[0] for _ in range(2)]
    names = {connection.recv(9).decode() for connection in connections}
    for connection in connections:
        with connection:
            connection.sendall(b"!")
    return names


def test_clients_of_the_tested_code_are_caught(tmp_path: Path) -> None:
    nothing = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    assert "3 passed" in run_pytest(tmp_path, UNMODIFIED, variables=nothing)


def test_programs_that_a_test_starts_find_its_database(tmp_path: Path) -> None:
    misleading = {
        "AWS_PROFILE": "elsewhere",
        "AWS_SESSION_TOKEN": "elsewhere",
        "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
    }
    assert "3 passed" in run_pytest(tmp_path, OTHER_PROGRAMS, variables=misleading)


def test_a_run_without_the_fixtures_loads_no_database(tmp_path: Path) -> None:
    assert "1 passed" in run_pytest(tmp_path, LEFT_ALONE)
