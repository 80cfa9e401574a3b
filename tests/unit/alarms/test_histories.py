"""The history of an alarm has one writer at a time, however many of its actions end, and requests come, together."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from hashrange.cloudwatch.alarms.alarm import AlarmActions, AlarmDefinition, Threshold
from hashrange.cloudwatch.alarms.alarm_job import AlarmDeliveries
from hashrange.cloudwatch.alarms.alarms import AlarmAction, Alarms
from hashrange.cloudwatch.alarms.histories import HISTORY_PREFIX
from hashrange.errors import RecordsChanged, StorageError
from hashrange.store.records import again_if_changed
from tests.support.clocks import VirtualClock
from tests.unit.functions.functions_world import MemoryDocuments

ACTIONS = 30
CLIENTS, CALLS = 20, 20


class CountedDocuments(MemoryDocuments):
    """Documents that count what is done with histories."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[str] = []
        """Name of each history that was to be written."""
        self.refused = 0
        self.at_once = self.most_at_once = 0
        """Histories that have been read and not yet written."""

    async def read(self, name: str) -> bytes | None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        return await super().read(name)

    async def write(self, changes: Mapping[str, bytes | None], *more: Any, **named: Any) -> bool:
        histories = [name for name in changes if name.startswith(HISTORY_PREFIX)]
        self.begun += histories
        try:
            is_done = await super().write(changes, *more, **named)
        finally:
            self.at_once -= len(histories)
        self.refused += not is_done
        return is_done


set_state = again_if_changed(Alarms.set_state)
"""As the service runs it, if the evaluation has changed the alarm meanwhile."""


class World:
    """Alarms whose actions all fail, once they are let go."""

    def __init__(self) -> None:
        self.documents = CountedDocuments()
        self.alarms = Alarms(self.documents, VirtualClock())
        self.let_go = asyncio.Event()
        self.alarms.on_action("http", self._fail)
        self.job = AlarmDeliveries(self.alarms)

    async def _fail(self, told: AlarmAction) -> str | None:
        await self.let_go.wait()
        return "no answer"

    async def put(self, name: str) -> None:
        actions = AlarmActions(alarm=["http://nobody"], ok=["http://nobody"])
        await self.alarms.put("1", "r", AlarmDefinition(name, None, actions, Threshold("LessThanThreshold", 1.0, 1)))

    async def set_states(self, name: str, count: int) -> None:
        for number in range(count):
            await set_state(self.alarms, "1", "r", name, "OK" if number % 2 else "ALARM", "a trial", None)

    def kinds(self, name: str) -> Sequence[str]:
        """What has happened to an alarm: actions, after all else."""
        ((_, history),) = self.alarms.histories.of("1", "r", name)
        return sorted(item.kind for item in history.events())


@pytest.fixture
def world() -> World:
    return World()


async def turns() -> None:
    """Let everything go on that can."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_actions_that_end_together_are_noted_together(world: World) -> None:
    """Each wrote the whole history; with 100 of them, 99 failed and began anew, then 98, and so on."""

    async def run() -> None:
        await world.put("load")
        await world.set_states("load", ACTIONS)
        running = asyncio.ensure_future(world.job.run_slice())
        await turns()
        world.documents.begun.clear()
        world.let_go.set()
        await running
        assert len(world.documents.begun) == 2, "the first one, and those that came while it was written"
        assert world.documents.refused == 0
        assert world.kinds("load").count("Action") == ACTIONS

    asyncio.run(run())


def test_one_history_at_a_time_is_read_and_written(world: World) -> None:
    """Actions of a hundred alarms that end together hold neither the loop nor the memory for as many histories."""

    async def run() -> None:
        names = [f"load{number}" for number in range(ACTIONS)]
        for name in names:
            await world.put(name)
            await world.set_states(name, 2)
        running = asyncio.ensure_future(world.job.run_slice())
        await turns()
        world.documents.begun.clear()
        world.let_go.set()
        await running
        assert world.documents.most_at_once == 1
        assert set(world.documents.begun) == {f"{HISTORY_PREFIX}1/r/{name}" for name in names}
        assert len(world.documents.begun) == ACTIONS + 1, "the first action was alone"
        assert [world.kinds(name).count("Action") for name in names] == [2] * ACTIONS

    asyncio.run(run())


def test_many_clients_that_change_one_alarm_have_a_turn_each(world: World) -> None:
    """Those that came between others were always overtaken, and failed after a hundred tries."""

    async def run() -> None:
        await world.put("load")
        world.let_go.set()
        clients = [world.set_states("load", CALLS) for _ in range(CLIENTS)]

        @again_if_changed
        async def evaluate() -> None:
            alarm = world.alarms.get("1", "r", "load")
            assert alarm is not None
            await world.alarms.change_state(alarm, "INSUFFICIENT_DATA", "the end of a minute", None, 0.0)

        clients += [evaluate() for _ in range(3)]
        switches = [world.alarms.enable_actions("1", "r", "load", are_enabled=bool(n % 2)) for n in range(CLIENTS)]
        await asyncio.gather(*clients, *switches, *[world.put("load") for _ in range(CLIENTS)], world.job.run_slice())
        assert world.documents.refused == 0

    asyncio.run(run())


def test_an_alarm_that_has_changed_meanwhile_is_not_overwritten_nor_its_history_read(world: World) -> None:
    async def run() -> None:
        await world.put("load")
        stale = world.alarms.get("1", "r", "load")
        assert stale is not None
        states = [world.alarms.set_state("1", "r", "load", "OK", "well", None)]
        before = len(world.documents.begun)
        late = world.alarms.change_state(stale, "ALARM", "late", None, 0.0)
        done, error = await asyncio.gather(*states, late, return_exceptions=True)
        assert isinstance(error, RecordsChanged)
        assert done == world.alarms.get("1", "r", "load")
        assert len(world.documents.begun) == before + 1

    asyncio.run(run())


def test_an_alarm_that_is_deleted_before_its_turn_has_no_state(world: World) -> None:
    async def run() -> None:
        await world.put("load")
        deleting = world.alarms.delete("1", "r", ["load"])
        setting = world.alarms.set_state("1", "r", "load", "OK", "well", None)
        assert await asyncio.gather(deleting, setting) == [None, None]
        assert world.kinds("load") == ["ConfigurationUpdate"] * 2

    asyncio.run(run())


def test_who_fails_to_note_an_action_hears_of_it_and_the_others_note_theirs(world: World) -> None:
    async def run() -> None:
        await world.put("load")
        alarm = world.alarms.get("1", "r", "load")
        assert alarm is not None
        world.let_go.set()
        told = AlarmAction(alarm, "http://nobody", alarm, 0.0)
        world.documents.gate.clear()
        noting = [asyncio.ensure_future(world.alarms.deliver(told)) for _ in range(ACTIONS)]
        await turns()
        world.documents.failure = StorageError("full")
        world.documents.gate.set()
        with pytest.raises(StorageError, match="full"):
            await noting[0]
        world.documents.failure = None
        ends = await asyncio.gather(*noting, return_exceptions=True)
        count = ends.count(None)
        assert 0 < count < ACTIONS
        assert world.kinds("load").count("Action") == count
        await world.alarms.deliver(told)
        assert world.kinds("load").count("Action") == count + 1, "nothing is left of those that failed"

    asyncio.run(run())
