"""Who runs the jobs of a server? A task for each: slice, pause, slice, until the server stops.

Whoever waited for a slice to end has a turn after it. The more requests had waited, the longer is the pause that follows: a job has
the server to itself only when nobody else wants it, and then it hardly pauses. A job that fails is tried again a little
later; nothing it does may end the server.
"""

import asyncio
import logging
from collections.abc import Sequence

from hashrange.clock import Clock
from hashrange.errors import StorageError
from hashrange.jobs.job import Job

NOBODY_WAITED_SECONDS = 0.0001
"""A turn of the loop that was over so soon had nothing to do."""
PAUSE_SECONDS = 0.001
"""Between two slices of a job that has more to do, when somebody waited."""
PAUSE_SECONDS_MAX = 0.02
PAUSE_PER_WAITING = 8
"""A pause is so many times as long as it took to do what had waited for the slice to end."""
RETRY_SECONDS = 1.0
"""After a failure."""

_log = logging.getLogger("hashrange.jobs")


class Runner:
    """Runs jobs on the event loop from `start` to `stop`."""

    def __init__(self, jobs: Sequence[Job], clock: Clock) -> None:
        self.jobs = jobs
        self._monotonic = clock.monotonic
        self._tasks: list[asyncio.Task[None]] = []
        self._wakes = [asyncio.Event() for _ in jobs]

    def start(self) -> None:
        """Begin; every job looks for work at once."""
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._run(job, wake), name=f"hashrange-{job.name}")
            for job, wake in zip(self.jobs, self._wakes, strict=True)
        ]

    def wake(self) -> None:
        """There is something new to do: let every job look."""
        for wake in self._wakes:
            wake.set()

    async def stop(self) -> None:
        """End all jobs between two slices, or where one waits; returns when they have ended."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def _run(self, job: Job, wake: asyncio.Event) -> None:
        """One job, for ever."""
        has_failed = False
        while True:
            wake.clear()
            try:
                pause_seconds = await job.run_slice()
            except Exception as error:  # noqa: BLE001 - whatever failed, the server goes on
                if not has_failed:
                    _log_failure(job, error)
                has_failed = True
                await asyncio.sleep(RETRY_SECONDS)
                continue
            has_failed = False
            if pause_seconds is None:
                await wake.wait()
            elif pause_seconds <= PAUSE_SECONDS:
                await self._give_way()
            else:
                await _wait(wake, pause_seconds)

    async def _give_way(self) -> None:
        """Let everybody who waits have their turn, and then some."""
        slice_ended_seconds = self._monotonic()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting_seconds = self._monotonic() - slice_ended_seconds
        if waiting_seconds >= NOBODY_WAITED_SECONDS:
            await asyncio.sleep(min(max(PAUSE_SECONDS, PAUSE_PER_WAITING * waiting_seconds), PAUSE_SECONDS_MAX))


async def _wait(wake: asyncio.Event, seconds: float) -> None:
    """Until woken, at most so long."""
    try:
        await asyncio.wait_for(wake.wait(), seconds)
    except TimeoutError:
        return


def _log_failure(job: Job, error: Exception) -> None:
    """The operator's failures in one line, ours with their trace."""
    if isinstance(error, StorageError):
        _log.error("The job %s waits: %s", job.name, error)
    else:
        _log.error("The job %s failed and is tried again.", job.name, exc_info=error)
