"""Who runs the jobs of a server? A task for each: slice, pause, slice, until the server stops.

Pauses are timers, never a bare `sleep(0)`: requests that wait and the thread that syncs get their turn in between.
A job that fails is tried again a little later; nothing it does may end the server.
"""

import asyncio
import logging
from collections.abc import Sequence

from hashrange.errors import StorageError
from hashrange.jobs.job import Job

PAUSE_SECONDS = 0.001
"""Between two slices of a job that has more to do."""
RETRY_SECONDS = 1.0
"""After a failure."""

_log = logging.getLogger("hashrange.jobs")


class Runner:
    """Runs jobs on the event loop from `start` to `stop`."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = jobs
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
                await asyncio.sleep(PAUSE_SECONDS)
            else:
                await _wait(wake, pause_seconds)


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
