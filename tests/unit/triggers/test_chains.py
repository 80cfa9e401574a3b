"""A function that writes to its own table does not keep an advance of service time from returning;
deliveries go on after it.
"""

import asyncio
from typing import Any

import pytest

from hashrange.jobs import chains
from hashrange.jobs import runner as runner_module
from hashrange.jobs.job import NeverRests, SlicedJob
from hashrange.jobs.runner import Runner
from hashrange.jobs.virtual_time import advance
from hashrange.limits import TRIGGER_CHAIN_SECONDS_MAX
from tests.support.clocks import VirtualClock
from tests.support.waiting import PATIENCE_SECONDS, until
from tests.unit.triggers.deliveries import FUNCTION, Deliveries

LINKS = 20


@pytest.fixture(autouse=True)
def few_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "TRIGGER_CHAIN_LINKS_MAX", LINKS)


class Writing(Deliveries):
    """A function that writes the next value whenever it gets one, until `last`."""

    def __init__(self, last: int = 10**9) -> None:
        super().__init__()
        self.written = 0
        self.last = last
        self.functions.answer = self.answer
        self.map()

    def answer(self, event: Any) -> None:
        self.write_next()

    def write_next(self) -> None:
        if self.written < self.last:
            self.written += 1
            self.write(self.written)


def test_an_advance_ends_though_a_function_triggers_itself(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(runner_module, "RETRY_SECONDS", 0.001)

    async def main() -> None:
        world = Writing()
        clock = world.clock
        assert isinstance(clock, VirtualClock)
        jobs = Runner([SlicedJob("triggers", world.delivery.run_slice)], clock)
        world.is_awaited = jobs.is_in_order
        world.wake = jobs.wake
        jobs.start()
        began_seconds = clock.service_time()
        world.write_next()
        for seconds in (5, 7):
            with pytest.raises(NeverRests, match=f"{FUNCTION} .* the table orders"):
                await advance(clock, jobs, seconds)
        assert clock.service_time() == began_seconds + 12
        written = world.written
        await until(lambda: world.written > written + 3 * LINKS)  # in the background, they go on
        world.last = world.written
        await advance(clock, jobs, 1)
        await jobs.stop()
        await world.delivery.stop()
        assert world.taken() == [[value] for value in range(1, world.written + 1)]

    asyncio.run(asyncio.wait_for(main(), PATIENCE_SECONDS))
    assert [one.getMessage() for one in caplog.records if "own writes" in one.getMessage()] != []
    assert "Traceback" not in caplog.text


def test_an_advance_ends_though_others_write_faster_than_functions_handle() -> None:
    world = Deliveries()
    clock = world.clock
    assert isinstance(clock, VirtualClock)
    world.map(batch_size=1)
    world.is_awaited = lambda: True

    def answer(event: Any) -> None:
        world.write(*range(3))  # others write three records while one is handled
        clock.advance_all(1)

    world.functions.answer = answer
    world.write(0)
    with pytest.raises(NeverRests, match="The table orders is written to all the while"):
        world.deliver()
    assert TRIGGER_CHAIN_SECONDS_MAX < len(world.taken()) < TRIGGER_CHAIN_SECONDS_MAX + 10


def test_a_slow_function_is_waited_for() -> None:
    world = Deliveries()
    clock = world.clock
    assert isinstance(clock, VirtualClock)
    world.map(batch_size=1)
    world.is_awaited = lambda: True

    def answer(event: Any) -> None:
        clock.advance_all(10 * TRIGGER_CHAIN_SECONDS_MAX)

    world.functions.answer = answer
    world.write(*range(5))
    assert world.deliver() is None
    assert len(world.taken()) == 5


def test_a_chain_that_ends_in_time_is_followed_to_its_end() -> None:
    world = Writing(last=LINKS)
    world.is_awaited = lambda: world.last // LINKS  # another wait each time
    world.write_next()
    for _ in range(3):
        assert world.deliver() is None
        assert len(world.taken()) == LINKS
        world.last += LINKS
        world.write_next()


def test_a_chain_goes_on_over_slices_until_service_time_is_moved() -> None:
    """Its other links may be work of another job, for which this one rests."""
    world = Writing(last=0)
    world.is_awaited = lambda: 1
    for _ in range(2):
        for value in range(LINKS):
            world.write(value)
            world.deliver()
        world.clock.advance(1)
    with pytest.raises(NeverRests):
        for value in range(LINKS + 1):
            world.write(value)
            world.deliver()


def test_many_records_that_were_there_before_are_no_chain() -> None:
    world = Deliveries()
    world.is_awaited = lambda: True
    world.map(batch_size=1)
    world.write(*range(5 * LINKS))
    assert world.deliver() is None
    assert len(world.taken()) == 5 * LINKS


def test_without_an_advance_nobody_minds() -> None:
    world = Writing(last=5 * LINKS)
    world.write_next()
    assert world.deliver() is None
    assert len(world.taken()) == 5 * LINKS
