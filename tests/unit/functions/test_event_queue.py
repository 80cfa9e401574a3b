"""The queue of asynchronous invocations by itself: how many run at a time, and what happens while it is read."""

import asyncio
from typing import Any, cast

import pytest

from hashrange.errors import StorageCorruption
from hashrange.functions import events
from hashrange.functions.description import FunctionDescription
from hashrange.functions.events import EventQueue
from hashrange.functions.invocation import Invocation
from hashrange.functions.names import FunctionKey
from hashrange.items import steps
from tests.support.clocks import VirtualClock
from tests.support.waiting import until
from tests.unit.functions.functions_world import MemoryDocuments


class _Described:
    """What the queue asks of a function."""

    reserved_executions = None


class World:
    """A queue, and functions that end when they are let go."""

    def __init__(self) -> None:
        self.documents = MemoryDocuments()
        self.began: list[str] = []
        self.may_end = asyncio.Semaphore(0)
        self.queue = self.restarted()

    def restarted(self) -> EventQueue:
        """The queue of a server that has been started again."""
        return EventQueue(self.documents, VirtualClock(), self._find, self._invoke)

    def _find(self, _key: FunctionKey) -> FunctionDescription:
        return cast("FunctionDescription", _Described())

    async def _invoke(self, _function: Any, payload: bytes, _request_id: str, _context: str | None) -> Invocation:
        self.began.append(payload.decode())
        await self.may_end.acquire()
        return Invocation(b"null", None)

    async def put(self, function: int, number: int = 0) -> None:
        """Queue an event, whose payload is function and number."""
        key = FunctionKey("000000000000", "us-east-1", f"f{function:04}")
        await self.queue.put(key, f"{function}.{number}".encode(), f"{number}", None)


def begin(queue: EventQueue, pieces: int) -> None:
    """Let somebody read so many pieces of the queue, and give way then."""
    reading = queue._reading
    reading._begun_generation = reading._documents.generation
    reading._work.begin(reading._pieces)
    for _ in range(pieces):
        assert reading._work.do_some()


def test_no_more_events_run_at_a_time_than_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events of many functions wait for their turn, in the order of their arrival, and are not refused."""
    monkeypatch.setattr(events, "INVOCATIONS_RUNNING_MAX", 5)

    async def test() -> None:
        world = World()
        for function in range(30):
            await world.put(function)
        world.queue = world.restarted()
        job = asyncio.ensure_future(world.queue.run_slice())
        for ended in range(26):
            await until(lambda ended=ended: len(world.began) == 5 + ended)  # type: ignore[misc]
            world.may_end.release()
        for _ in range(4):
            world.may_end.release()
        assert await job is None
        assert world.began == [f"{function}.0" for function in range(30)]
        assert world.documents.content == {}

    asyncio.run(test())


def test_events_of_a_damaged_function_wait_and_others_run(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        world = World()
        damaged = [True]

        def find(key: FunctionKey) -> FunctionDescription:
            if damaged and key.name == "f0001":
                raise StorageCorruption("the document function/f0001 is no function: why")
            return cast("FunctionDescription", _Described())

        clock = VirtualClock()
        world.queue = EventQueue(world.documents, clock, find, world._invoke)
        for function in range(3):
            await world.put(function)
            world.may_end.release()
        for _ in range(3):
            pause_seconds = await world.queue.run_slice()
            assert pause_seconds is not None
            clock.advance(pause_seconds)
        assert world.began == ["0.0", "2.0"]
        assert [one.getMessage() for one in caplog.records] == [
            "Asynchronous invocations of the function f0001 wait: the document function/f0001 is no function: why"
        ]
        damaged.clear()
        world.may_end.release()
        assert await world.queue.run_slice() is None
        assert world.began == ["0.0", "2.0", "1.0"]

    asyncio.run(test())


@pytest.mark.parametrize("pieces", [3, 6])
def test_what_is_queued_while_the_queue_is_read_is_not_lost(pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One event comes before the place that is reached, one behind it; both run, once. After five pieces all events
    have been read, and after the sixth they are in order.
    """
    monkeypatch.setattr(steps, "_look", lambda: None)

    async def test() -> None:
        world = World()
        for function in range(10, 40):
            await world.put(function)
        queue = world.queue = world.restarted()
        begin(queue, pieces)
        for function in (1, 99):
            document = f"event/000000000000/us-east-1/f{function:04}/0"
            event = events.QueuedEvent(f"{function}.0".encode(), 0.0, 0.0)
            await queue._put(document.removeprefix("event/"), event)
        assert queue.count == 32
        for _ in range(32):
            world.may_end.release()
        assert await queue.run_slice() is None
        assert sorted(world.began, key=float) == [f"{one}.0" for one in (1, *range(10, 40), 99)]

    asyncio.run(test())


def test_content_that_is_replaced_while_the_queue_is_read_is_read_instead() -> None:
    async def test() -> None:
        world = World()
        for function in range(30):
            await world.put(function)
        other = {name: value for name, value in world.documents.content.items() if name.endswith("f0007/0")}
        queue = world.queue = world.restarted()
        begin(queue, pieces=1)
        world.documents.replace(other)
        assert queue.count == 1
        world.may_end.release()
        assert await queue.run_slice() is None
        assert world.began == ["7.0"]

    asyncio.run(test())
