"""`mock_dynamodb` as a decorator: each call has a database of its own, whatever kind of function it is."""

import asyncio
import inspect
import unittest
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import boto3
import pytest

from hashrange.testing import mock_dynamodb, server


class SentAway(Exception):
    """A request would have gone to the network."""


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise SentAway

    monkeypatch.setattr("botocore.httpsession.URLLib3Session.send", refuse)


def tables_after_one_more(name: str) -> list[str]:
    """Create a table, in the way of code that makes its own client; all tables that there are then."""
    client = boto3.client("dynamodb", region_name="us-east-1", aws_access_key_id="any", aws_secret_access_key="any")
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    found: list[str] = client.list_tables()["TableNames"]
    return found


@mock_dynamodb
def plain(name: str, *, twice: bool = False) -> list[str]:
    """Says what it does."""
    return tables_after_one_more(name) + (tables_after_one_more(f"{name}2") if twice else [])


def test_each_call_of_a_function_begins_empty() -> None:
    assert plain("one") == ["one"]
    assert plain("two", twice=True) == ["two", "two", "two2"]
    assert (plain.__name__, plain.__doc__) == ("plain", "Says what it does.")
    assert list(inspect.signature(plain).parameters) == ["name", "twice"]
    with pytest.raises(SentAway):
        tables_after_one_more("three")


def test_with_parentheses_and_with_a_database() -> None:
    assert mock_dynamodb()(tables_after_one_more)("one") == ["one"]
    with server() as database:
        decorated = mock_dynamodb(database=database)(tables_after_one_more)
        assert [decorated("one"), decorated("two")] == [["one"], ["one", "two"]]


def test_a_function_may_call_itself() -> None:
    @mock_dynamodb
    def deep(depth: int) -> list[list[str]]:
        before = tables_after_one_more(f"before-{depth}")
        inner = deep(depth - 1) if depth else []
        return [before, *inner, tables_after_one_more(f"later-{depth}")]

    assert deep(1) == [
        ["before-1"],
        ["before-0", "before-1"],
        ["before-0", "before-1", "later-0"],
        ["before-0", "before-1", "later-0", "later-1"],
    ]


@pytest.fixture
@mock_dynamodb
def table_of_a_fixture() -> Iterator[list[str]]:
    yield tables_after_one_more("fixture")


def test_a_fixture_that_yields_is_caught_until_it_ends(table_of_a_fixture: list[str]) -> None:
    assert table_of_a_fixture == ["fixture"]
    assert tables_after_one_more("test") == ["fixture", "test"]


def test_a_generator_ends_its_block_when_it_ends() -> None:
    @contextmanager
    @mock_dynamodb
    def music() -> Iterator[list[str]]:
        yield tables_after_one_more("music")

    with pytest.raises(ZeroDivisionError), music() as found:
        assert found == ["music"]
        raise ZeroDivisionError
    with pytest.raises(SentAway):
        tables_after_one_more("other")


def test_a_coroutine_is_caught_until_it_ends() -> None:
    @mock_dynamodb
    async def later() -> list[str]:
        tables_after_one_more("one")
        await asyncio.sleep(0)
        return tables_after_one_more("two")

    assert inspect.iscoroutinefunction(later)
    assert asyncio.run(later()) == ["one", "two"]
    with pytest.raises(SentAway):
        tables_after_one_more("three")


def test_an_asynchronous_generator_is_caught_until_it_ends() -> None:
    @asynccontextmanager
    @mock_dynamodb
    async def music() -> AsyncIterator[list[str]]:
        yield tables_after_one_more("music")

    async def use() -> list[str]:
        async with music() as found:
            assert found == ["music"]
            return tables_after_one_more("other")

    assert asyncio.run(use()) == ["music", "other"]
    with pytest.raises(SentAway):
        tables_after_one_more("music")


# --- classes ------------------------------------------------------------------------------------


class Inherited:
    def test_inherited(self) -> list[str]:
        return tables_after_one_more("inherited")


@mock_dynamodb
class Methods(Inherited):
    prefix = "a"

    def test_one(self) -> list[str]:
        return self.help("one")

    async def test_later(self) -> list[str]:
        return self.help("later")

    def help(self, name: str) -> list[str]:
        return tables_after_one_more(f"{self.prefix}-{name}")


def test_the_test_methods_of_a_class_are_caught() -> None:
    assert Methods().test_one() == ["a-one"]
    assert asyncio.run(Methods().test_later()) == ["a-later"]
    assert Methods().test_inherited() == ["inherited"]
    with pytest.raises(SentAway):
        Methods().help("two")
    with pytest.raises(SentAway):
        Inherited().test_inherited()


def test_a_class_whose_setup_would_not_be_caught_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Prepared\.setup_method.*a fixture that uses the fixture hashrange_boto3"):

        @mock_dynamodb
        class Prepared:
            def setup_method(self) -> None: ...


class Stages(unittest.TestCase):
    """A test case that needs its table in each of its stages."""

    __test__ = False  # it is run below

    def setUp(self) -> None:
        self.assertEqual(tables_after_one_more("set-up"), ["set-up"])
        self.addCleanup(
            lambda: self.assertEqual(tables_after_one_more("cleanup"), ["cleanup", "set-up", "tear-down", "test"])
        )

    def tearDown(self) -> None:
        self.assertEqual(tables_after_one_more("tear-down"), ["set-up", "tear-down", "test"])

    def test_one(self) -> None:
        self.assertEqual(tables_after_one_more("test"), ["set-up", "test"])

    def test_two(self) -> None:
        self.assertEqual(tables_after_one_more("test"), ["set-up", "test"])


class LaterStages(unittest.IsolatedAsyncioTestCase):
    __test__ = False

    async def asyncSetUp(self) -> None:
        self.assertEqual(tables_after_one_more("set-up"), ["set-up"])

    async def test_one(self) -> None:
        self.assertEqual(tables_after_one_more("test"), ["set-up", "test"])


@pytest.mark.parametrize(("case", "count"), [(Stages, 2), (LaterStages, 1)])
def test_all_stages_of_a_test_case_are_caught(case: type[unittest.TestCase], count: int) -> None:
    decorated = mock_dynamodb(type(case.__name__, (case,), {}))
    result = unittest.defaultTestLoader.loadTestsFromTestCase(decorated).run(unittest.TestResult())
    assert (result.testsRun, result.errors, result.failures) == (count, [], [])
    bare = unittest.defaultTestLoader.loadTestsFromTestCase(case).run(unittest.TestResult())
    assert len(bare.errors) == count
