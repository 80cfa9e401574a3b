"""How is the memory of an environment looked at? Quickly on the event loop, at length on a thread,
and never more often than need be.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from hashrange.functions import environment
from hashrange.functions.environment import MemoryWatch

MB = 1024 * 1024


class Looks:
    """Counts looks at the memory, at a time that the test moves; the timers of the loop are run by `pass_timer`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, memory_mb: int = 128) -> None:
        self.now_seconds = 0.0
        self.count = 0
        self.used_bytes = 0
        self.is_whole = True
        self.long_look_seconds = 0.0
        self.threads: list[str] = []
        self.pauses_seconds: list[float] = []
        self.watch = MemoryWatch(memory_mb)
        process: Any = SimpleNamespace(pid=1, mark=None, exited=asyncio.get_running_loop().create_future())
        self.exited: asyncio.Future[None] = process.exited
        self.watch.process = process
        self._look: Callable[[], None] = self.watch._look
        monkeypatch.setattr(environment, "memory_used_at_once", self._at_once)
        monkeypatch.setattr(environment, "memory_used_bytes", self._at_length)
        monkeypatch.setattr(environment, "real_seconds", lambda: self.now_seconds)
        monkeypatch.setattr(self.watch, "_look_after", self._note_timer)

    def _at_once(self, _pid: int, _most_bytes: int) -> tuple[int, bool]:
        self.count += 1
        return (self.used_bytes, True) if self.is_whole else (5, False)

    def _at_length(self, _pid: int, _most_bytes: int, _mark: object) -> int:
        self.threads.append(threading.current_thread().name)
        self.now_seconds += self.long_look_seconds
        return self.used_bytes

    def _note_timer(self, seconds: float) -> None:
        self.pauses_seconds.append(seconds)
        self.watch._next_look = asyncio.get_running_loop().call_later(1e6, self._look)

    async def pass_timer(self) -> None:
        """Do what the timer does, to the end."""
        self.watch._next_look.cancel()
        self._look()
        if isinstance(self.watch._next_look, asyncio.Task):
            await self.watch._next_look


def run(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test in a loop."""
    asyncio.run(scenario())


def test_quick_invocations_share_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        looks = Looks(monkeypatch)
        watch = looks.watch
        looks.used_bytes = 5
        watch.see()
        assert (looks.count, watch.used_bytes) == (1, 5)
        looks.used_bytes = 9
        for _ in range(10):
            watch.see()
        assert looks.count == 1
        looks.now_seconds += environment._LOOK_SECONDS
        watch.see()
        assert (looks.count, watch.used_bytes) == (2, 9)
        looks.exited.set_result(None)
        looks.now_seconds += environment._LOOK_SECONDS
        watch.see()
        assert looks.count == 2

    run(scenario)


def test_a_few_processes_are_looked_at_on_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        looks = Looks(monkeypatch)
        with looks.watch.watched():
            await looks.pass_timer()
            assert not looks.watch.over.done()
            looks.used_bytes = 128 * MB + 1
            await looks.pass_timer()
            assert looks.watch.over.done()
        assert looks.pauses_seconds == 2 * [environment._LOOK_SECONDS]
        assert not looks.threads

    run(scenario)


def test_many_processes_are_looked_at_on_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        looks = Looks(monkeypatch)
        looks.is_whole, looks.long_look_seconds = False, 0.1
        looks.used_bytes = 100 * MB
        with looks.watch.watched():
            await looks.pass_timer()
            assert not looks.watch.over.done()
            looks.long_look_seconds = 0.001
            await looks.pass_timer()
            looks.used_bytes = 128 * MB + 1
            await looks.pass_timer()
            assert looks.watch.over.done()
        assert looks.pauses_seconds == [environment._LOOK_SECONDS, pytest.approx(0.4), environment._LOOK_SECONDS]
        assert len(looks.threads) == 3
        assert all(name.startswith("hashrange-memory") for name in looks.threads)

    run(scenario)


def test_the_end_of_an_invocation_waits_for_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        looks = Looks(monkeypatch)
        looks.is_whole = False
        looks.watch.see()
        assert (looks.watch.used_bytes, looks.threads) == (5, [])

    run(scenario)


def test_a_look_on_the_thread_ends_with_its_invocation(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        looks = Looks(monkeypatch)
        looks.is_whole, looks.used_bytes = False, 200 * MB
        with looks.watch.watched():
            over = looks.watch.over
            looks._look()
            look = looks.watch._next_look
            assert isinstance(look, asyncio.Task)
        with looks.watch.watched():
            await asyncio.wait({look})
            assert look.cancelled()
            assert not over.done()
            assert not looks.watch.over.done()

    run(scenario)


def test_the_memory_of_another_process_with_the_same_id_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        looks = Looks(monkeypatch)
        looks.is_whole, looks.used_bytes = False, 200 * MB
        with looks.watch.watched():
            looks._look()
            looks.exited.set_result(None)
            assert isinstance(looks.watch._next_look, asyncio.Task)
            await looks.watch._next_look
            assert looks.watch.used_bytes == 5
            assert not looks.watch.over.done()

    run(scenario)
