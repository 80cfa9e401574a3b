"""While service time is moved, what follows from due work is waited for, but not what clients make meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import permutations
from random import Random

import pytest

from hashrange.clock import MovableClock, SystemClock
from hashrange.errors import StorageError
from hashrange.jobs import runner
from hashrange.jobs.job import AT_ONCE, ELSEWHERE
from hashrange.jobs.runner import Runner
from hashrange.jobs.virtual_time import advance
from tests.support.clocks import VirtualClock
from tests.support.waiting import PATIENCE_SECONDS, until
from tests.unit.jobs.test_steps_of_time import at_once
from tests.unit.jobs.timed import Timed, TimedWorld, turns


class Quick(Timed):
    """A job whose slices are done in one turn of the loop."""

    async def run_slice(self) -> float | None:
        """Do all that is due."""
        now_seconds = self._clock.service_time()
        due = [work for work in self._works if work[0] <= now_seconds]
        self._works = [work for work in self._works if work[0] > now_seconds]
        self._log += [self.name] * len(due)
        for _, then in due:
            then()
        if due:
            return AT_ONCE
        return min(seconds for seconds, _ in self._works) - now_seconds if self._works else None


class Sending:
    """A job whose slices send what was written before them, and take some turns; it is not woken by what is written
    while they run.
    """

    name = "sending"
    waits_for_service_time = True

    def __init__(self, clock: VirtualClock) -> None:
        self.wake: Callable[[], None] = lambda: None
        self.written: list[str] = []
        self.sent: list[str] = []
        self.times: list[float] = []
        """Service time at which each slice began."""
        self.turns = 5
        """Turns of the loop that each slice takes."""
        self._clock = clock
        self._runs = False

    def write(self, what: str) -> None:
        """Write something that is to be sent."""
        self.written.append(what)
        if not self._runs:
            self.wake()

    async def run_slice(self) -> float | None:
        """Send."""
        self._runs = True
        self.times.append(self._clock.service_time())
        sent = list(self.written)
        await turns(self.turns)
        self.sent = sent
        self._runs = False
        return None


@asynccontextmanager
async def client(write: Callable[[], None], turns_max: int = 1) -> AsyncIterator[None]:
    """A client that writes every few turns of the loop, or in each."""
    chance = Random(turns_max)

    async def go_on() -> None:
        while True:
            write()
            await turns(chance.randint(1, turns_max))

    writing = asyncio.ensure_future(go_on())
    await turns(10)
    try:
        yield
    finally:
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing


@pytest.fixture
def slow_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slice lets clients run."""
    monkeypatch.setattr(runner, "TURN_SECONDS", 0.0)


class BusyWorld:
    """A job that is due again and again, and after it one that sends what clients and the first one write."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.began_seconds = self.clock.service_time()
        self.quick = Quick("quick", self.clock, [])
        self.sending = Sending(self.clock)
        self.jobs = Runner([self.quick, self.sending], self.clock, at_once)
        self.sending.wake = lambda: self.jobs.wake_jobs("sending")
        self.quick.wake = lambda: self.jobs.wake_jobs("quick")

    async def advance(self, seconds: float) -> None:
        """Move service time while a client writes."""
        self.jobs.start()
        async with asyncio.timeout(PATIENCE_SECONDS), client(lambda: self.sending.write("client's"), 8):
            await advance(self.clock, self.jobs, seconds)
            self.sent_at_the_end = list(self.sending.sent)
        await self.jobs.stop()


@pytest.mark.usefixtures("slow_slices")
def test_what_clients_go_on_writing_is_handled_on_the_way_but_not_waited_for() -> None:
    world = BusyWorld()
    for seconds in range(200):
        world.quick.add(seconds + 0.5)
    asyncio.run(world.advance(200.0))
    assert world.quick._log == ["quick"] * 200
    assert world.clock.service_time() == world.began_seconds + 200
    on_the_way = [one for one in world.sending.times if 0 < one - world.began_seconds < 200]
    assert 50 < len(on_the_way) < 150, "slices, each of which takes as long as some steps"


@pytest.mark.usefixtures("slow_slices")
@pytest.mark.parametrize("due_seconds", [5.0, 10.0], ids=["on the way", "at the end"])
def test_what_follows_from_due_work_is_waited_for_though_clients_write(due_seconds: float) -> None:
    """Though the job that does it would run meanwhile because of clients, and so is not woken."""
    for more in range(20):
        world = BusyWorld()

        def go_on(left: int, world: BusyWorld = world) -> None:
            if left:
                world.quick.add(0.0, lambda: go_on(left - 1))
            else:
                world.sending.write("the job's")

        world.quick.add(due_seconds, partial(go_on, more))
        asyncio.run(world.advance(10.0))
        assert "the job's" in world.sent_at_the_end


def test_an_advance_ends_though_jobs_are_woken_during_each_others_slices_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "WAKES_MAX", 100)

    async def scenario() -> None:
        world = TimedWorld()

        def go_on(job: Timed, other: Timed) -> None:
            job.add(0.0, lambda: go_on(other, job))

        world.first.add(5.0, lambda: go_on(world.second, world.first))
        async with asyncio.timeout(PATIENCE_SECONDS), world:
            await world.advance(10.0)
            assert world.passed.count(5.0) > 100
            assert world.now() == 10.0

    asyncio.run(scenario())


def test_an_advance_ends_though_clients_wake_jobs_in_each_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "WAKES_MAX", 100)

    async def scenario() -> None:
        world = TimedWorld()
        for seconds in (1, 2, 10):
            world.first.add(seconds)
            world.second.add(seconds)
        async with asyncio.timeout(PATIENCE_SECONDS), world, client(lambda: world.jobs.wake_jobs("first", "second")):
            await world.advance(10.0)
            assert sorted(world.log) == ["first"] * 3 + ["second"] * 3

    asyncio.run(scenario())


@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
@pytest.mark.parametrize("due_seconds", [5.0, 10.0], ids=["on the way", "at the end"])
def test_a_chain_of_jobs_is_waited_for_in_any_order_of_the_list(due_seconds: float, order: tuple[str, ...]) -> None:
    """50 times through all jobs, more often than there are jobs."""

    async def scenario() -> None:
        clock, log, times = VirtualClock(), list[str](), list[float]()
        timed = {name: Timed(name, clock, log, times) for name in "abc"}
        jobs = Runner([timed[name] for name in order], clock)
        for job in timed.values():
            job.wake = lambda name=job.name: jobs.wake_jobs(name)  # type: ignore[misc]

        def go_on(number: int) -> None:
            if number < 150:
                timed["abc"[number % 3]].add(0.0, lambda: go_on(number + 1))

        timed["a"].add(due_seconds, lambda: go_on(1))
        began_seconds = clock.service_time()
        jobs.start()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await advance(clock, jobs, 10.0)
        await jobs.stop()
        assert "".join(log) == "abc" * 50
        assert times == [began_seconds + due_seconds] * 150

    asyncio.run(scenario())


def test_a_job_that_becomes_due_by_itself_is_waited_for() -> None:
    """Its time comes between two slices while service time is moved."""

    async def scenario() -> None:
        world = TimedWorld(MovableClock(SystemClock()))
        world.first.add(0.002)
        async with asyncio.timeout(PATIENCE_SECONDS), world, world.jobs.in_order():
            await until(lambda: not world.jobs._running[0].rests)
            await world.jobs.work_in_order(only_timed=True)
            assert world.log == ["first"]

    asyncio.run(scenario())


# --- jobs that clients have woken --------------------------------------------------------------------


class Handing(Sending):
    """A job that hands its work on."""

    name = "handing"

    def __init__(self) -> None:
        super().__init__(VirtualClock())
        self.hand_on: list[Callable[[], None]] = []
        """Called at the end of the next slices."""

    async def run_slice(self) -> float | None:
        """Take some turns, then hand on."""
        await super().run_slice()
        if self.hand_on:
            self.hand_on.pop()()
        return None


def test_what_is_handed_on_at_the_end_is_waited_for_whoever_made_the_work() -> None:
    async def scenario() -> None:
        world = TimedWorld(others=[handing := Handing()])
        async with asyncio.timeout(PATIENCE_SECONDS), world, world.jobs.in_order():
            handing.hand_on.append(lambda: world.first.add(0.0))
            world.jobs.wake_jobs("handing")
            await world.jobs.work_in_order(only_timed=True)
            await turns(2)
            assert len(handing.times) == 2
            assert handing.hand_on, "nobody has waited"
            await world.jobs.work_in_order()
            assert world.log == ["first"]

    asyncio.run(scenario())


def test_a_slice_that_has_failed_when_service_time_is_at_its_end_makes_no_more_work() -> None:
    def fail() -> None:
        raise StorageError("the disk is full")

    async def scenario() -> None:
        world = TimedWorld(others=[handing := Handing()])
        async with asyncio.timeout(PATIENCE_SECONDS), world:
            for count in range(handing.turns + 5):
                async with world.jobs.in_order():
                    await world.jobs.work_in_order()
                    handing.hand_on.append(fail)
                    world.jobs.wake_jobs("handing")
                    await world.jobs.work_in_order(only_timed=True)
                    await turns(count)
                    await world.jobs.work_in_order()
                    assert not world.jobs._working

    asyncio.run(scenario())


def test_on_the_way_nobody_waits_for_jobs_that_clients_wake_while_such_jobs_run() -> None:
    async def scenario() -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), TimedWorld() as world, world.jobs.in_order():
            for job in (world.first, world.second):
                job.add(0.0)
                await world.jobs.work_in_order(only_timed=True)
                await turns(1)
            assert (world.first.slices, world.second.slices, world.log) == (2, 2, [])

    asyncio.run(scenario())


@pytest.mark.parametrize(("after_turns", "is_waited_for"), [(2, False), (6, True)])
def test_only_what_comes_between_the_first_and_the_last_step_of_a_slice_is_taken_for_its_work(
    after_turns: int, *, is_waited_for: bool
) -> None:
    async def late(work: Awaitable[float | None]) -> float | None:
        await turns(5)
        return await work

    async def scenario() -> None:
        clock = VirtualClock()
        world = TimedWorld(clock, others=[sending := Sending(clock)], in_turns=late)
        sending.wake = lambda: world.jobs.wake_jobs("sending")
        world.first.add(5.0)
        async with asyncio.timeout(PATIENCE_SECONDS), world, world.jobs.in_order():
            sending.turns = 100
            clock.advance(5.0)
            working = asyncio.ensure_future(world.jobs.work_in_order(only_timed=True))
            await turns(1 + after_turns)
            sending.write("it")
            await working
            assert (world.log, sending.sent == ["it"]) == (["first"], is_waited_for)

    asyncio.run(scenario())


def test_what_clients_have_made_before_is_waited_for() -> None:
    """Also at the end of an earlier advance."""

    async def scenario() -> None:
        async with asyncio.timeout(PATIENCE_SECONDS), TimedWorld() as world:
            async with world.jobs.in_order():
                world.first.add(0.0)
            async with world.jobs.in_order():
                await world.jobs.work_in_order(only_timed=True)
                assert world.log == ["first"]

    asyncio.run(scenario())


def test_stops_give_way_together_with_what_follows_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slices of each stop were short, so a month's stops were one step, whatever the clock's listeners did."""
    monotonic_seconds, stops = 0.0, [0]

    def moved() -> None:
        nonlocal monotonic_seconds
        monotonic_seconds += runner.TURN_SECONDS / 4
        stops[-1] += 1

    async def count_turns() -> None:
        while True:
            stops.append(0)
            await asyncio.sleep(0)

    async def scenario() -> None:
        clock = VirtualClock()
        monkeypatch.setattr(clock, "monotonic", lambda: monotonic_seconds)
        quick = Quick("quick", clock, log := list[str]())
        jobs = Runner([quick], clock, at_once)
        for seconds in range(100):
            quick.add(seconds + 0.5)
        jobs.start()
        await until(lambda: jobs.next_due_seconds() is not None)
        clock.on_advance(moved)
        counting = asyncio.ensure_future(count_turns())
        await advance(clock, jobs, 100.0)
        counting.cancel()
        assert len(log) == 100
        assert sum(stops) > 100
        assert max(stops) <= 5
        await jobs.stop()

    asyncio.run(scenario())


class Assisted:
    """A job for which somebody else works; its slices wait for that only while service time is moved."""

    name = "assisted"
    waits_for_service_time = True

    def __init__(self) -> None:
        self.is_in_order: Callable[[], int] = lambda: 0
        self.helped = asyncio.Event()
        self.ended = False

    async def run_slice(self) -> float | None:
        """Take the help that has come."""
        if self.is_in_order():
            await self.helped.wait()
        self.ended = self.helped.is_set()
        return None if self.ended else ELSEWHERE


@pytest.mark.parametrize("seconds", [0.0, 10.0])
def test_a_job_for_which_others_work_is_waited_for(seconds: float) -> None:
    async def run() -> None:
        clock, job = VirtualClock(), Assisted()
        jobs = Runner([job], clock)
        job.is_in_order = jobs.is_in_order
        jobs.start()
        await jobs.all_at_rest()
        moving = asyncio.ensure_future(advance(clock, jobs, seconds))
        await turns(50)
        assert not moving.done()
        job.helped.set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await moving
        assert job.ended
        await jobs.stop()

    asyncio.run(run())
