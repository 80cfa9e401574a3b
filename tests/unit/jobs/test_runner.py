"""Jobs run in slices, rest when there is nothing to do, survive their own failures, and end with the server."""

import asyncio
import logging
from collections.abc import Callable

import pytest

from hashrange.clock import SystemClock, VirtualClock
from hashrange.errors import StorageError
from hashrange.jobs import runner
from hashrange.jobs.job import AT_ONCE
from hashrange.jobs.runner import Runner


class Scripted:
    """A job whose slices follow a script; the last answer is repeated."""

    name = "scripted"
    waits_for_service_time = False

    def __init__(self, *answers: float | Exception | None) -> None:
        self.answers = list(answers)
        self.slices = 0

    async def run_slice(self) -> float | None:
        answer = self.answers[min(self.slices, len(self.answers) - 1)]
        self.slices += 1
        if isinstance(answer, Exception):
            raise answer
        return answer


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the job knows nothing of events
            await asyncio.sleep(0.001)


def test_slices_follow_each_other_until_there_is_nothing_to_do() -> None:
    async def scenario() -> None:
        job = Scripted(0.0, 0.0, 0.0, None)
        jobs = Runner([job], SystemClock())
        jobs.start()
        await until(lambda: job.slices == 4)
        await asyncio.sleep(0.02)
        assert job.slices == 4
        jobs.wake()
        await until(lambda: job.slices == 5)
        await jobs.stop()

    asyncio.run(scenario())


def test_a_wake_during_a_slice_or_a_long_pause_is_heard() -> None:
    async def scenario() -> None:
        job = Scripted(3600.0, None)
        jobs = Runner([job], SystemClock())
        jobs.start()
        await until(lambda: job.slices == 1)
        jobs.wake()
        await until(lambda: job.slices == 2)
        await jobs.stop()

    asyncio.run(scenario())


def test_a_failing_job_is_told_once_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(runner, "RETRY_SECONDS", 0.001)

    async def scenario() -> None:
        job = Scripted(StorageError("the disk is full"), StorageError("still"), 0.0, ValueError("ours"), None)
        jobs = Runner([job], SystemClock())
        jobs.start()
        await until(lambda: job.slices == 5)
        await jobs.stop()

    with caplog.at_level(logging.ERROR, "hashrange.jobs"):
        asyncio.run(scenario())
    assert [record.getMessage() for record in caplog.records] == [
        "The job scripted waits: the disk is full",
        "The job scripted failed and is tried again.",
    ]


def test_one_job_that_fails_does_not_stop_another() -> None:
    async def scenario() -> None:
        broken, sound = Scripted(ValueError()), Scripted(0.0)
        jobs = Runner([broken, sound], SystemClock())
        jobs.start()
        await until(lambda: sound.slices > 3)
        await jobs.stop()
        slices = sound.slices
        await asyncio.sleep(0.01)
        assert (broken.slices, sound.slices) == (1, slices)

    asyncio.run(scenario())


def test_the_more_waited_the_longer_is_the_pause() -> None:
    """A request that holds the loop for 4 ms after each slice leaves the job little time."""

    async def slices_beside(busy_seconds: float) -> int:
        loop, clock = asyncio.get_running_loop(), SystemClock()
        job = Scripted(0.0)

        async def run_slice() -> float:
            job.slices += 1
            loop.call_soon(work)
            return 0.0

        def work() -> None:
            end_seconds = clock.monotonic() + busy_seconds
            while clock.monotonic() < end_seconds:
                pass

        job.run_slice = run_slice  # type: ignore[method-assign]
        jobs = Runner([job], clock)
        jobs.start()
        await asyncio.sleep(0.2)
        await jobs.stop()
        return job.slices

    assert asyncio.run(slices_beside(0.004)) <= 10
    assert asyncio.run(slices_beside(0.0)) >= 20


def test_nobody_waits_and_there_is_no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses would take an hour; the clock stands still, so no slice was waited for."""
    monkeypatch.setattr(runner, "PAUSE_SECONDS_MAX", 3600.0)
    monkeypatch.setattr(runner, "PAUSE_SECONDS", 3600.0)

    async def scenario() -> None:
        job = Scripted(*[AT_ONCE] * 500, None)
        jobs = Runner([job], VirtualClock())
        jobs.start()
        await until(lambda: job.slices == 501)
        await jobs.stop()

    asyncio.run(scenario())
