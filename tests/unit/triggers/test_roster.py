"""A mapping that cannot be opened fails alone: others deliver, the log tells of it once,
and its LastProcessingResult says so.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from hashrange.errors import StorageError
from hashrange.jobs.job import SlicedJob
from hashrange.jobs.runner import Runner
from hashrange.jobs.virtual_time import advance
from hashrange.messages import triggers as messages
from hashrange.triggers.checkpoints import checkpoint_name
from hashrange.triggers.consumers import Consumer
from hashrange.triggers.mapping import EventSourceMapping
from tests.support.clocks import VirtualClock
from tests.unit.jobs.world import drive
from tests.unit.triggers.deliveries import Deliveries

HALF_A_PAIR = (r'{"\ud800":["x"]}',)
"""A filter that former versions accepted."""
OTHER = "arn:aws:lambda:us-east-1:111111111111:function:other"
Spoil = Callable[[Deliveries, pytest.MonkeyPatch], EventSourceMapping]


def invalid_filter(world: Deliveries, _monkeypatch: pytest.MonkeyPatch) -> EventSourceMapping:
    return world.map(function_arn=OTHER, filters=HALF_A_PAIR)


def opening_raises(world: Deliveries, monkeypatch: pytest.MonkeyPatch) -> EventSourceMapping:
    def consumer(mapping: EventSourceMapping, *arguments: Any) -> Any:
        if mapping.function_arn == OTHER:
            "\ud800".encode()
        return Consumer(mapping, *arguments)

    monkeypatch.setattr("hashrange.triggers.roster.Consumer", consumer)
    return world.map(function_arn=OTHER)


def damaged_checkpoint(world: Deliveries, _monkeypatch: pytest.MonkeyPatch) -> EventSourceMapping:
    mapping = world.map(function_arn=OTHER)
    drive(world.store.documents.write({checkpoint_name(mapping.uuid, 1): b"no checkpoint"}))
    return mapping


CASES = [
    pytest.param(invalid_filter, messages.FILTERS_INVALID, "its filter criteria are invalid", id="filter"),
    pytest.param(opening_raises, messages.MAPPING_UNUSABLE, "surrogates not allowed", id="exception"),
    pytest.param(damaged_checkpoint, messages.MAPPING_UNUSABLE, "the document checkpoint/", id="checkpoint"),
]


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was logged since the last call."""
    found = [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING]
    caplog.clear()
    return found


@pytest.mark.parametrize(("spoil", "result", "reason"), CASES)
def test_a_mapping_that_cannot_be_opened_fails_alone(
    spoil: Spoil, result: str, reason: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = Deliveries()
    bad = spoil(world, monkeypatch)
    good = world.map()
    world.write(1)
    assert world.deliver() is None
    assert world.taken() == [[1]]
    assert (world.result(bad), world.result(good)) == (result, messages.OK)
    (line,) = told(caplog)
    assert bad.uuid in line
    assert reason in line

    world.map(function_arn="third")  # all mappings are looked at again
    world.write(2)
    world.deliver()
    assert sorted(world.taken()) == [[1, 2], [2]]
    world.begin()
    world.write(3)
    world.deliver()
    assert sorted(world.taken()) == [[3], [3]]
    assert len(told(caplog)) == 1, "another server tells it again"
    assert world.result(bad) == result


@pytest.mark.parametrize(("spoil", "result", "reason"), CASES)
def test_an_advance_of_time_passes_over_it(
    spoil: Spoil, result: str, reason: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = Deliveries()
    bad = spoil(world, monkeypatch)
    world.map()
    world.write(1)

    async def scenario() -> None:
        assert isinstance(world.clock, VirtualClock)
        runner = Runner([SlicedJob("triggers", world.delivery.run_slice)], world.clock)
        runner.start()
        for _ in range(3):
            await advance(world.clock, runner, 60)
        await runner.stop()

    asyncio.run(scenario())
    assert world.taken() == [[1]]
    assert world.result(bad) == result
    (line,) = told(caplog)
    assert reason in line


def test_what_a_mended_mapping_missed_is_delivered(caplog: pytest.LogCaptureFixture) -> None:
    world = Deliveries()
    bad = world.map(filters=HALF_A_PAIR)
    world.write(1)
    world.deliver()
    assert len(told(caplog)) == 1
    worse = world.change(bad, filters=("{",))
    world.deliver()
    assert len(told(caplog)) == 1, "a changed mapping is told again"
    assert world.taken() == []
    mended = world.change(worse, filters=('{"eventName": ["INSERT"]}',))
    world.deliver()
    assert world.taken() == [[1]]
    assert world.result(mended) == messages.OK
    assert told(caplog) == []


def test_a_deleted_mapping_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    world = Deliveries()
    bad = world.map(filters=HALF_A_PAIR)
    world.deliver()
    world.unmap(bad)
    world.deliver()
    assert len(told(caplog)) == 1
    assert not world.delivery._roster._unusable


def test_a_failure_of_the_store_is_no_fault_of_a_mapping(monkeypatch: pytest.MonkeyPatch) -> None:
    world = Deliveries()
    mapping = world.map()

    def below(_prefix: str) -> Any:
        raise StorageError("the disk is gone")

    world.deliver()
    world.delivery._passes.drop()
    with monkeypatch.context() as patch, pytest.raises(StorageError, match="gone"):
        patch.setattr(world.store.documents, "below", below)
        world.deliver()
    world.write(1)
    world.deliver()
    assert world.taken() == [[1]]
    assert world.result(mapping) == messages.OK
