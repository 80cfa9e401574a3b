"""`mock_dynamodb` within `mock_dynamodb` on one thread: the inner block shares the outer's database,
however each was begun.
"""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hashrange.testing import mock_dynamodb, server
from tests.support.waiting import wait_until
from tests.unit.testing.suites import run_pytest
from tests.unit.testing.unmodified_clients import SentAway, configure_nothing, forbid_network, make_table, tables


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_network(monkeypatch)
    configure_nothing(monkeypatch)


def test_an_inner_block_shares_the_outer_database_which_keeps_what_it_wrote() -> None:
    with mock_dynamodb() as outer:
        make_table("outer")
        with mock_dynamodb() as inner:
            assert inner is outer
            assert make_table("inner") == ["inner", "outer"]
        with mock_dynamodb:
            assert tables() == ["inner", "outer"]
        assert tables() == ["inner", "outer"]
    with mock_dynamodb():
        assert tables() == []


@pytest.fixture
def music() -> Iterator[None]:
    with mock_dynamodb():
        make_table("music")
        yield


@pytest.fixture
@mock_dynamodb
def films() -> Iterator[list[str]]:
    yield make_table("films")


@pytest.mark.usefixtures("music")
@mock_dynamodb
def test_a_decorated_test_shares_the_database_of_its_fixture() -> None:
    assert make_table("test") == ["music", "test"]


@pytest.mark.usefixtures("music")
def test_two_fixtures_share_a_database(films: list[str]) -> None:
    assert films == tables() == ["films", "music"]


def test_a_helper_that_enters_again_shares_the_database() -> None:
    @mock_dynamodb
    def helped(depth: int) -> list[str]:
        make_table(f"depth-{depth}")
        return helped(depth - 1) if depth else tables()

    assert helped(2) == ["depth-0", "depth-1", "depth-2"]
    assert helped(0) == ["depth-0"]


def test_coroutines_and_asynchronous_generators_share_the_database_around_them() -> None:
    @mock_dynamodb
    async def later() -> list[str]:
        await asyncio.sleep(0)
        return make_table("later")

    @mock_dynamodb
    async def use() -> list[str]:
        make_table("first")
        await asyncio.create_task(later())
        return await asyncio.to_thread(mock_dynamodb(make_table), "thread")

    assert asyncio.run(use()) == ["first", "later", "thread"]
    with mock_dynamodb():
        make_table("outer")
        assert asyncio.run(use()) == ["first", "later", "outer", "thread"]


def test_the_database_lasts_until_the_last_of_its_blocks_ends() -> None:
    first, second = mock_dynamodb(), mock_dynamodb()
    database = first.start()
    make_table("first")
    second.start()
    first.stop()
    assert make_table("second") == ["first", "second"]
    second.stop()
    with pytest.raises(RuntimeError, match="This database is closed"):
        database.require_open()


def test_the_database_that_is_given_to_an_outer_block_is_shared() -> None:
    with server() as database, mock_dynamodb(database=database):
        with mock_dynamodb() as inner:
            assert inner is database
            make_table("music")
        database.require_open()
        with server() as other, mock_dynamodb(database=other):
            assert tables() == []
            with mock_dynamodb() as inner:
                assert inner is other
        assert tables() == ["music"]


def test_an_inner_block_has_a_database_of_its_own_if_the_outer_one_is_closed() -> None:
    with server() as database:
        outer = mock_dynamodb(database=database)
        outer.start()
    with mock_dynamodb():
        assert make_table("music") == ["music"]
    outer.stop()


def test_a_block_on_another_thread_has_a_database_of_its_own() -> None:
    with ThreadPoolExecutor(1) as pool, mock_dynamodb():
        make_table("outer")
        assert pool.submit(tables).result() == ["outer"]
        assert pool.submit(mock_dynamodb(make_table), "other").result() == ["other"]
        assert tables() == ["outer"]


def test_an_inner_block_that_is_interrupted_leaves_the_outer_database(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = set(threading.enumerate())
    with mock_dynamodb():
        make_table("outer")
        with monkeypatch.context() as broken:
            broken.setattr("hashrange.testing.environment._add_variables", interrupt)
            with pytest.raises(KeyboardInterrupt):
                mock_dynamodb().start()
        assert make_table("later") == ["later", "outer"]
    wait_until(lambda: "hashrange" not in [one.name for one in {*threading.enumerate()} - before])
    with pytest.raises(SentAway):
        tables_with_keys()


def tables_with_keys() -> None:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "any")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "any")
        tables()


SUITE = """
import unittest
import boto3, pytest
from hashrange.testing import ServiceNotMocked, mock_dynamodb

TABLE = dict(
    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
    BillingMode="PAY_PER_REQUEST",
)

def tables():
    return boto3.client("dynamodb").list_tables()["TableNames"]

@pytest.fixture
def prepared(hashrange_boto3):
    boto3.client("dynamodb").create_table(TableName="prepared", **TABLE)

@mock_dynamodb
def test_function(prepared):
    assert tables() == ["prepared"]

@mock_dynamodb
class TestMethods:
    def test_method(self, prepared):
        assert tables() == ["prepared"]

@pytest.mark.usefixtures("prepared")
@mock_dynamodb
class Case(unittest.TestCase):
    def test_case(self):
        self.assertEqual(tables(), ["prepared"])

@pytest.fixture(autouse=True)
@mock_dynamodb
def earlier(request):
    if request.node.name == "test_after_a_decorated_fixture":
        boto3.client("dynamodb").create_table(TableName="earlier", **TABLE)
    yield

def test_after_a_decorated_fixture(prepared, hashrange):
    assert tables() == ["earlier", "prepared"] == hashrange.client().list_tables()["TableNames"]

def test_begins_empty(hashrange_boto3):
    assert tables() == []
    with pytest.raises(ServiceNotMocked):
        boto3.client("sqs").list_queues()
    with mock_dynamodb(passthrough=["sqs"]) as database:
        assert database is hashrange_boto3
"""


def test_the_fixture_beside_the_decorator(tmp_path: Path) -> None:
    said = run_pytest(tmp_path, SUITE)
    assert "\n5 passed in " in said, said
