"""What suites that were written for moto do, besides blocks and decorators: `start` and `stop`,
its names, and a machine without boto3.
"""

import os
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import boto3
import pytest

import hashrange.testing
from hashrange.testing import mock_dynamodb
from hashrange.testing.moto_names import ATTRIBUTES, IMPORTS
from tests.docs.pages import PAGES
from tests.unit.testing.suites import run_pytest
from tests.unit.testing.unmodified_clients import SentAway, configure_nothing, forbid_network, make_table, tables

PAGE = " ".join(PAGES["docs/switching.md"].split())


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_network(monkeypatch)
    configure_nothing(monkeypatch)


# --- start and stop -----------------------------------------------------------------------------


def test_start_returns_the_database_and_stop_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    mock = mock_dynamodb()
    database = mock.start()
    assert make_table("music") == database.client(region_name="eu-west-1").list_tables()["TableNames"] == ["music"]
    mock.stop()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "any")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "any")
    with pytest.raises(SentAway):
        tables()
    with pytest.raises(RuntimeError, match="There is no block to end"):
        mock.stop()


def test_a_mock_may_start_again_and_empty() -> None:
    mock = mock_dynamodb()
    for _ in range(2):
        mock.start()
        assert make_table("music") == ["music"]
        mock.stop()


class Stages(unittest.TestCase):
    """A test case that starts and stops its mock in its stages."""

    __test__ = False  # it is run below
    whole = mock_dynamodb()

    @classmethod
    def setUpClass(cls) -> None:
        cls.whole.start()
        make_table("whole")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.whole.stop()

    def setUp(self) -> None:
        mock = mock_dynamodb()
        mock.start()
        self.addCleanup(mock.stop)

    def test_one(self) -> None:
        self.assertEqual(tables(), ["whole"])

    @mock_dynamodb
    def test_two(self) -> None:
        self.assertEqual(make_table("music"), ["music", "whole"])


def test_a_mock_in_stages_of_a_test_case() -> None:
    result = unittest.defaultTestLoader.loadTestsFromTestCase(Stages).run(unittest.TestResult())
    assert (result.testsRun, result.errors, result.failures) == (2, [], [])


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_of_moto_says_which_sentence_of_the_page_helps(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"{name}.*docs/switching\.md") as refused:
        getattr(mock_dynamodb, name)
    assert ATTRIBUTES[name] in str(refused.value)
    assert ATTRIBUTES[name] in PAGE
    assert not hasattr(mock_dynamodb(), name)


@pytest.mark.parametrize("name", [*IMPORTS, "mock_s3", "mock_lambda"])
def test_a_name_of_moto_that_is_imported_says_so_too(name: str) -> None:
    with pytest.raises(ImportError, match=rf"{name}.*docs/switching\.md") as refused:
        exec(f"from hashrange.testing import {name}")
    sentence = IMPORTS.get(name, IMPORTS["mock_aws"])
    assert sentence in str(refused.value)
    assert sentence in PAGE


def test_motos_configuration_says_so_too() -> None:
    mock: Any = mock_dynamodb
    with pytest.raises(TypeError, match=r"config.*docs/switching\.md"):
        mock(config={"core": {"mock_credentials": False}})
    with pytest.raises(TypeError, match=r"config.*docs/switching\.md"):
        mock({"core": {}})


def test_other_names_are_unknown_as_usual() -> None:
    with pytest.raises(AttributeError, match="'DynamoDBMock' object has no attribute 'nothing'"):
        mock_dynamodb.nothing  # noqa: B018
    with pytest.raises(AttributeError, match=r"'hashrange\.testing' has no attribute 'nothing'"):
        hashrange.testing.nothing  # noqa: B018


# --- without boto3 ------------------------------------------------------------------------------


CLIENTS = "clients and resources need"
BLOCKING = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in {missing}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)

sys.meta_path.insert(0, Blocked())
"""
"""Makes libraries look as if they were not installed."""


TRIES = """
from hashrange import testing

def told(use):
    try:
        use()
    except ModuleNotFoundError as error:
        print(error)

told(lambda: testing.mock_dynamodb)
with testing.server() as database:
    told(database.client)
    told(database.resource)
"""


@pytest.mark.parametrize("missing", [("boto3", "botocore"), ("boto3",)])
def test_without_boto3_the_error_says_what_to_install(missing: tuple[str, ...]) -> None:
    """botocore alone is enough for `mock_dynamodb`."""
    text = BLOCKING.format(missing=missing) + TRIES
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    told = [f"{what} boto3, which is not installed: pip install boto3" for what in ("mock_dynamodb needs", CLIENTS)]
    assert done.stdout.splitlines() == [*told[: len(missing) - 1], told[1], told[1]]


def test_fixtures_without_boto3(tmp_path: Path) -> None:
    suite = """
def test_database(hashrange):
    assert hashrange.call("ListTables", {})["TableNames"] == []

def test_environment(hashrange_environment):
    assert hashrange_environment["AWS_ENDPOINT_URL_DYNAMODB"].startswith("http://")

def test_client(dynamodb_client): ...
def test_resource(dynamodb_resource): ...
def test_boto3(hashrange_boto3): ...
"""
    said = run_pytest(tmp_path, BLOCKING.format(missing=("boto3", "botocore")) + suite, "--tb=line")
    assert "\n2 passed, 3 errors in " in said, said
    assert said.count("ModuleNotFoundError: clients and resources need boto3, which is not") == 2, said
    assert said.count("ModuleNotFoundError: mock_dynamodb needs boto3, which is not installed: pip install boto3") == 1


# --- profiles -----------------------------------------------------------------------------------


FIXTURES = """
import os
import boto3, pytest
from hashrange.testing import mock_dynamodb, server

def tables(client):
    return client.list_tables()["TableNames"]

def test_client(dynamodb_client):
    assert tables(dynamodb_client) == []

def test_resource(dynamodb_resource):
    assert list(dynamodb_resource.tables.all()) == []

def test_hashrange(hashrange):
    assert tables(hashrange.client()) == []

def test_boto3(hashrange_boto3):
    assert tables(boto3.client("dynamodb")) == tables(boto3.Session().client("dynamodb")) == []

def test_environment(hashrange_environment):
    assert tables(boto3.Session().client("dynamodb")) == []

def test_block():
    with mock_dynamodb():
        with mock_dynamodb():
            assert tables(boto3.client("dynamodb")) == []
        assert tables(boto3.Session().client("dynamodb")) == []

def test_server():
    with server() as database:
        assert tables(database.client()) == []

def test_the_variable_is_as_before():
    assert os.environ["AWS_PROFILE"] == "elsewhere"
"""


def test_a_profile_that_is_not_configured_harms_no_fixture(tmp_path: Path) -> None:
    variables = {"AWS_PROFILE": "elsewhere", "AWS_CONFIG_FILE": str(tmp_path / "none")}
    said = run_pytest(tmp_path, FIXTURES, variables=variables)
    assert "\n8 passed in " in said, said


@pytest.mark.parametrize("name", ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"])
@pytest.mark.parametrize("profile", ["elsewhere", "default", ""])
def test_no_block_meets_a_profile_that_is_not_configured(
    name: str, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, profile)
    with mock_dynamodb():
        with mock_dynamodb():
            assert boto3.client("dynamodb").list_tables()["TableNames"] == []
        assert tables() == []
    assert os.environ[name] == profile


def test_a_profile_that_is_configured_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[profile elsewhere]\nregion = eu-north-1\n", encoding="utf-8")
    monkeypatch.setenv("AWS_PROFILE", "elsewhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    with mock_dynamodb():
        assert boto3.Session().client("dynamodb").meta.region_name == "eu-north-1"
