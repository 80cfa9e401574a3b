"""Which jobs do tests of service time run? `Timed` ones, whose work is due at moments that
the test sets; without a store.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from random import Random
from typing import Any, Self

from hashrange.clock import Clock, MovableClock
from hashrange.jobs.job import AT_ONCE
from hashrange.jobs.runner import InTurns, Runner
from hashrange.jobs.virtual_time import advance
from tests.support.clocks import SetClock, VirtualClock
from tests.support.waiting import until_at_rest

TURNS = 20
"""Turns of the loop: many more than a job needs to run another slice."""


class Timed:
    """A job with work items, each due at a moment of service time; each slice takes some turns of the loop."""

    waits_for_service_time = True

    def __init__(self, name: str, clock: Clock, log: list[str], times: list[float] | None = None) -> None:
        """`log` and `times` get the job's name and the service time whenever a piece of work is done."""
        self.name = name
        self.slices = 0
        self.failures: list[Exception] = []
        """Exceptions that the next slices with due work raise."""
        self.wake: Callable[[], None] = lambda: None
        """Called when there is new work."""
        self._clock = clock
        self._log = log
        self._times = [] if times is None else times
        self._works: list[tuple[float, Callable[[], None]]] = []

    def add(self, seconds: float, then: Callable[[], None] = lambda: None) -> None:
        """Add work that is due in `seconds` seconds; `then` runs when it is done.
        Work is done in the order of adding.
        """
        self._works.append((self._clock.service_time() + seconds, then))
        self.wake()

    async def run_slice(self) -> float | None:
        """Do one piece of due work."""
        self.slices += 1
        now_seconds = self._clock.service_time()
        await turns(3)
        if not self._works:
            return None
        due_seconds, then = self._works[0]
        if due_seconds > now_seconds:
            return due_seconds - now_seconds
        if self.failures:
            raise self.failures.pop(0)
        del self._works[0]
        self._log.append(self.name)
        self._times.append(self._clock.service_time())
        then()
        return AT_ONCE


class Endless:
    """A job whose slice never ends."""

    name = "endless"
    waits_for_service_time = True

    async def run_slice(self) -> float | None:
        """Wait until cancelled."""
        await asyncio.get_running_loop().create_future()
        return None


class Restless:
    """A job that always asks for the same pause."""

    name = "restless"

    def __init__(self, pause_seconds: float, *, waits_for_service_time: bool = True) -> None:
        self.pause_seconds = pause_seconds
        self.waits_for_service_time = waits_for_service_time
        self.slices = 0

    async def run_slice(self) -> float | None:
        """Count the slice."""
        self.slices += 1
        return self.pause_seconds


class TimedWorld:
    """Two jobs, their clock, and their runner, started on entering the context."""

    def __init__(
        self,
        clock: VirtualClock | MovableClock | None = None,
        others: Sequence[Any] = (),
        in_turns: InTurns = lambda work: work,
    ) -> None:
        """`others`: jobs that follow the two."""
        self.clock: VirtualClock | MovableClock = clock or VirtualClock()
        self.log: list[str] = []
        """Names of the jobs that did a piece of work, in order."""
        self.times: list[float] = []
        """Service time at which each piece of work was done."""
        self.first, self.second = (Timed(name, self.clock, self.log, self.times) for name in ("first", "second"))
        self.jobs = Runner([self.first, self.second, *others], self.clock, in_turns)
        for job in (self.first, self.second):
            job.wake = partial(self.jobs.wake_jobs, job.name)
        self.began_seconds = self.clock.service_time()

    async def __aenter__(self) -> Self:
        self.jobs.start()
        await until_at_rest(self.jobs)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.jobs.stop()

    async def advance(self, seconds: float) -> None:
        """Advance service time."""
        await advance(self.clock, self.jobs, seconds)

    @property
    def passed(self) -> list[float]:
        """Seconds of service time from the world's beginning to each piece of work."""
        return [seconds - self.began_seconds for seconds in self.times]

    def now(self) -> float:
        """Seconds of service time since the world's beginning."""
        return self.clock.service_time() - self.began_seconds


def frozen_clock() -> MovableClock:
    """A machine's clock whose service time is frozen."""
    clock = MovableClock(SetClock())
    clock.freeze()
    return clock


async def turns(count: int) -> None:
    """Let the loop take `count` turns."""
    for _ in range(count):
        await asyncio.sleep(0)


def after_some_turns(chance: Random) -> InTurns:
    """Run slices so that each begins and ends a random number of turns late."""

    async def late(work: Awaitable[float | None]) -> float | None:
        await turns(chance.randrange(5))
        result = await work
        await turns(chance.randrange(5))
        return result

    return late
