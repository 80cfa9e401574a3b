"""A database that ends, or whose start is interrupted: no thread waits for ever,
none is left behind, and nothing is logged.
"""

import asyncio
import gc
import logging
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config

from hashrange.service import opening
from hashrange.settings import Settings
from hashrange.testing import database as database_module
from hashrange.testing import mock_dynamodb, server
from hashrange.testing.database import Database
from tests.support.in_process import in_process
from tests.support.waiting import PATIENCE_SECONDS, wait_until
from tests.unit.testing.music import create


class Interrupted(BaseException):
    """What a handler of a signal raises, as Ctrl-C and the time-outs of pytest do."""


@pytest.fixture(autouse=True)
def no_thread_stays(only_new_garbage: None) -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert {thread for thread in threading.enumerate() if thread.name == "hashrange"} <= before


def outcome_on_a_thread(function: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """Call a function on another thread; the thread, and a list that gets the result or the error."""
    outcome: list[object] = []

    def call() -> None:
        try:
            outcome.append(function())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return thread, outcome


def assert_closed(outcome: list[object]) -> None:
    [error] = outcome
    assert isinstance(error, RuntimeError), error
    assert "This database is closed" in str(error)


# --- what others do meanwhile -------------------------------------------------------------------


def test_a_function_that_runs_is_told() -> None:
    with server() as database:
        begun = threading.Event()

        async def wait() -> None:
            begun.set()
            await asyncio.Event().wait()

        thread, outcome = outcome_on_a_thread(lambda: database._process.run(wait))
        assert begun.wait(PATIENCE_SECONDS)
    thread.join(PATIENCE_SECONDS)
    assert_closed(outcome)


def test_nothing_begins_while_what_runs_is_ended() -> None:
    """A function that is told of the end still cleans up; whatever a thread asks for meanwhile is refused."""
    outcomes: list[object] = []
    with server() as database:
        begun = threading.Event()
        process = database._process

        async def clean_up() -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                asked = asyncio.to_thread(process.run, lambda: "has begun")
                outcomes.extend(await asyncio.gather(asked, return_exceptions=True))

        thread, _ = outcome_on_a_thread(lambda: process.run(clean_up))
        assert begun.wait(PATIENCE_SECONDS)
    thread.join(PATIENCE_SECONDS)
    assert_closed(outcomes)


@pytest.mark.parametrize(
    "use",
    [
        lambda database: database.client(config=Config(retries={"total_max_attempts": 1})).put_item(
            TableName="music", Item={"pk": {"S": "a"}}
        ),
        lambda database: database.client().get_item(TableName="music", Key={"pk": {"S": "a"}}),
        lambda database: database.snapshot(),
        lambda database: database.clock.advance(1),
    ],
    ids=["write", "read", "snapshot", "advance"],
)
@pytest.mark.parametrize("has_looked", [False, True], ids=["looks now", "has looked"])
def test_what_begins_while_the_store_is_closed_is_refused_in_silence(
    use: Callable[[Database], object],
    has_looked: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A thread looks whether the database is open: now, or it did so before the end began."""
    caplog.set_level(logging.DEBUG, "hashrange")
    outcomes: list[list[object]] = []
    with server() as database:
        create(database.client())
        process = database._process
        close = process.service.store.close

        async def close_later() -> None:
            if has_looked:
                monkeypatch.setattr(process, "require_open", lambda: None)
            thread, outcome = outcome_on_a_thread(lambda: use(database))
            outcomes.append(outcome)
            wait_until(lambda: process._waited_for or not thread.is_alive())
            await close()

        vars(process.service.store)["close"] = (
            close_later  # not by `monkeypatch`: the store is taken apart before that undoes it
        )
    wait_until(lambda: outcomes[0])
    assert_closed(outcomes[0])
    gc.collect()  # warns of coroutines that were never awaited
    assert not [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


# --- interrupted starts and ends ----------------------------------------------------------------

Opening = Callable[..., Awaitable[Any]]


def meanwhile(monkeypatch: pytest.MonkeyPatch, function: Callable[[], None]) -> None:
    """Let the database's thread call a function while it starts."""
    open_service: Opening = opening.open_service

    async def open_later(*arguments: Any) -> Any:
        function()
        return await open_service(*arguments)

    monkeypatch.setattr(database_module, "open_service", open_later)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="threads cannot be signalled here")
@pytest.mark.parametrize("block", [server, mock_dynamodb])
def test_a_start_that_is_interrupted_leaves_nothing(
    block: Any, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    is_interrupted = threading.Event()
    main = threading.get_ident()

    def interrupt(*_: Any) -> None:
        is_interrupted.set()
        raise Interrupted

    def send_signal() -> None:
        signal.pthread_kill(main, signal.SIGUSR1)
        assert is_interrupted.wait(PATIENCE_SECONDS)

    former = signal.signal(signal.SIGUSR1, interrupt)
    request.addfinalizer(lambda: signal.signal(signal.SIGUSR1, former))
    meanwhile(monkeypatch, send_signal)
    with pytest.raises(Interrupted), block():
        pass


def test_a_start_that_is_cancelled_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path / "data"))
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert go_on.wait(PATIENCE_SECONDS)

    async def use() -> None:
        async with server(settings):
            raise AssertionError

    async def cancel() -> None:
        task = asyncio.create_task(use())
        await asyncio.to_thread(begun.wait, PATIENCE_SECONDS)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()  # once more, while it waits for the end of the start
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with server(settings):
            """The folder is free again."""

    meanwhile(monkeypatch, wait)
    asyncio.run(cancel())


def test_an_end_that_is_cancelled_comes_before_the_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    async def use() -> None:
        try:
            async with server():
                loop = asyncio.get_running_loop()
                task = asyncio.current_task()
                assert task is not None
                close = Database.close
                has_seen = threading.Event()

                async def cancel() -> None:
                    task.cancel()
                    for _ in range(5):  # turns of the loop in which a task that does not wait would end
                        await asyncio.sleep(0)
                    has_seen.set()

                def close_later(database: Database) -> None:
                    asyncio.run_coroutine_threadsafe(cancel(), loop)
                    assert has_seen.wait(PATIENCE_SECONDS)
                    close(database)
                    events.append("closed")

                monkeypatch.setattr(Database, "close", close_later)
        finally:
            events.append("left")

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(use())
    assert events == ["closed", "left"]


def test_a_start_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    meanwhile(monkeypatch, fail)
    for block in (server(), mock_dynamodb()):
        with pytest.raises(ZeroDivisionError), block:
            pass


def test_a_database_that_is_closed_before_it_starts_ends_at_once() -> None:
    database = in_process()
    database.close()
    database.start()._thread.join(PATIENCE_SECONDS)
    assert not database._thread.is_alive()


def test_a_server_that_is_entered_twice_ends_twice() -> None:
    twice = server()
    with twice as outer:
        create(outer.client())
        with twice as inner:
            assert inner.client().list_tables()["TableNames"] == []
        assert outer.client().list_tables()["TableNames"] == ["music"]
    with pytest.raises(RuntimeError, match="This database is closed"):
        outer.client().list_tables()
    with pytest.raises(RuntimeError, match="There is no block to end"):
        twice.__exit__()


def test_a_server_that_several_tasks_enter_is_one_for_each() -> None:
    many = server()

    async def use(name: str, others: list[str]) -> list[str]:
        async with many as database:
            create(database.client(), name)
            others.append(name)
            while len(others) < 2:  # noqa: ASYNC110 - the tasks meet
                await asyncio.sleep(0)
            return list(database.client().list_tables()["TableNames"])

    async def use_together() -> list[list[str]]:
        others: list[str] = []
        return list(await asyncio.gather(use("one", others), use("two", others)))

    assert asyncio.run(use_together()) == [["one"], ["two"]]
