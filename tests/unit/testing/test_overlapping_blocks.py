"""Blocks of `mock_dynamodb` that overlap, on threads, in tasks and in one: each has its own database,
and the environment lasts until the last ends.
"""

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest

from hashrange.testing import Database, mock_dynamodb, server
from tests.support.waiting import PATIENCE_SECONDS
from tests.unit.testing.music import create

ADDED = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"}


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the credentials and Region of the machine, and the default session of other tests."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


def tables() -> list[str]:
    """The tables that code with a client of its own sees."""
    found: list[str] = boto3.Session().client("dynamodb").list_tables()["TableNames"]
    return found


def make_table(name: str) -> None:
    create(boto3.Session().client("dynamodb"), name)


class Steps:
    """Lets threads take turns: each step begins when the one before it has been taken."""

    def __init__(self) -> None:
        self._taken = [threading.Event() for _ in range(8)]

    def wait_for(self, number: int) -> None:
        assert self._taken[number].wait(PATIENCE_SECONDS)

    def take(self, number: int) -> None:
        self._taken[number].set()


def on_two_threads(first: Callable[[], Any], second: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(2) as pool:
        return [future.result() for future in (pool.submit(first), pool.submit(second))]


# --- databases ----------------------------------------------------------------------------------


def test_each_thread_is_answered_by_its_own_database() -> None:
    steps = Steps()

    @mock_dynamodb
    def first() -> list[str]:
        make_table("first")
        steps.take(0)
        steps.wait_for(1)
        return tables()

    @mock_dynamodb
    def second() -> list[str]:
        steps.wait_for(0)
        make_table("second")
        steps.take(1)
        return tables()

    assert on_two_threads(first, second) == [["first"], ["second"]]


def test_the_same_object_may_be_entered_on_several_threads() -> None:
    steps = Steps()

    def first() -> Database:
        with mock_dynamodb as database:
            make_table("first")
            steps.take(0)
            steps.wait_for(1)
        steps.take(2)
        return database

    def second() -> list[str]:
        steps.wait_for(0)
        with mock_dynamodb as database:
            make_table("second")
            steps.take(1)
            steps.wait_for(2)
            return [*database.client().list_tables()["TableNames"], *tables()]

    database, found = on_two_threads(first, second)
    assert found == ["second", "second"]
    with pytest.raises(RuntimeError, match="This database is closed"):
        database.require_open()


async def meet(names: list[str], name: str) -> None:
    """Return when two tasks have come here."""
    names.append(name)
    while len(names) < 2:  # noqa: ASYNC110 - there is nothing else to wait for
        await asyncio.sleep(0)


def test_each_task_is_answered_by_its_own_database() -> None:
    names: list[str] = []

    @mock_dynamodb
    async def use(name: str) -> list[list[str]]:
        make_table(name)
        await meet(names, name)

        async def within() -> list[str]:
            return tables()

        return [tables(), *await asyncio.gather(within(), asyncio.to_thread(tables))]

    async def use_together() -> list[list[list[str]]]:
        return list(await asyncio.gather(use("one"), use("two")))

    assert asyncio.run(use_together()) == [[["one"]] * 3, [["two"]] * 3]


def test_a_thread_without_a_block_is_answered_by_the_newest() -> None:
    with ThreadPoolExecutor(1) as pool, mock_dynamodb(), server() as inner:
        make_table("outer")
        assert pool.submit(tables).result() == ["outer"]
        with mock_dynamodb(database=inner):
            assert pool.submit(tables).result() == []
        assert pool.submit(tables).result() == ["outer"]


def test_a_block_in_another_context_of_the_thread_is_an_inner_block() -> None:
    """So pytest enters a fixture's block: perhaps in a task that ends before the test begins."""
    tasks = []

    async def enter() -> None:
        tasks.append(asyncio.current_task())
        block.__enter__()
        make_table("inner")

    with mock_dynamodb(), server() as inner:
        block = mock_dynamodb(database=inner)
        make_table("outer")
        asyncio.run(enter())
        assert tables() == ["inner"]
        tasks.clear()
        assert tables() == ["inner"]
        with mock_dynamodb() as shared:
            assert shared is inner
        contextvars.copy_context().run(block.__exit__, None, None, None)
        assert tables() == ["outer"]


def test_blocks_that_have_ended_are_forgotten() -> None:
    context = contextvars.copy_context()
    block = mock_dynamodb()
    context.run(block.__enter__)
    block.__exit__(None, None, None)  # in another context, which then is not told
    context.run(mock_dynamodb(lambda: None))
    [held] = [value for variable, value in context.items() if variable.name == "hashrange_blocks"]
    assert held == ()


# --- the environment ----------------------------------------------------------------------------


def test_credentials_and_region_stay_until_the_last_block_ends() -> None:
    before = dict(os.environ)
    first, second = mock_dynamodb(), mock_dynamodb()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(os.environ) - set(before) == ADDED
    assert tables() == []
    assert boto3.client("dynamodb").list_tables()["TableNames"] == []
    second.__exit__(None, None, None)
    assert dict(os.environ) == before
    assert boto3.DEFAULT_SESSION is None


def test_a_variable_that_is_removed_in_a_block_is_added_for_the_next() -> None:
    before = dict(os.environ)
    with mock_dynamodb():
        del os.environ["AWS_DEFAULT_REGION"]
        with mock_dynamodb():
            assert tables() == []
    assert dict(os.environ) == before


def test_a_block_that_adds_nothing_keeps_what_an_earlier_one_has_added() -> None:
    with mock_dynamodb():
        os.environ["AWS_DEFAULT_REGION"] = "eu-west-1"
        with mock_dynamodb():
            assert boto3.client("dynamodb").meta.region_name == "eu-west-1"
        assert os.environ["AWS_DEFAULT_REGION"] == "eu-west-1"
    assert os.environ.pop("AWS_DEFAULT_REGION") == "eu-west-1"


def test_a_block_that_is_interrupted_while_it_begins_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        assert set(os.environ) - set(before) == ADDED
        raise KeyboardInterrupt

    before = dict(os.environ)
    monkeypatch.setattr("hashrange.testing.environment.new_session", interrupt)
    with pytest.raises(KeyboardInterrupt):
        mock_dynamodb().__enter__()
    assert dict(os.environ) == before
