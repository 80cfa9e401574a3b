"""An advance of virtual time wakes the jobs that wait for it, and returns when they have done
everything that became due.
"""

import asyncio

import pytest

from hashrange.clock import Clock, MovableClock, SystemClock
from hashrange.errors import StorageError
from hashrange.jobs import runner
from hashrange.jobs.runner import Runner
from hashrange.jobs.virtual_time import advance
from tests.support.clocks import SetClock, VirtualClock, advance_all
from tests.support.waiting import until_at_rest
from tests.unit.jobs.timed import TURNS, Endless, Timed, TimedWorld, turns


class Looking:
    """A job that requests a second slice one microsecond after the first; the second one lasts until the test
    releases it."""

    name = "looking"

    def __init__(self, *, waits_for_service_time: bool) -> None:
        self.waits_for_service_time = waits_for_service_time
        self.looks_again = asyncio.Event()
        self.may_end = asyncio.Event()
        self._has_looked = False

    async def run_slice(self) -> float | None:
        """Run one slice."""
        if not self._has_looked:
            self._has_looked = True
            return 1e-6
        self.looks_again.set()
        await self.may_end.wait()
        return None


def test_an_advance_wakes_who_waits_and_returns_when_all_is_done() -> None:
    async def scenario() -> None:
        world = TimedWorld()
        for _ in range(3):
            world.first.add(5.0)
        world.second.add(4.0)
        async with asyncio.timeout(10), world:
            await world.advance(4.5)
            assert world.log == ["second"]
            await world.advance(0.5)
            assert world.log == ["second", "first", "first", "first"]

    asyncio.run(scenario())


def test_all_three_readings_move_and_the_jobs_are_waited_for() -> None:
    async def scenario() -> None:
        world = TimedWorld(clock := VirtualClock())
        world.first.add(5.0)
        async with asyncio.timeout(10), world:
            before_seconds = world.clock.monotonic()
            await advance_all(clock, world.jobs, 5.0)
            assert world.log == ["first"]
            assert world.clock.monotonic() == before_seconds + 5.0

    asyncio.run(scenario())


def test_work_that_work_makes_due_is_done_as_well() -> None:
    """The second job creates work for the first, which is already at rest, and the first then creates work for the
    second."""

    async def scenario() -> None:
        world = TimedWorld()

        def give_first() -> None:
            for _ in range(9):
                world.first.add(0.0)
            world.first.add(0.0, give_second)
            world.jobs.wake()

        def give_second() -> None:
            world.second.add(0.0)
            world.second.add(3.0)
            world.jobs.wake()

        world.second.add(5.0, give_first)
        async with asyncio.timeout(10), world:
            await world.advance(5.0)
            assert world.log == ["second", *["first"] * 10, "second"]
            await world.advance(3.0)
            assert world.log == ["second", *["first"] * 10, "second", "second"]

    asyncio.run(scenario())


def test_with_nothing_due_an_advance_returns() -> None:
    async def scenario() -> None:
        world = TimedWorld()
        async with asyncio.timeout(10), world:
            await world.advance(5.0)
            world.first.add(5.0)
            world.jobs.wake()
            await world.advance(4.0)
            assert world.log == []
            without_jobs = Runner([], world.clock)
            without_jobs.start()
            await advance(world.clock, without_jobs, 5.0)
            await without_jobs.stop()

    asyncio.run(scenario())


def test_an_advance_during_a_slice_is_heard() -> None:
    async def scenario() -> None:
        world = TimedWorld()
        world.first.add(5.0)
        world.jobs.start()
        async with asyncio.timeout(10):
            await turns(2)
            assert world.first.slices == 1, "the slice has begun, and has seen that nothing is due"
            await world.advance(5.0)
            assert world.log == ["first"]
            await world.jobs.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize("failure", [StorageError("the disk is full"), ValueError("ours")], ids=["storage", "ours"])
def test_a_failure_is_raised_once_the_others_rest_and_the_next_advance_tries_again(
    failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "RETRY_SECONDS", 3600.0)

    async def scenario() -> None:
        world = TimedWorld()
        world.first.add(5.0)
        world.first.failures.append(failure)
        world.second.add(5.0)
        world.second.add(5.0)
        async with asyncio.timeout(10), world:
            with pytest.raises(type(failure), match=str(failure)):
                await world.advance(5.0)
            assert world.log == ["second", "second"]
            await world.advance(0.0)
            assert world.log == ["second", "second", "first"]

    asyncio.run(scenario())


def test_real_time_wakes_nobody_who_waits_for_virtual_time() -> None:
    async def scenario() -> None:
        world = TimedWorld()
        world.first.add(1e-6)
        async with asyncio.timeout(10), world:
            await turns(TURNS)
            assert world.first.slices == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("clock", "waits_for_service_time"),
    [(SystemClock(), True), (SystemClock(), False), (VirtualClock(), False)],
    ids=["service time of a machine", "real time of a machine", "real time beside virtual time"],
)
def test_what_passes_by_itself_ends_a_jobs_rest(*, clock: Clock, waits_for_service_time: bool) -> None:
    async def scenario() -> None:
        job = Looking(waits_for_service_time=waits_for_service_time)
        jobs = Runner([job], clock)
        jobs.start()
        async with asyncio.timeout(10):
            await job.looks_again.wait()
            waiting = asyncio.ensure_future(until_at_rest(jobs))
            await turns(TURNS)
            assert not waiting.done()
            job.may_end.set()
            await waiting
        await jobs.stop()

    asyncio.run(scenario())


def test_a_runner_that_stops_lets_nobody_wait_and_hears_of_no_advance() -> None:
    async def scenario() -> None:
        clock = VirtualClock()
        jobs = Runner([Endless()], clock)
        async with asyncio.timeout(10):
            await advance(clock, jobs, 1.0)  # the runner has not started
        jobs.start()
        assert clock._listeners.callbacks == [jobs._time_moved]
        waiting = asyncio.ensure_future(advance(clock, jobs, 1.0))
        await turns(TURNS)
        assert not waiting.done()
        await jobs.stop()
        async with asyncio.timeout(10):
            await waiting
            await advance(clock, jobs, 1.0)
        assert clock._listeners.callbacks == []

    asyncio.run(scenario())


def test_jobs_that_wait_on_a_running_clock_look_again_when_it_is_moved() -> None:
    """The job waits for an hour of a running clock; moving the clock ends the wait at once."""

    async def scenario() -> None:
        clock, log = MovableClock(SetClock()), list[str]()
        job = Timed("hourly", clock, log)
        job.add(3600.0)
        job.add(7200.0)
        jobs = Runner([job], clock)
        jobs.start()
        async with asyncio.timeout(10):
            await until_at_rest(jobs)
            await advance(clock, jobs, 3599.0)
            assert log == []
            await advance(clock, jobs, 1.0)
            assert log == ["hourly"]
            await advance(clock, jobs, 3600.0)
            assert log == ["hourly", "hourly"]
        await jobs.stop()

    asyncio.run(scenario())
