"""The fixtures that a suite gets from the plugin, in a pytest of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src"

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
LEFT_ALONE = """
import sys

def test_a_run_without_the_fixtures_loads_no_database():
    assert "hashrange.testing.pytest_plugin" in sys.modules
    assert not [name for name in sys.modules if name.startswith("hashrange.") and "testing" not in name]
    assert not {"boto3", "msgspec", "rocksdict"} & set(sys.modules)
"""


def run_pytest(folder: Path, text: str, *options: str) -> str:
    (folder / "test_it.py").write_text(text)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "hashrange.testing.pytest_plugin",
            "-p",
            "no:cacheprovider",
            *options,
        ],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("text", [EMPTY, BASE], ids=["empty", "base"])
def test_the_tests_of_a_suite_are_apart(text: str, tmp_path: Path) -> None:
    assert "3 passed" in run_pytest(tmp_path, text)


def test_each_worker_has_its_own_database(tmp_path: Path) -> None:
    assert "3 passed" in run_pytest(tmp_path, EMPTY, "-n", "2")


def test_a_run_without_the_fixtures_loads_no_database(tmp_path: Path) -> None:
    assert "1 passed" in run_pytest(tmp_path, LEFT_ALONE)
