"""No job, failure or caller lets an advance wait forever, or keeps work from being done."""

import asyncio
from itertools import pairwise

import pytest

from hashrange.clock import MovableClock
from hashrange.errors import StorageError
from hashrange.jobs import runner, virtual_time
from hashrange.jobs.job import AT_ONCE
from hashrange.jobs.runner import Runner
from hashrange.jobs.virtual_time import advance
from tests.support.clocks import SetClock, VirtualClock, advance_all
from tests.unit.jobs.timed import TURNS, Endless, Restless, Timed, TimedWorld, frozen_clock, turns

HOUR = 3600.0


@pytest.mark.parametrize("failure", [StorageError("the disk is full"), ValueError("ours")], ids=["storage", "ours"])
def test_a_job_that_fails_on_the_way_is_left_out_and_its_error_raised_at_the_end(failure: Exception) -> None:
    async def scenario() -> None:
        world = TimedWorld()
        world.first.add(5.0)
        world.first.failures.append(failure)
        world.first.add(6.0)
        for seconds in (4.0, 5.0, 7.0, 10.0):
            world.second.add(seconds, world.jobs.wake)
        async with asyncio.timeout(10), world:
            with pytest.raises(type(failure), match=str(failure)):
                await world.advance(10.0)
            assert (world.log, world.passed) == (["second"] * 4, [4.0, 5.0, 7.0, 10.0])
            assert world.now() == 10.0
            await world.advance(0.0)
            assert world.log[4:] == ["first"] * 2

    asyncio.run(scenario())


def test_a_job_that_has_failed_in_an_advance_is_tried_again_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "RETRY_SECONDS", 0.001)

    async def scenario() -> None:
        world = TimedWorld()
        tried_again = asyncio.Event()
        world.first.add(5.0, tried_again.set)
        world.first.failures.append(StorageError("the disk is full"))
        async with asyncio.timeout(10), world:
            with pytest.raises(StorageError):
                await world.advance(10.0)
            await tried_again.wait()

    asyncio.run(scenario())


def test_a_job_that_was_woken_while_it_failed_in_an_advance_waits_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "RETRY_SECONDS", HOUR)

    async def scenario() -> None:
        world = TimedWorld()

        async def fail() -> float | None:
            fails.append(world.now())
            world.jobs.wake()
            await turns(1)
            raise StorageError("the disk is full")

        fails = list[float]()
        world.first.add(5.0)
        async with asyncio.timeout(10), world:
            world.first.run_slice = fail  # type: ignore[method-assign]
            with pytest.raises(StorageError):
                await world.advance(10.0)
            await turns(TURNS)
            assert fails == [5.0]
            await world.jobs.all_at_rest()

    asyncio.run(scenario())


def test_a_job_that_never_rests_is_taken_for_a_failed_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SLICES_MAX", 50)

    async def scenario() -> None:
        restless = Restless(3.0)
        world = TimedWorld(others=[restless])
        world.first.add(5.0, lambda: setattr(restless, "pause_seconds", AT_ONCE))
        world.second.add(7.0)
        async with asyncio.timeout(10), world:
            for end_seconds in (10.0, 20.0):
                with pytest.raises(AssertionError, match="the job restless does not rest"):
                    await world.advance(10.0)
                assert (world.log, world.passed) == (["first", "second"], [5.0, 7.0])
                assert world.now() == end_seconds
            restless.pause_seconds = 5.0
            await world.advance(10.0)

    asyncio.run(scenario())


def test_jobs_that_rest_may_run_any_number_of_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SLICES_MAX", 50)

    async def scenario() -> None:
        real = Restless(HOUR, waits_for_service_time=False)
        world = TimedWorld(others=[restless := Restless(1.0), real])
        for _ in range(100):
            world.first.add(0.0)
        async with asyncio.timeout(10), world:
            assert len(world.log) == 100
            await world.advance(100.0)
            for _ in range(60):
                await world.advance(0.0)
            assert (restless.slices > 100, real.slices > 60) == (True, True)

    asyncio.run(scenario())


def test_an_advance_goes_on_where_rounding_makes_a_pause_nothing() -> None:
    """The job wants to run a billionth of a second after five seconds, which is the same float as five seconds."""

    class Finer(Restless):
        async def run_slice(self) -> float | None:
            self.slices += 1
            left_seconds = began_seconds + 5.0 - clock.service_time()
            return None if left_seconds < 0 else left_seconds + 1e-9

    async def scenario() -> None:
        world = TimedWorld(clock, others=[finer := Finer(0.0)])
        world.first.add(6.0)
        async with asyncio.timeout(10), world:
            await world.advance(10.0)
            assert finer.slices < 10
            assert world.passed == [6.0]

    clock = VirtualClock()
    began_seconds = clock.service_time()
    asyncio.run(scenario())


def test_a_job_that_asks_for_less_than_time_can_show_does_not_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "STOPS_MAX", 50)
    monkeypatch.setattr(virtual_time, "COARSE_STOPS_MAX", 10)

    async def scenario() -> None:
        world = TimedWorld(others=[restless := Restless(1e-12)])
        world.first.add(HOUR)
        async with asyncio.timeout(10), world:
            await world.advance(HOUR)
            assert (world.passed, world.now()) == ([HOUR], HOUR)
            assert 50 < restless.slices < 70

    asyncio.run(scenario())


@pytest.mark.parametrize("count", [10, 11, 100, 1000])
def test_the_stops_of_one_advance_are_limited(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After STOPS_MAX exact ones, at most COARSE_STOPS_MAX, far apart; all work is done, in order, and never early."""
    monkeypatch.setattr(virtual_time, "STOPS_MAX", 10)
    monkeypatch.setattr(virtual_time, "COARSE_STOPS_MAX", 5)

    async def scenario() -> None:
        world = TimedWorld()
        for seconds in range(1, count + 1):
            world.first.add(seconds)
        async with asyncio.timeout(10), world:
            await world.advance(count + 1.0)
            assert len(world.log) == count
            assert world.passed[:10] == list(range(1, 11))
            assert world.passed == sorted(world.passed)
            stops = sorted(set(world.passed[10:]))
            assert len(stops) <= 6
            coarse_seconds = (count + 1 - 10) / 5
            assert all(after - before >= coarse_seconds - 1e-3 for before, after in pairwise(stops[:-1]))
            lateness = [seconds - number for number, seconds in enumerate(world.passed, start=1)]
            assert all(0 <= seconds < coarse_seconds + 1 for seconds in lateness)

    asyncio.run(scenario())


def test_a_runner_that_stops_on_the_way_lets_nobody_wait() -> None:
    async def scenario() -> None:
        world = TimedWorld()
        has_begun = asyncio.Event()
        world.first.add(5.0, has_begun.set)
        world.second.add(5.0)
        world.second.add(6.0)
        async with asyncio.timeout(10):
            world.jobs.start()
            advances = [asyncio.ensure_future(world.advance(10.0)) for _ in range(2)]
            await has_begun.wait()
            ends = list[float]()
            world.clock.on_advance(lambda: ends.append(world.now()))
            await world.jobs.stop()
            await asyncio.gather(*advances)
            assert world.log == ["first"]
            assert ends == [10.0, 20.0], "no stops without jobs"

    asyncio.run(scenario())


# --- several callers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make_clock", [VirtualClock, frozen_clock, lambda: MovableClock(SetClock())])
def test_advances_at_the_same_time_add_up(make_clock: type[VirtualClock]) -> None:
    async def scenario() -> None:
        world = TimedWorld(make_clock())
        for seconds in range(1, 31):
            world.first.add(seconds)
            world.second.add(seconds)
        async with asyncio.timeout(10), world:
            ends = list[float]()

            async def one(seconds: float) -> None:
                await world.advance(seconds)
                ends.append(world.now())

            await asyncio.gather(one(7.0), one(0.0), one(3.0), one(15.5))
            assert ends == [7.0, 7.0, 10.0, 25.5]
            assert world.passed == [seconds for seconds in range(1, 26) for _ in range(2)]
            assert world.log == ["first", "second"] * 25

    asyncio.run(scenario())


def test_an_advance_and_a_jump_at_the_same_time_add_up() -> None:
    async def scenario() -> None:
        world = TimedWorld(clock := VirtualClock())
        for seconds in (5.0, 8.0, 15.0, 16.0):
            world.first.add(seconds)
        async with asyncio.timeout(10), world:
            await asyncio.gather(world.advance(6.0), advance_all(clock, world.jobs, 9.0), world.advance(5.0))
            assert (world.passed, world.now()) == ([5.0, 15.0, 15.0, 16.0], 20.0)

    asyncio.run(scenario())


def test_after_a_failed_advance_the_next_one_tries_again() -> None:
    async def scenario() -> None:
        world = TimedWorld()
        world.first.add(5.0)
        world.first.failures.append(StorageError("the disk is full"))
        async with asyncio.timeout(10), world:
            ends = await asyncio.gather(world.advance(6.0), world.advance(5.0), return_exceptions=True)
            assert [type(end) for end in ends] == [StorageError, type(None)]
            assert (world.passed, world.now()) == ([6.0], 11.0)

    asyncio.run(scenario())


def test_a_cancelled_advance_ends_where_it_is_and_holds_nobody_up() -> None:
    async def scenario() -> None:
        world = TimedWorld()
        has_begun = asyncio.Event()
        world.first.add(5.0, has_begun.set)
        world.second.add(5.0)
        world.second.add(6.0)
        async with asyncio.timeout(10), world:
            advances = [asyncio.ensure_future(world.advance(10.0)) for _ in range(3)]
            await has_begun.wait()
            advances[0].cancel()
            advances[1].cancel()
            assert await asyncio.gather(*advances[:2], return_exceptions=True) != [None, None]
            await advances[2]
            assert (world.passed, world.now()) == ([5.0, 5.0, 6.0], 15.0)

    asyncio.run(scenario())


def test_after_a_cancelled_advance_every_job_looks_again() -> None:
    async def scenario() -> None:
        world = TimedWorld()
        has_begun = asyncio.Event()
        world.second.add(5.0, has_begun.set)
        async with asyncio.timeout(10), world:
            waiting = asyncio.ensure_future(world.advance(10.0))
            await has_begun.wait()
            slices = world.first.slices
            waiting.cancel()
            await turns(TURNS)
            assert world.first.slices == slices + 1
            assert world.now() == 5.0

    asyncio.run(scenario())


def test_after_a_cancelled_advance_jobs_run_beside_each_other_again() -> None:
    async def scenario() -> None:
        clock, log = VirtualClock(), list[str]()
        job = Timed("timed", clock, log)
        jobs = Runner([Endless(), job], clock)
        jobs.start()
        async with asyncio.timeout(10):
            await turns(TURNS)
            waiting = asyncio.ensure_future(advance(clock, jobs, 1.0))
            await turns(TURNS)
            job.add(0.0)
            jobs.wake()
            await turns(TURNS)
            assert log == [], "the first job of the list runs a slice"
            waiting.cancel()
            await turns(TURNS)
            assert log == ["timed"]
        await jobs.stop()

    asyncio.run(scenario())
