"""The runner of jobs: jobs run in slices, pause when idle, survive their own failures, and end with the server."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import pytest

from hashrange.clock import SystemClock
from hashrange.errors import RECORDS_TRIES_MAX, RecordsChanged, StorageError
from hashrange.jobs import runner
from hashrange.jobs.job import AT_ONCE
from hashrange.jobs.runner import (
    NOBODY_WAITED_SECONDS,
    PAUSE_FACTOR,
    PAUSE_SECONDS,
    PAUSE_SECONDS_MAX,
    Runner,
)
from tests.support.clocks import VirtualClock
from tests.support.waiting import until


class Scripted:
    """A job whose slices return scripted values; the last one repeats."""

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


def begun_at_once(work: Coroutine[Any, Any, float | None]) -> "asyncio.Future[float | None]":
    """Run a slice that does not wait, in this turn of the loop, as a server does."""
    future: asyncio.Future[float | None] = asyncio.get_running_loop().create_future()
    with pytest.raises(StopIteration) as stop:
        work.send(None)
    future.set_result(stop.value.value)
    return future


async def some_turns() -> None:
    """Yield to the loop 100 times, so that everything runnable has run."""
    for _ in range(100):
        await asyncio.sleep(0)


def test_slices_follow_each_other_until_there_is_nothing_to_do() -> None:
    async def scenario() -> None:
        job = Scripted(0.0, 0.0, 0.0, None)
        jobs = Runner([job], SystemClock())
        jobs.start()
        await until(lambda: job.slices == 4)
        await some_turns()
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


def test_a_slice_runs_again_at_once_if_what_it_has_read_was_changed(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        job = Scripted(RecordsChanged(), RecordsChanged(), None)
        jobs = Runner([job], SystemClock())
        jobs.start()
        await until(lambda: job.slices == 3)
        await jobs.stop()

    asyncio.run(scenario())
    assert not caplog.records


def test_a_job_that_others_always_overtake_fails_and_is_tried_again_later(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        job = Scripted(*[RecordsChanged() for _ in range(RECORDS_TRIES_MAX + 1)])
        jobs = Runner([job], SystemClock())
        jobs.start()
        await until(lambda: caplog.records != [])
        await some_turns()
        assert job.slices == RECORDS_TRIES_MAX
        await jobs.stop()

    with caplog.at_level(logging.ERROR, "hashrange.jobs"):
        asyncio.run(scenario())
    assert [record.getMessage() for record in caplog.records] == ["The job scripted failed and is tried again."]


def test_one_job_that_fails_does_not_stop_another() -> None:
    async def scenario() -> None:
        broken, sound = Scripted(ValueError()), Scripted(0.0)
        jobs = Runner([broken, sound], SystemClock())
        jobs.start()
        await until(lambda: sound.slices > 3)
        await jobs.stop()
        slices = sound.slices
        await some_turns()
        assert (broken.slices, sound.slices) == (1, slices)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("busy_seconds", "pause_seconds"),
    [
        (0.0, 0.0),
        (NOBODY_WAITED_SECONDS / 2, 0.0),
        (1.1 * NOBODY_WAITED_SECONDS, PAUSE_SECONDS),
        (0.001, 0.001 * PAUSE_FACTOR),
        (0.004, PAUSE_SECONDS_MAX),
    ],
)
def test_the_more_waited_the_longer_is_the_pause(
    busy_seconds: float, pause_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a virtual clock: after each slice, a request occupies the loop for `busy_seconds`."""
    clock, job, paused = VirtualClock(), Scripted(*[0.0] * 20, None), [0.0]
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        paused[-1] += seconds
        await sleep(0)

    async def run_slice() -> float | None:
        paused.append(0.0)
        asyncio.get_running_loop().call_soon(clock.advance_all, busy_seconds)
        return await Scripted.run_slice(job)

    async def scenario() -> None:
        jobs = Runner([job], clock, begun_at_once)
        jobs.start()
        while job.slices <= 20:
            await sleep(0)
        await jobs.stop()

    monkeypatch.setattr(job, "run_slice", run_slice)
    monkeypatch.setattr(asyncio, "sleep", note)
    asyncio.run(scenario())
    assert paused[1:-1] == [pytest.approx(pause_seconds, rel=0.001)] * 20


def test_nobody_waits_and_there_is_no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause would last an hour. Because the clock stands still, no request waits for a slice, so there is no
    pause."""
    monkeypatch.setattr(runner, "PAUSE_SECONDS_MAX", 3600.0)
    monkeypatch.setattr(runner, "PAUSE_SECONDS", 3600.0)

    async def scenario() -> None:
        job = Scripted(*[AT_ONCE] * 500, None)
        jobs = Runner([job], VirtualClock())
        jobs.start()
        await until(lambda: job.slices == 501)
        await jobs.stop()

    asyncio.run(scenario())
