"""An advance moves service time from due time to due time: each piece of work is done at its own time, in one order."""

import asyncio
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from random import Random
from typing import Any

import pytest

from hashrange.clock import MovableClock, ServiceTimeState, SystemClock
from hashrange.jobs.job import AT_ONCE
from hashrange.jobs.runner import Runner
from hashrange.jobs.virtual_time import advance
from tests.support.clocks import SetClock, VirtualClock, advance_all
from tests.unit.jobs.timed import Restless, TimedWorld, after_some_turns, frozen_clock, turns

HOUR = 3600.0


def at_once(work: Coroutine[Any, Any, float | None]) -> Any:
    """Run a slice in this turn of the loop as far as it goes, as a server does."""
    future: asyncio.Future[float | None] = asyncio.get_running_loop().create_future()
    try:
        work.send(None)
    except StopIteration as stop:
        future.set_result(stop.value)
        return future
    return asyncio.ensure_future(rest_of(work))


@types.coroutine
def rest_of(work: Coroutine[Any, Any, float | None]) -> Generator[None, None, float | None]:
    """The result of a slice that has given way, and does nothing else."""
    while True:
        yield
        try:
            work.send(None)
        except StopIteration as stop:
            result: float | None = stop.value
            return result


class RunningMachine(SetClock):
    """A machine's clock that goes on by a tenth of a millisecond at each reading."""

    def monotonic(self) -> float:
        """Seconds; later than at the last reading."""
        self.advance(0.0001)
        return super().monotonic()


class Sliced:
    """A job whose slices, while it has work, note their beginning and their end."""

    waits_for_service_time = True

    def __init__(self, name: str, clock: VirtualClock, notes: list[str], chance: Random) -> None:
        self.name = name
        self.give: Callable[[], None] = lambda: None
        """Called in the middle of each slice with work."""
        self._clock = clock
        self._notes = notes
        self._dues = deque(sorted(clock.service_time() + chance.choice((5, 5, 7, 9)) for _ in range(8)))

    def add_now(self) -> None:
        """Add a piece of work that is due."""
        self._dues.appendleft(self._clock.service_time())

    async def run_slice(self) -> float | None:
        """Do one piece of due work."""
        now_seconds = self._clock.service_time()
        if not self._dues or self._dues[0] > now_seconds:
            return self._dues[0] - now_seconds if self._dues else None
        self._notes.append(f"{self.name} begins")
        self.give()
        await turns(1)
        self._dues.popleft()
        self._notes.append(f"{self.name} ends at {now_seconds}")
        return AT_ONCE


# --- times and order ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("make_clock", [VirtualClock, frozen_clock])
def test_work_is_done_at_its_time_in_the_order_of_times(make_clock: type[VirtualClock], seed: int) -> None:
    chance = Random(seed)
    dues = [sorted(chance.choice((1, 5, 5, chance.randrange(100), 100 * chance.random())) for _ in range(20))
            for _ in range(2)]  # fmt: skip

    async def scenario() -> None:
        world = TimedWorld(make_clock(), in_turns=after_some_turns(chance))
        moments = [[world.began_seconds + seconds for seconds in some] for some in dues]
        for job, some in zip((world.first, world.second), dues, strict=True):
            for seconds in some:
                job.add(seconds)
        async with asyncio.timeout(10), world:
            await world.advance(60.0)
            assert world.now() == 60.0
            done = sorted(
                (moment, name)
                for name, some in zip(("first", "second"), moments, strict=True)
                for moment in some
                if moment <= world.clock.service_time()
            )
            assert list(zip(world.times, world.log, strict=True)) == done

    asyncio.run(scenario())


def test_jobs_that_go_by_real_time_do_not_hold_up_service_time() -> None:
    class Laborious(Restless):
        """A job of many slices, which follow one another at once."""

        async def run_slice(self) -> float | None:
            self.slices += 1
            log.append("laborious")
            return AT_ONCE if self.slices % 1_000 else None

    async def scenario() -> None:
        world = TimedWorld(others=[Laborious(AT_ONCE, waits_for_service_time=False)], in_turns=at_once)
        log.clear()
        world.log = world.first._log = log
        for seconds in range(1, 11):
            world.first.add(seconds, lambda: seen.append(log.count("laborious")))
        async with asyncio.timeout(10), world:
            log.clear()
            world.jobs.wake_untimed()
            await world.advance(20.0)
            assert log.count("first") == 10
            assert seen[0] < 1_000, "service time went on meanwhile"

    log, seen = list[str](), list[int]()
    asyncio.run(scenario())


def test_what_becomes_due_because_of_work_is_counted_from_that_works_own_time() -> None:
    async def scenario() -> None:
        world = TimedWorld()

        def again() -> None:
            world.first.add(4 * HOUR, again)
            world.second.add(HOUR)
            world.jobs.wake()

        world.first.add(4 * HOUR, again)
        async with asyncio.timeout(10), world:
            await world.advance(24 * HOUR)
            assert world.log == ["first", "second"] * 5 + ["first"]
            assert world.passed == [hour * HOUR for day in range(4, 24, 4) for hour in (day, day + 1)] + [24 * HOUR]
            await world.advance(HOUR)
            assert world.log[-1] == "second"
            assert world.passed[-1] == 25 * HOUR

    asyncio.run(scenario())


@pytest.mark.parametrize("seed", range(10))
def test_jobs_due_together_run_one_at_a_time_in_the_order_of_the_list(seed: int) -> None:
    """However long their slices take, which differs from run to run, and though each slice wakes all jobs."""

    def played(turns_seed: int) -> list[str]:
        async def scenario() -> list[str]:
            clock, notes = VirtualClock(), list[str]()
            chance = Random(seed)
            sliced = [Sliced(name, clock, notes, chance) for name in "abc"]
            jobs = Runner(sliced, clock, after_some_turns(Random(turns_seed)))
            for job in sliced:
                job.give = jobs.wake
            jobs.start()
            async with asyncio.timeout(10):
                await advance(clock, jobs, 20.0)
            await jobs.stop()
            return notes

        return asyncio.run(scenario())

    notes = played(turns_seed=seed)
    assert len(notes) == 2 * 3 * 8
    slices = [
        (begin.split()[0], end.split()[0], float(end.split()[-1]))
        for begin, end in zip(*[iter(notes)] * 2, strict=True)
    ]
    assert all(one == other for one, other, _ in slices), "a slice began within another"
    order = [(at_seconds, name) for name, _, at_seconds in slices]
    assert order == sorted(order)
    assert played(turns_seed=seed + 100) == notes


def test_work_for_an_earlier_job_of_the_list_is_done_before_the_next_slice() -> None:
    async def scenario() -> None:
        world = TimedWorld()

        def give_first() -> None:
            world.first.add(0.0)
            world.jobs.wake()

        world.second.add(5.0, give_first)
        world.second.add(5.0)
        async with asyncio.timeout(10), world:
            await world.advance(10.0)
            assert world.log == ["second", "first", "second"]
            assert world.passed == [5.0, 5.0, 5.0]

    asyncio.run(scenario())


def test_no_slice_begins_within_another() -> None:
    """In the middle of each of its slices, the second job of the list gives the first one work."""

    async def scenario() -> None:
        clock, notes = VirtualClock(), list[str]()
        first, second = (Sliced(name, clock, notes, Random(1)) for name in "ab")
        jobs = Runner([first, second], clock)

        def give_first() -> None:
            first.add_now()
            jobs.wake()

        second.give = give_first
        jobs.start()
        async with asyncio.timeout(10):
            await advance(clock, jobs, 20.0)
        await jobs.stop()
        assert len(notes) == 2 * (8 + 8 + 8)
        assert all(begin.split()[0] == end.split()[0] for begin, end in zip(*[iter(notes)] * 2, strict=True))

    asyncio.run(scenario())


def test_a_stop_wakes_only_the_jobs_that_are_due() -> None:
    async def scenario() -> None:
        world = TimedWorld()
        for seconds in range(1, 101):
            world.first.add(seconds)
        world.second.add(50.0)
        async with asyncio.timeout(10), world:
            await world.advance(200.0)
            assert len(world.log) == 101
            assert world.second.slices < 10 < world.first.slices

    asyncio.run(scenario())


def test_an_advance_lets_every_job_look_once_more() -> None:
    """A job that goes by real time looks once for each advance."""

    async def scenario() -> None:
        world = TimedWorld(others=[other := Restless(HOUR, waits_for_service_time=False)])
        for seconds in (1, 2, 3):
            world.first.add(seconds)
        async with asyncio.timeout(10), world:
            for count in (1, 2, 3):
                assert other.slices == count
                await world.advance(10.0)

    asyncio.run(scenario())


def test_all_readings_together_jump() -> None:
    async def scenario() -> None:
        world = TimedWorld(clock := VirtualClock())
        world.first.add(5.0)
        world.second.add(3.0)
        async with asyncio.timeout(10), world:
            await advance_all(clock, world.jobs, 8.0)
            assert world.log == ["first", "second"]
            assert world.passed == [8.0, 8.0]

    asyncio.run(scenario())


# --- clocks that run ---------------------------------------------------------------------------------


def test_on_a_running_clock_work_is_done_soon_after_its_time() -> None:
    async def scenario() -> None:
        world = TimedWorld(MovableClock(RunningMachine()))
        for hours in range(1, 11):
            (world.first, world.second)[hours % 2].add(hours * HOUR)
        async with asyncio.timeout(10), world:
            before_seconds = world.clock.service_time()
            await world.advance(10.5 * HOUR)
            assert before_seconds + 10.5 * HOUR <= world.clock.service_time() <= before_seconds + 11 * HOUR
            assert world.log == ["second", "first"] * 5
            for hours, seconds in enumerate(world.passed, start=1):
                assert hours * HOUR <= seconds <= (hours + 0.01) * HOUR

    asyncio.run(scenario())


def test_on_the_machines_own_clock_nothing_is_early() -> None:
    """The first work becomes due by itself, unless the advance is faster."""

    async def scenario() -> None:
        world = TimedWorld(MovableClock(SystemClock()))
        dues = [seconds for seconds in (0.002, HOUR, 2 * HOUR) for _ in range(2)]
        for number, seconds in enumerate(dues):
            (world.first, world.second)[number % 2].add(seconds)
        async with asyncio.timeout(10), world:
            await world.advance(2.5 * HOUR)
            assert len(world.log) == 6
            assert all(due <= seconds for due, seconds in zip(dues, world.passed, strict=True))
            assert world.times == sorted(world.times)

    asyncio.run(scenario())


def test_what_passes_by_itself_is_part_of_an_advance() -> None:
    """Service time passes an advance's end while jobs work: nothing more is added."""

    async def scenario() -> None:
        clock = MovableClock(machine := SetClock())
        world = TimedWorld(clock)
        world.first.add(5.0, lambda: machine.advance(20.0))
        world.first.add(6.0)
        async with asyncio.timeout(10), world:
            await world.advance(10.0)
            assert world.passed == [5.0, 25.0]
            assert world.now() == 25.0

    asyncio.run(scenario())


def test_a_clock_may_be_frozen_and_resumed_during_an_advance() -> None:
    async def scenario() -> None:
        clock = MovableClock(SetClock())
        world = TimedWorld(clock)
        world.first.add(5.0, clock.freeze)
        world.second.add(6.0)
        world.first.add(7.0, clock.resume)
        world.second.add(8.0)
        async with asyncio.timeout(10), world:
            await world.advance(10.0)
            assert world.passed == [5.0, 6.0, 7.0, 8.0]
            assert world.now() == 10.0

    asyncio.run(scenario())


@pytest.mark.parametrize("is_frozen", [False, True])
def test_an_advance_ends_where_the_clock_returns_to_an_earlier_state(*, is_frozen: bool) -> None:
    async def scenario() -> None:
        clock = frozen_clock() if is_frozen else MovableClock(SetClock())
        state: ServiceTimeState = clock.state
        world = TimedWorld(clock)
        world.first.add(5.0, lambda: clock.go_to(state))
        world.second.add(6.0)
        async with asyncio.timeout(10), world:
            await world.advance(10.0)
            assert (world.log, world.now()) == (["first"], 0.0)
            await world.advance(10.0)
            assert (world.log, world.now()) == (["first", "second"], 10.0)
            world.second.add(1.0)
            world.first.add(0.0, lambda: clock.go_to(state))  # at the first look, before the first step
            await world.advance(10.0)
            assert (world.log, world.now()) == (["first", "second", "first"], 0.0)

    asyncio.run(scenario())
