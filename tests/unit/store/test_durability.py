"""The commit barrier: one sync for many commits, no durability reported early,
and failures reported to all who wait.
"""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from hashrange.errors import StorageError
from hashrange.store.embedded.durability import CommitBarrier, VolatileBarrier
from tests.support.waiting import PATIENCE_SECONDS, until
from tests.unit.store.conftest import Run


class GatedSync:
    """A sync that lasts until the test releases it, and fails if the test says so."""

    def __init__(self) -> None:
        self.started = threading.Semaphore(0)
        self.allowed = threading.Semaphore(0)
        self.error: Exception | None = None
        self.count = 0

    def __call__(self) -> None:
        self.count += 1
        self.started.release()
        assert self.allowed.acquire(timeout=PATIENCE_SECONDS)
        if self.error is not None:
            raise self.error


class Bench:
    """A barrier over a gated sync, and the order of its callbacks."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.sync = GatedSync()
        self.barrier = CommitBarrier(loop, self.sync, self.fail)
        self.heard: list[tuple[int, StorageError | None]] = []

    def fail(self, error: Exception) -> StorageError:
        """Fail the barrier, as the store does."""
        fault = StorageError(str(error))
        self.barrier.fail(fault)
        return fault

    def wait_for(self, position: int) -> None:
        """Note when the barrier reports `position` as durable."""
        self.barrier.when_durable(position, lambda error: self.heard.append((position, error)))

    async def until_heard(self, count: int) -> None:
        """Run the loop until `count` callbacks came."""
        await until(lambda: len(self.heard) >= count)

    async def until_started(self) -> None:
        """Run the loop until a sync has begun."""
        await until(lambda: self.sync.started.acquire(blocking=False))


@pytest.fixture
def bench(loop: asyncio.AbstractEventLoop) -> Iterator[Bench]:
    bench = Bench(loop)
    yield bench
    bench.sync.allowed.release(100)
    bench.barrier.finish()


def test_all_commits_of_one_turn_share_a_sync(bench: Bench, run: Run) -> None:
    async def scenario() -> None:
        for position in range(1, 6):
            bench.barrier.commit()
            bench.wait_for(position)
        await bench.until_started()
        assert bench.heard == []
        assert bench.barrier.durable_position == 0
        bench.sync.allowed.release()
        await bench.until_heard(5)

    run(scenario())
    assert bench.heard == [(position, None) for position in range(1, 6)]
    assert bench.barrier.durable_position == 5
    assert bench.sync.count == 1


def test_commits_during_a_sync_wait_for_the_next_one(bench: Bench, run: Run) -> None:
    async def scenario() -> None:
        bench.barrier.commit()
        bench.wait_for(1)
        await bench.until_started()
        for position in (2, 3):
            bench.barrier.commit()
            bench.wait_for(position)
            await asyncio.sleep(0)
        bench.sync.allowed.release()
        await bench.until_heard(1)
        assert bench.heard == [(1, None)]
        await bench.until_started()
        bench.sync.allowed.release()
        await bench.until_heard(3)

    run(scenario())
    assert bench.sync.count == 2


def test_what_is_durable_already_is_told_at_once(bench: Bench) -> None:
    bench.wait_for(0)
    assert bench.heard == [(0, None)]


def test_a_failed_sync_tells_everybody_and_nothing_becomes_durable(bench: Bench, run: Run) -> None:
    async def scenario() -> None:
        bench.barrier.commit()
        bench.wait_for(1)
        await bench.until_started()
        bench.barrier.commit()
        bench.wait_for(2)
        bench.sync.error = OSError("no more")
        bench.sync.allowed.release()
        await bench.until_heard(2)

    run(scenario())
    assert [str(error) for _, error in bench.heard] == ["no more", "no more"]
    bench.wait_for(2)
    assert str(bench.heard[-1][1]) == "no more"
    assert bench.barrier.durable_position == 0


def test_after_a_restart_old_syncs_say_nothing(bench: Bench, run: Run) -> None:
    async def scenario() -> None:
        bench.barrier.commit()
        await bench.until_started()
        bench.barrier.fail(StorageError("gone"))
        bench.barrier.begin_at(2)
        bench.barrier.restart()
        assert bench.barrier.durable_position == bench.barrier.position == 2
        bench.sync.allowed.release(2)
        bench.barrier.commit()
        bench.wait_for(3)
        await bench.until_heard(1)

    run(scenario())
    assert bench.heard == [(3, None)]


def test_commits_are_synced_again_after_a_sync_that_failed_while_one_came(bench: Bench, run: Run) -> None:
    """The commit that came during the failed sync did not start a sync of its own."""

    async def scenario() -> None:
        bench.barrier.commit()
        bench.wait_for(1)
        await bench.until_started()
        bench.barrier.commit()
        bench.sync.error = OSError("no more")
        bench.sync.allowed.release()
        await bench.until_heard(1)
        bench.sync.error = None
        bench.barrier.restart()
        bench.sync.allowed.release(3)
        bench.barrier.commit()
        bench.wait_for(bench.barrier.position)
        await bench.until_heard(2)

    run(scenario())
    assert [position for position, error in bench.heard if error is None] == [bench.barrier.position]


def test_finish_syncs_what_is_left(bench: Bench) -> None:
    bench.sync.allowed.release(2)
    bench.barrier.commit()
    bench.wait_for(1)
    bench.barrier.finish()
    assert bench.heard == [(1, None)]


def test_content_that_is_deleted_is_not_synced(bench: Bench) -> None:
    bench.barrier.commit()
    bench.wait_for(1)
    bench.barrier.finish(is_kept=False)
    assert (bench.heard, bench.sync.count) == ([(1, None)], 0)


def test_a_sync_that_was_due_at_the_end_starts_no_thread(bench: Bench, run: Run) -> None:
    bench.sync.allowed.release(3)

    async def scenario() -> None:
        bench.barrier.commit()
        bench.barrier.finish()
        for _ in range(3):
            await asyncio.sleep(0)
        assert bench.barrier._thread is None
        bench.barrier.commit()
        bench.wait_for(2)
        await bench.until_heard(1)

    run(scenario())
    assert bench.heard == [(2, None)]


def test_a_failing_callback_harms_no_other(bench: Bench, run: Run, loop: asyncio.AbstractEventLoop) -> None:
    reports: list[object] = []
    loop.set_exception_handler(lambda _, context: reports.append(context["exception"]))
    mistake = ValueError("a callback's own")

    def stumble(_error: StorageError | None) -> None:
        raise mistake

    async def scenario() -> None:
        bench.barrier.commit()
        bench.barrier.when_durable(1, stumble)
        bench.wait_for(1)
        bench.sync.allowed.release()
        await bench.until_heard(1)

    run(scenario())
    assert bench.heard == [(1, None)]
    assert reports == [mistake]


def test_a_volatile_barrier_is_always_durable() -> None:
    barrier = VolatileBarrier(None, lambda: None, lambda error: StorageError(str(error)))
    barrier.commit()
    heard: list[StorageError | None] = []
    barrier.when_durable(barrier.position, heard.append)
    assert heard == [None]
    assert barrier.durable_position == barrier.position == 1


def test_a_volatile_barrier_ends_its_thread(loop: asyncio.AbstractEventLoop) -> None:
    barrier = VolatileBarrier(loop, lambda: None, StorageError)
    ran_on: list[threading.Thread] = []
    has_run = threading.Event()

    def note() -> None:
        ran_on.append(threading.current_thread())
        has_run.set()

    barrier.run_on_thread(note)
    assert has_run.wait(PATIENCE_SECONDS)
    barrier.finish()
    assert not ran_on[0].is_alive()
    assert barrier.is_due


def test_commits_of_following_turns_share_one_sync(bench: Bench, run: Run) -> None:
    async def scenario() -> None:
        for position in range(1, 6):
            bench.barrier.commit()
            bench.wait_for(position)
            await asyncio.sleep(0)
        bench.sync.allowed.release()
        await bench.until_heard(5)
        assert bench.sync.count == 1

    run(scenario())


def test_a_stream_of_commits_does_not_put_the_sync_off(bench: Bench, run: Run) -> None:
    async def scenario() -> None:
        while not bench.sync.started.acquire(blocking=False):
            bench.barrier.commit()
            await asyncio.sleep(0)
        bench.sync.allowed.release(2)
        bench.wait_for(bench.barrier.position)
        await bench.until_heard(1)

    run(scenario())


def test_commits_during_a_sync_get_the_next_one(bench: Bench, run: Run) -> None:
    async def scenario() -> None:
        bench.barrier.commit()
        await bench.until_started()
        bench.barrier.commit()
        bench.wait_for(2)
        for _ in range(10):
            await asyncio.sleep(0)
        assert bench.sync.count == 1
        bench.sync.allowed.release(2)
        await bench.until_heard(1)
        assert bench.sync.count == 2

    run(scenario())
