"""How are a server's jobs run? By a `Runner`, in one task per job: slice, pause, slice, until the server stops.

Requests that waited for a slice to end run after the slice. The longer they take, the longer the job then pauses; it
does not pause if no request waited. A failed job is tried again a second later, or once woken; no failure of a job may
end the server.

A job rests when it has nothing to do until time passes or `Runner.wake` is called. Virtual service time passes only
when it is moved, which wakes every job; `until_at_rest` returns when all jobs rest again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from hashrange.clock import Clock
from hashrange.errors import StorageError
from hashrange.jobs.job import AT_ONCE, Job

NOBODY_WAITED_SECONDS = 0.0001
"""If the event loop's turns after a slice take less than this, no request waited for the slice to end."""
PAUSE_SECONDS = 0.001
"""Shortest pause between two slices of a job that has more to do, if requests waited."""
PAUSE_SECONDS_MAX = 0.02
PAUSE_FACTOR = 8
"""The pause is this many times the time spent on requests that waited for the slice to end, but at least PAUSE_SECONDS
and at most PAUSE_SECONDS_MAX."""
RETRY_SECONDS = 1.0
"""Pause after a failed slice, in real time, unless the job is woken earlier."""

JobSlice = Coroutine[Any, Any, float | None]
InTurns = Callable[[JobSlice], Awaitable[float | None]]

_log = logging.getLogger("hashrange.jobs")


class _RunningJob:
    """One job and its state."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.wake = asyncio.Event()
        """An event that is set when there may be new work for the job."""
        self.rest = asyncio.Event()
        """An event that is set while the job rests."""
        self.failure: Exception | None = None
        """The error of the job's last slice; None if the slice succeeded."""


class Runner:
    """Runs jobs on the event loop from `start` to `stop`."""

    def __init__(self, jobs: Sequence[Job], clock: Clock, in_turns: InTurns = lambda work: work) -> None:
        """`in_turns` runs a slice so that it gives way to requests, and returns an awaitable of the slice's result."""
        self.jobs = jobs
        self._in_turns = in_turns
        self._clock = clock
        self._monotonic = clock.monotonic
        self._tasks: list[asyncio.Task[None]] = []
        self._running = [_RunningJob(job) for job in jobs]
        self._stop_listening: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Start all jobs on the running event loop; each looks for work at once."""
        loop = asyncio.get_running_loop()
        self._stop_listening = self._clock.on_advance(self.wake)
        self._tasks = [
            loop.create_task(self._run(running), name=f"hashrange-{running.job.name}") for running in self._running
        ]

    def wake(self) -> None:
        """Let every job look for work, because there is new work or time was moved."""
        for running in self._running:
            running.wake.set()
            running.rest.clear()

    async def until_at_rest(self) -> None:
        """Return once all jobs rest at the same time, and have done the work that they made for each other.

        Also returns once the runner has stopped. Raises the error of a job whose last slice failed: a failed job rests
        until it is tried again.
        """
        while self._tasks and not all(running.rest.is_set() for running in self._running):
            for running in self._running:
                await running.rest.wait()
        for running in self._running:
            if running.failure is not None:
                raise running.failure

    async def stop(self) -> None:
        """Cancel the tasks of all jobs, between slices or at an `await` in a slice; returns when they have ended."""
        self._stop_listening()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        for running in self._running:
            running.rest.set()

    async def _run(self, running: _RunningJob) -> None:
        """Run one job's slices until the task is cancelled."""
        job = running.job
        while True:
            running.wake.clear()
            try:
                pause_seconds = await self._in_turns(job.run_slice())
            except Exception as error:  # noqa: BLE001 - a failed job must not end the server
                if running.failure is None:
                    _log_failure(job, error)
                running.failure = error
                await _rest(running, RETRY_SECONDS)
                continue
            running.failure = None
            if pause_seconds is not None and pause_seconds <= AT_ONCE:
                await self._give_way()
            elif job.waits_for_service_time and self._clock.is_virtual:
                await _rest(running, None)  # an advance of virtual time wakes the job
            else:
                await _rest(running, pause_seconds)

    async def _give_way(self) -> None:
        """After a slice, let waiting requests run, then pause the job in proportion to the time that they took."""
        slice_ended_seconds = self._monotonic()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting_seconds = self._monotonic() - slice_ended_seconds
        if waiting_seconds >= NOBODY_WAITED_SECONDS:
            await asyncio.sleep(min(max(PAUSE_SECONDS, PAUSE_FACTOR * waiting_seconds), PAUSE_SECONDS_MAX))


async def _rest(running: _RunningJob, seconds: float | None) -> None:
    """Let a job rest until it is woken, or for at most `seconds` (None: without limit)."""
    if running.wake.is_set():
        return
    running.rest.set()
    try:
        await asyncio.wait_for(running.wake.wait(), seconds)
    except TimeoutError:
        running.rest.clear()


def _log_failure(job: Job, error: Exception) -> None:
    """Log a StorageError in one line, any other error (a bug) with its traceback."""
    if isinstance(error, StorageError):
        _log.error("The job %s waits: %s", job.name, error)
    else:
        _log.error("The job %s failed and is tried again.", job.name, exc_info=error)
