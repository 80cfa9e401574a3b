"""Stopping the jobs: also in the very turn in which one is woken."""

import asyncio

from hashrange.clock import SystemClock
from hashrange.jobs.runner import Runner


class Resting:
    """A job that has nothing to do for an hour."""

    name = "resting"
    waits_for_service_time = False

    async def run_slice(self) -> float | None:
        return 3600.0


def test_jobs_that_are_woken_as_they_are_stopped_end() -> None:
    async def run() -> None:
        runner = Runner([Resting()], SystemClock())
        runner.start()
        for _ in range(5):
            await asyncio.sleep(0)
        runner.wake()
        await asyncio.sleep(0)
        await asyncio.wait_for(runner.stop(), 30)

    asyncio.run(run())
