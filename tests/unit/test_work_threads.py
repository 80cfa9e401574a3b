"""Work that blocks is done one piece at a time, whoever wants it; meanwhile threads take brief turns,
and afterwards no thread is left.
"""

import asyncio
import sys
import threading
from collections.abc import Iterator

import pytest

from hashrange.work_threads import SWITCH_SECONDS, WorkThread, brief_turns, free_entries
from tests.support.waiting import PATIENCE_SECONDS, until, wait_until


@pytest.fixture(autouse=True)
def _same_turns() -> Iterator[None]:
    """Turns are as before after each test, and no thread of the tests is left."""
    before = sys.getswitchinterval()
    yield
    wait_until(lambda: not [one for one in threading.enumerate() if one.name.startswith("test-work")])
    assert sys.getswitchinterval() == before


class Pieces:
    """Pieces of work that say when they run, and wait until they may end."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.running, self.most, self.count = 0, 0, 0

    def __call__(self, result: int) -> int:
        self.running += 1
        self.count += 1
        self.most = max(self.most, self.running)
        assert self.may_end.wait(PATIENCE_SECONDS)
        assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
        self.running -= 1
        return result


def test_one_piece_at_a_time() -> None:
    pieces, thread = Pieces(), WorkThread("test-work")

    async def scenario() -> None:
        tasks = [asyncio.ensure_future(thread.run(pieces, number)) for number in range(6)]
        await until(lambda: pieces.count)
        pieces.may_end.set()
        assert await asyncio.gather(*tasks) == list(range(6))

    asyncio.run(scenario())
    assert (pieces.count, pieces.most) == (6, 1)
    asyncio.run(scenario())
    assert (pieces.count, pieces.most) == (12, 1)


def test_one_piece_at_a_time_for_all_loops() -> None:
    pieces, thread = Pieces(), WorkThread("test-work")
    loops = [threading.Thread(target=lambda: asyncio.run(thread.run(pieces, 1))) for _ in range(4)]
    for one in loops:
        one.start()
    wait_until(lambda: thread._pieces_count == 4)
    pieces.may_end.set()
    for one in loops:
        one.join()
    assert (pieces.count, pieces.most) == (4, 1)


def test_an_error_is_the_callers() -> None:
    thread = WorkThread("test-work")
    with pytest.raises(ZeroDivisionError):
        asyncio.run(thread.run(lambda: 1 // 0))
    assert asyncio.run(thread.run(lambda: 1)) == 1


def test_a_caller_that_is_cancelled() -> None:
    """What has begun goes on, and what has not is left out."""
    pieces, thread = Pieces(), WorkThread("test-work")

    async def scenario() -> None:
        tasks = [asyncio.ensure_future(thread.run(pieces, number)) for number in range(3)]
        await until(lambda: pieces.count)
        for one in tasks[:2]:
            one.cancel()
        await asyncio.wait(tasks[:2])
        pieces.may_end.set()
        assert await tasks[2] == 2

    asyncio.run(scenario())
    assert (pieces.count, pieces.most) == (2, 1)


def test_turns_are_brief_until_the_last_one_ends() -> None:
    with brief_turns():
        with brief_turns():
            assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
        assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)


def test_entries_are_freed_one_by_one() -> None:
    """At once, they would keep all other threads from running."""
    left: list[int] = []

    class Noted:
        def __del__(self) -> None:
            left.append(len(first) + len(second))

    first, second = {number: Noted() for number in range(2)}, {"a": Noted()}
    free_entries(first, second)
    assert left == [2, 1, 0]
