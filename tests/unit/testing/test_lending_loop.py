"""An event loop that other threads borrow while it waits: one thread at a time runs,
and nothing that is scheduled is forgotten.
"""

import asyncio
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from hashrange.testing import Database, server
from hashrange.testing.lending_loop import LendingLoop
from tests.unit.testing.music import create

SECONDS_MAX = 30
"""It only ends a test that would hang."""
ROUNDS = 300


class Looping:
    """A LendingLoop that runs on a thread of its own."""

    def __init__(self) -> None:
        self._started: Future[LendingLoop] = Future()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        self.loop = self._started.result(SECONDS_MAX)

    def _run(self) -> None:
        loop = LendingLoop()
        loop.call_soon(self._started.set_result, loop)
        loop.run_forever()
        loop.close()

    def lend(self, function: Any, *arguments: Any) -> None:
        """Borrow the loop once it waits."""
        while not self.loop.lend(function, *arguments):
            pass

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(SECONDS_MAX)


@pytest.fixture
def looping() -> Iterator[Looping]:
    looping = Looping()
    yield looping
    if looping.thread.is_alive():
        looping.stop()


def test_a_function_runs_on_the_borrowers_thread_with_the_loop_as_its_own(looping: Looping) -> None:
    seen: list[object] = []
    looping.lend(lambda: seen.extend([threading.get_ident(), asyncio.get_running_loop()]))
    assert seen == [threading.get_ident(), looping.loop]
    with pytest.raises(RuntimeError, match="no running event loop"):
        asyncio.get_running_loop()


def test_a_borrower_within_a_loop_of_its_own_returns_to_that(looping: Looping) -> None:
    async def borrow() -> bool:
        looping.lend(int)
        return asyncio.get_running_loop() is own

    own = asyncio.new_event_loop()
    assert own.run_until_complete(borrow())
    own.close()


def test_what_a_borrower_schedules_runs_on_the_loops_thread(looping: Looping) -> None:
    for schedule in (looping.loop.call_soon, lambda function: looping.loop.call_later(0.0, function)):
        ran: Future[int] = Future()
        looping.lend(schedule, lambda ran=ran: ran.set_result(threading.get_ident()))
        assert ran.result(SECONDS_MAX) == looping.thread.ident


def test_a_busy_loop_is_not_lent(looping: Looping) -> None:
    is_busy, may_end = threading.Event(), threading.Event()

    def work() -> None:
        is_busy.set()
        may_end.wait(SECONDS_MAX)

    looping.loop.call_soon_threadsafe(work)
    assert is_busy.wait(SECONDS_MAX)
    called: list[int] = []
    assert not looping.loop.lend(called.append, 1)
    may_end.set()
    looping.lend(called.append, 2)
    assert called == [2]


def test_a_failed_borrower_gives_the_loop_back(looping: Looping) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        looping.lend(fail)
    looping.lend(int)
    ran: Future[None] = Future()
    looping.loop.call_soon_threadsafe(ran.set_result, None)
    ran.result(SECONDS_MAX)


def test_a_loop_that_has_ended_or_is_debugged_is_not_lent(looping: Looping) -> None:
    looping.loop.set_debug(True)
    looping.loop.call_soon_threadsafe(int)
    assert not looping.loop.lend(int)
    looping.stop()
    assert not looping.loop.lend(int)


def test_one_thread_at_a_time(looping: Looping) -> None:
    """Borrowers and callbacks add to a number in two steps, between which no other may come."""
    total = [0]

    def add() -> None:
        seen = total[0]
        for _ in range(20):
            pass
        total[0] = seen + 1

    def borrow() -> None:
        for _ in range(ROUNDS):
            looping.lend(add)
            looping.loop.call_soon_threadsafe(add)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: borrow(), range(4)))
    ended: Future[None] = Future()
    looping.loop.call_soon_threadsafe(ended.set_result, None)
    ended.result(SECONDS_MAX)
    assert total == [4 * 2 * ROUNDS]


# --- a database -----------------------------------------------------------------------------------------


@pytest.fixture
def database() -> Iterator[Database]:
    with server() as database:
        yield database


def test_small_reads_run_on_their_clients_thread_and_writes_do_not(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = database.client()
    create(client)
    store = database._process.service.store
    seen: list[int] = []

    def see(name: str) -> None:
        former = getattr(store, name)

        def call(*arguments: Any, **named: Any) -> Any:
            seen.append(threading.get_ident())
            return former(*arguments, **named)

        monkeypatch.setattr(store, name, call)

    see("get")
    see("mutate")
    key = {"pk": {"S": "a"}}
    client.put_item(TableName="music", Item=key)
    assert seen == [database._process._thread.ident]
    while threading.get_ident() not in seen:  # a database that is at work, such as in a job, takes the request itself
        assert client.get_item(TableName="music", Key=key)["Item"] == key


def test_many_threads_read_what_they_have_written(database: Database) -> None:
    client = database.client()
    create(client)

    def use(thread: int) -> None:
        for number in range(40):
            item = {"pk": {"S": f"{thread}"}, "n": {"N": f"{number}"}}
            client.put_item(TableName="music", Item=item)
            for _ in range(2):
                found = client.get_item(TableName="music", Key={"pk": item["pk"]}, ConsistentRead=True)
                assert found["Item"] == item

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(use, range(4)))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that send signals")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the handler may raise in a destructor
def test_a_signal_handler_that_raises_leaves_the_database_usable(database: Database) -> None:
    """As Ctrl-C and the time-outs of pytest do; wherever it comes, also while the loop is borrowed."""
    client = database.client()
    create(client)
    item = {"pk": {"S": "a"}}
    client.put_item(TableName="music", Item=item)

    class Interrupt(BaseException):
        """Not a KeyboardInterrupt, which would end the whole run if it came outside the test."""

    def read_until_interrupted(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while not interrupts:
            client.get_item(TableName="music", Key=item)
        raise Interrupt  # the handler's own was ignored, as Python does with what a destructor raises

    def interrupt(*_: Any) -> None:
        interrupts.append(None)
        raise Interrupt

    former = signal.signal(signal.SIGALRM, interrupt)
    try:
        for number in range(ROUNDS):
            interrupts: list[None] = []
            with pytest.raises(Interrupt):
                read_until_interrupted(0.0005 + number * 3e-6)
            client.put_item(TableName="music", Item=item | {"n": {"N": str(number)}})
            assert client.get_item(TableName="music", Key=item)["Item"]["n"] == {"N": str(number)}
    finally:
        signal.signal(signal.SIGALRM, former)
