"""The garbage collector visits few objects at a time in a server's own process,
and is unchanged in any other process.
"""

import asyncio
import gc
import os
import signal
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

import pytest

from hashrange.aws_services.operation import Caller
from hashrange.cloudwatch import series_table
from hashrange.cloudwatch.api.put_metric_data import MetricDatumMember, PutMetricDataRequest, put_metric_data
from hashrange.cloudwatch.metrics import Metrics
from hashrange.items import steps
from hashrange.items.member_decoders import MemberDecoders
from hashrange.server import app, listener
from hashrange.server.listener import Server
from hashrange.service import collector
from hashrange.service.drive import Driver
from hashrange.service.workers import Workers
from hashrange.settings import Settings
from hashrange.store.embedded import open_store
from tests.support.waiting import until
from tests.support.working import SteppingClock, Turns
from tests.unit.server.harness import StubStore
from tests.unit.server.listening import ask, close
from tests.unit.server.listening import play as play  # noqa: PLC0414 - a fixture


class Circle:
    """An object that refers to itself, so that only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Unfreeze all objects for a test, since tests/conftest.py freezes the existing ones; restore the collector
    afterwards. Servers of other tests, which may be left, have no clients that count."""
    monkeypatch.setattr(collector, "_counters", [])
    gc.unfreeze()
    yield
    collector.release()
    gc.freeze()
    gc.enable()


def young_and_older() -> int:
    return len(gc.get_objects(generation=0)) + len(gc.get_objects(generation=1))


def test_what_the_start_has_made_and_what_has_been_looked_at_once_is_set_aside() -> None:
    collector.settle()
    assert gc.get_freeze_count() > 10_000
    kept = [[number] for number in range(10 * collector.YOUNG_MAX)]
    assert gc.get_freeze_count() > 9 * collector.YOUNG_MAX
    assert young_and_older() < 2 * collector.YOUNG_MAX
    assert len(kept) == 10 * collector.YOUNG_MAX


def test_what_was_made_while_it_rested_is_not_looked_at() -> None:
    collector.settle()
    assert collector.pause_collector()
    kept = [[number] for number in range(10 * collector.YOUNG_MAX)]
    assert young_and_older() > len(kept)
    collector.resume_collector()
    assert gc.isenabled()
    assert young_and_older() < 1_000


def test_in_other_processes_nothing_is_set_aside() -> None:
    before = gc.get_freeze_count()
    assert collector.pause_collector()
    assert not collector.pause_collector()
    collector.resume_collector()
    collector.look_at_all()
    assert gc.get_freeze_count() == before


def test_while_nobody_is_connected_everything_is_looked_at_once_much_was_set_aside() -> None:
    collector.settle()
    circle = weakref.ref(Circle())
    gc.freeze()
    for _ in range(collector.LOOKS_UNTIL_ALL):
        collector.look_at_all()
        assert circle() is not None
        gc.collect(0)
    collector.look_at_all()
    assert circle() is None
    assert gc.get_freeze_count() > 10_000
    later = weakref.ref(Circle())
    gc.freeze()
    collector.look_at_all()
    assert later() is not None


def test_what_it_was_before_it_is_again() -> None:
    before = gc.get_threshold(), list(gc.callbacks)
    collector.settle()
    collector.settle()
    assert gc.get_threshold() != before[0]
    collector.release()
    collector.release()
    assert (gc.get_threshold(), list(gc.callbacks)) == before
    assert collector.young_until_seconds == inf
    assert gc.get_freeze_count() == 0


def test_a_server_is_settled_once_it_has_started_and_not_any_more_once_it_has_ended() -> None:
    seen: list[object] = []

    def ready(_endpoint: str, _dax_endpoint: str | None) -> None:
        seen.append(collector._set_aside in gc.callbacks)
        os.kill(os.getpid(), signal.SIGTERM)

    app.run(Settings(port=0, data_dir=None), ready)
    assert seen == [True]
    assert collector._set_aside not in gc.callbacks


def test_all_structs_are_forgotten_when_all_objects_are_examined() -> None:
    decoders = MemberDecoders(int)
    decoders.find(("a",))
    collector.settle()
    for _ in range(collector.LOOKS_UNTIL_ALL):
        gc.collect(0)
    collector.look_at_all()
    assert len(decoders) == 0


def test_while_any_server_of_the_process_has_clients_nothing_is_looked_at() -> None:
    """A fork, whose server had no clients yet, had all objects examined:
    with 20,000 metrics that held up its parent's clients for 0.3 s.
    """
    collector.settle()
    clients = [0, 1]
    ends = [collector.count_clients_by(lambda: clients[0]), collector.count_clients_by(lambda: clients[1])]
    circle = weakref.ref(Circle())
    gc.freeze()
    for _ in range(collector.LOOKS_UNTIL_ALL):
        gc.collect(0)
    collector.look_at_all()
    assert circle() is not None
    ends[1]()
    collector.look_at_all()
    assert circle() is None
    ends[0]()
    ends[0]()


def test_a_server_counts_its_clients_for_the_collector(
    play: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    async def scenario(server: Server, store: StubStore, port: int) -> None:
        await until(lambda: len(looks) > 2)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await ask(reader, writer)
        await until(lambda: server.connections.open)
        server.connections.tick_seconds, before = 0.0, len(looks)
        await until(lambda: server.connections.tick_seconds)
        assert len(looks) == before
        await close(writer)

    def look() -> None:
        if not any(count() for count in collector._counters):
            looks.append(0)

    monkeypatch.setattr(listener, "SWEEP_SECONDS", 0.001)
    monkeypatch.setattr(collector, "look_at_all", look)
    play(scenario)


# --- what takes the place of other content --------------------------------------------------------


@contextmanager
def visited_objects() -> Iterator[list[int]]:
    """How many objects each run of the collector within the statement visits."""
    visited: list[int] = []

    def count(phase: str, _details: dict[str, int]) -> None:
        if phase == "start":
            visited.append(len(gc.get_objects(generation=0)))

    gc.callbacks.append(count)
    try:
        yield visited
    finally:
        gc.callbacks.remove(count)


@pytest.fixture
def working() -> Iterator[tuple[Workers, Turns]]:
    """Workers whose time moves with the steps of their work, and the turns of their loop.

    Their time is later than the machine's: servers of other tests, which may be left in a thread, examine new objects
    too, and say by their clock when that is due again.
    """
    before = steps._look, steps._queue
    clock = SteppingClock()
    clock.advance_all(1e9)
    workers, turns = Workers(clock), Turns()
    loop: Any = turns
    workers.take_turns(loop)
    yield workers, turns
    steps._look, steps._queue = before


def test_metrics_that_take_the_place_of_others_are_examined_a_few_at_a_time(
    working: tuple[Workers, Turns], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 20,000 metrics, a run visited 270,000 objects, not 20,000: the former metrics, which were freed, had been
    examined before, but each of them allowed for another new object.
    """
    monkeypatch.setattr(series_table, "METRIC_SERIES_CUSTOM_MAX", 4_000)
    workers, turns = working
    clock = SteppingClock()
    loop = asyncio.new_event_loop()
    metrics = Metrics(open_store(None, clock, loop).documents, clock)

    def put(number: int) -> None:
        data = [MetricDatumMember(f"{number}-{one}", Value=1.0) for one in range(100)]
        request = PutMetricDataRequest("Own", data)
        ends: list[object] = []
        workers.begin_turn()
        work = put_metric_data(metrics, Caller("000000000000", "us-east-1"), request)
        workers.run(lambda: Driver(work, lambda *end: ends.append(end), workers).wait(None))
        while not ends:
            turns.turn()
        assert ends == [(None, None)]

    collector.settle()
    for number in range(40):
        put(number)
    with visited_objects() as visited:
        for number in range(40, 160):
            put(number)
        gc.collect(0)
    loop.close()
    assert max(visited) < 1.2 * collector.YOUNG_MAX
    assert sum(visited) > 3 * collector.YOUNG_MAX


def test_what_short_requests_replace_is_examined_a_little_at_a_time(working: tuple[Workers, Turns]) -> None:
    """As when the cache of rows is full, or clients connect anew."""
    workers, turns = working
    kept = deque([number] for number in range(20 * collector.YOUNG_MAX))

    def replace() -> None:
        for number in range(10):
            kept.append([number])
            kept.popleft()

    collector.settle()
    with visited_objects() as visited:
        for _ in range(len(kept) // 10):
            workers.begin_turn()
            assert workers.run(replace)
        gc.collect(0)
    assert turns.due == []
    assert max(visited) < 1.2 * collector.YOUNG_MAX
    assert len(visited) > 10


def test_examining_new_objects_often_does_not_have_all_objects_examined_earlier() -> None:
    """It counts by the objects that are new."""
    collector.settle()
    circle = weakref.ref(Circle())
    gc.freeze()
    kept = []
    while circle() is not None:
        kept.append([[one] for one in range(collector.YOUNG_MAX // 2)])
        collector.examine_young(0.0)
        assert young_and_older() < 1_000
        collector.look_at_all()
    assert 2 * collector.LOOKS_UNTIL_ALL <= len(kept) < 2.5 * collector.LOOKS_UNTIL_ALL
    for _ in range(2 * collector.LOOKS_UNTIL_ALL):
        collector.examine_young(0.0)
    later = weakref.ref(Circle())
    gc.freeze()
    collector.look_at_all()
    assert later() is not None


def test_new_objects_are_not_examined_while_the_collector_is_off_or_belongs_to_others() -> None:
    with visited_objects() as visited:
        collector.examine_young(0.0)
        collector.settle()
        assert collector.pause_collector()
        collector.examine_young(0.0)
        collector.resume_collector()
        assert visited == []
        collector.examine_young(0.0)
        assert len(visited) == 1
