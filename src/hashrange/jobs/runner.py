"""Who runs the jobs of a server? A task for each: slice, pause, slice, until the server stops.

Whoever waited for a slice to end has a turn after it. The more requests had waited, the longer is the pause that follows: a job has
the server to itself only when nobody else wants it, and then it hardly pauses. A job that fails is tried again a little
later; nothing it does may end the server.

A job rests when it has nothing to do before time passes or something wakes it. Service time that is virtual passes only when
somebody moves it, which wakes every job; the runner knows when all rest again (`until_at_rest`).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from hashrange.clock import Clock
from hashrange.errors import StorageError
from hashrange.jobs.job import AT_ONCE, Job

NOBODY_WAITED_SECONDS = 0.0001
"""A turn of the loop that was over so soon had nothing to do."""
PAUSE_SECONDS = 0.001
"""Between two slices of a job that has more to do, when somebody waited."""
PAUSE_SECONDS_MAX = 0.02
PAUSE_PER_WAITING = 8
"""A pause is so many times as long as it took to do what had waited for the slice to end."""
RETRY_SECONDS = 1.0
"""After a failure, in real time; a wake ends this pause as well."""

JobSlice = Coroutine[Any, Any, float | None]
InTurns = Callable[[JobSlice], Awaitable[float | None]]

_log = logging.getLogger("hashrange.jobs")


class _Line:
    """One job, and where it is."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.wake = asyncio.Event()
        """There may be something new to do."""
        self.rest = asyncio.Event()
        """The job waits, and nothing has woken it."""
        self.failure: Exception | None = None
        """What the last slice failed with."""


class Runner:
    """Runs jobs on the event loop from `start` to `stop`."""

    def __init__(self, jobs: Sequence[Job], clock: Clock, in_turns: InTurns = lambda work: work) -> None:
        """`in_turns` runs a slice so that others have their turn in the midst of it; what it returns is awaited."""
        self.jobs = jobs
        self._in_turns = in_turns
        self._clock = clock
        self._monotonic = clock.monotonic
        self._tasks: list[asyncio.Task[None]] = []
        self._lines = [_Line(job) for job in jobs]
        self._stop_listening: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Begin; every job looks for work at once."""
        loop = asyncio.get_running_loop()
        self._stop_listening = self._clock.on_advance(self.wake)
        self._tasks = [loop.create_task(self._run(line), name=f"hashrange-{line.job.name}") for line in self._lines]

    def wake(self) -> None:
        """There is something new to do, or time has been moved: let every job look."""
        for line in self._lines:
            line.wake.set()
            line.rest.clear()

    async def until_at_rest(self) -> None:
        """Return once all jobs rest at the same moment, whatever work they made for each other, or the runner has stopped.

        Raises what a job failed with, if its last slice did: that one rests until it is tried again.
        """
        while self._tasks and not all(line.rest.is_set() for line in self._lines):
            for line in self._lines:
                await line.rest.wait()
        for line in self._lines:
            if line.failure is not None:
                raise line.failure

    async def stop(self) -> None:
        """End all jobs between two slices, or where one waits; returns when they have ended."""
        self._stop_listening()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        for line in self._lines:
            line.rest.set()

    async def _run(self, line: _Line) -> None:
        """One job, for ever."""
        job = line.job
        while True:
            line.wake.clear()
            try:
                pause_seconds = await self._in_turns(job.run_slice())
            except Exception as error:  # noqa: BLE001 - whatever failed, the server goes on
                if line.failure is None:
                    _log_failure(job, error)
                line.failure = error
                await _rest(line, RETRY_SECONDS)
                continue
            line.failure = None
            if pause_seconds is not None and pause_seconds <= AT_ONCE:
                await self._give_way()
            elif job.waits_for_service_time and self._clock.is_virtual:
                await _rest(line, None)  # an advance wakes it
            else:
                await _rest(line, pause_seconds)

    async def _give_way(self) -> None:
        """Let everybody who waits have their turn, and then some."""
        slice_ended_seconds = self._monotonic()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting_seconds = self._monotonic() - slice_ended_seconds
        if waiting_seconds >= NOBODY_WAITED_SECONDS:
            await asyncio.sleep(min(max(PAUSE_SECONDS, PAUSE_PER_WAITING * waiting_seconds), PAUSE_SECONDS_MAX))


async def _rest(line: _Line, seconds: float | None) -> None:
    """Until woken, at most so long; None: however long that takes."""
    if line.wake.is_set():
        return
    line.rest.set()
    try:
        await asyncio.wait_for(line.wake.wait(), seconds)
    except TimeoutError:
        line.rest.clear()


def _log_failure(job: Job, error: Exception) -> None:
    """The operator's failures in one line, ours with their trace."""
    if isinstance(error, StorageError):
        _log.error("The job %s waits: %s", job.name, error)
    else:
        _log.error("The job %s failed and is tried again.", job.name, exc_info=error)
