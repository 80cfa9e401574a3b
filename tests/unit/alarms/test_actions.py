"""Actions of alarms whose endpoints hang: they hold up neither other actions nor the content that comes after them."""

import asyncio
import gc
import socket
from collections.abc import Sequence

import pytest

from hashrange.cloudwatch.alarms import alarms as alarms_module
from hashrange.cloudwatch.alarms import deliveries
from hashrange.cloudwatch.alarms.alarm import Alarm, AlarmActions, AlarmDefinition, Threshold
from hashrange.cloudwatch.alarms.alarm_job import AlarmDeliveries
from hashrange.cloudwatch.alarms.alarms import AlarmAction, Alarms, WaitingActions
from hashrange.cloudwatch.limits import ALARM_ACTIONS_TOGETHER_MAX
from hashrange.functions.http_client import ExchangeFailed, read_target
from tests.support.clocks import VirtualClock
from tests.unit.functions.functions_world import MemoryDocuments


class Endpoints:
    """Executes actions: those that begin with `http://hang` end when they are let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.let_go = asyncio.Event()

    async def deliver(self, told: AlarmAction) -> str | None:
        self.begun.append(told.action)
        if told.action.startswith("http://hang"):
            await self.let_go.wait()
        self.ended.append(told.action)
        return None


async def put_alarm(alarms: Alarms, actions: Sequence[str], account: str = "1") -> None:
    definition = AlarmDefinition(
        "load", None, AlarmActions(alarm=actions, ok=actions), Threshold("LessThanThreshold", 1.0, 1)
    )
    await alarms.put(account, "r", definition)


async def set_state(alarms: Alarms, *, is_ok: bool, account: str = "1") -> None:
    alarm = alarms.get(account, "r", "load")
    assert alarm is not None
    await alarms.change_state(alarm, "OK" if is_ok else "ALARM", "a trial", None, alarms.now_seconds())


async def turns() -> None:
    """Let everything go on that can."""
    for _ in range(20):
        await asyncio.sleep(0)


class World:
    """Alarms, who executes their actions, and the job that begins them."""

    def __init__(self) -> None:
        self.documents = MemoryDocuments()
        self.alarms = Alarms(self.documents, VirtualClock())
        self.endpoints = Endpoints()
        self.alarms.on_action("http", self.endpoints.deliver)
        self.job = AlarmDeliveries(self.alarms)


@pytest.fixture
def world() -> World:
    return World()


def test_an_action_that_hangs_holds_up_no_other(world: World) -> None:
    async def run() -> None:
        await put_alarm(world.alarms, ["http://hang"])
        await set_state(world.alarms, is_ok=False)
        running = asyncio.ensure_future(world.job.run_slice())
        await turns()
        await put_alarm(world.alarms, ["http://other"])
        await set_state(world.alarms, is_ok=True)
        await turns()
        assert world.endpoints.ended == ["http://other"]
        assert not running.done()  # whoever moves time waits for what still runs
        world.endpoints.let_go.set()
        assert await running is None
        assert world.endpoints.ended == ["http://other", "http://hang"]

    asyncio.run(run())


def test_only_so_many_actions_run_at_the_same_time(world: World) -> None:
    async def run() -> None:
        await put_alarm(world.alarms, ["http://hang"])
        for number in range(ALARM_ACTIONS_TOGETHER_MAX):
            await set_state(world.alarms, is_ok=number % 2 == 0)
        running = asyncio.ensure_future(world.job.run_slice())
        await turns()
        assert len(world.endpoints.begun) == ALARM_ACTIONS_TOGETHER_MAX // 2
        world.endpoints.let_go.set()
        await running
        assert len(world.endpoints.ended) == ALARM_ACTIONS_TOGETHER_MAX

    asyncio.run(run())


def test_actions_beyond_those_that_may_wait_fail_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarms_module, "ALARM_ACTIONS_WAITING_MAX", 6)

    async def run() -> None:
        await put_alarm(world.alarms, ["http://other"])
        for number in range(5):
            await set_state(world.alarms, is_ok=number % 2 == 0)
        assert len(world.alarms.waiting) == 3
        ((_, history),) = world.alarms.histories.of("1", "r")
        noted = [item.summary.partition(" action")[0] for item in history.events() if item.kind == "Action"]
        assert noted == ["Failed to execute"] * 2
        await world.job.run_slice()
        assert len(world.endpoints.ended) == 3

    asyncio.run(run())


def test_actions_of_one_account_hold_up_no_other_account(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many hang or wait, another account's begins at once, and a third account's too."""
    monkeypatch.setattr(alarms_module, "ALARM_ACTIONS_TOGETHER_MAX", 12)
    monkeypatch.setattr(alarms_module, "ALARM_ACTIONS_WAITING_MAX", 30)

    async def run() -> None:
        await put_alarm(world.alarms, ["http://hang"])
        for number in range(40):
            await set_state(world.alarms, is_ok=number % 2 == 0)
        running = asyncio.ensure_future(world.job.run_slice())
        await turns()
        assert len(world.endpoints.begun) == 6
        for account in ("2", "3"):
            await put_alarm(world.alarms, [f"http://other{account}"], account)
            await set_state(world.alarms, is_ok=False, account=account)
            await turns()
        assert world.endpoints.ended == ["http://other2", "http://other3"]
        world.endpoints.let_go.set()
        await running
        assert len(world.endpoints.ended) == 2 + 15, "as many as could wait"

    asyncio.run(run())


def test_accounts_take_turns() -> None:
    waiting = WaitingActions()
    for account, count in (("1", 3), ("2", 1), ("3", 2)):
        definition = AlarmDefinition("a", None, AlarmActions(), Threshold("LessThanThreshold", 1.0, 1))
        alarm = Alarm(account, "r", definition, 0.0)
        for number in range(count):
            assert waiting.add(AlarmAction(alarm, f"{account}.{number}", alarm, 0.0))
    taken = []
    while (told := waiting.take({})) is not None:
        taken.append(told.action)
    assert taken == ["1.0", "2.0", "3.0", "1.1", "3.1", "1.2"]
    assert not waiting


def test_an_action_of_replaced_content_leaves_no_trace(world: World) -> None:
    async def run() -> None:
        await put_alarm(world.alarms, ["http://hang"])
        await set_state(world.alarms, is_ok=False)
        running = asyncio.ensure_future(world.job.run_slice())
        await turns()
        world.documents.replace({})
        assert world.alarms.all() == []
        world.endpoints.let_go.set()
        await running
        assert world.documents.content == {}

    asyncio.run(run())


def test_a_delivery_that_fails_leaves_nothing_to_the_garbage_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each failed one would keep its error, and with it all that was prepared for the delivery."""
    monkeypatch.setattr(deliveries, "PAUSE_SECONDS", 0.0)

    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]  # closed below, so that nobody answers there
        target = read_target(f"http://127.0.0.1:{port}/")
        gc.freeze()  # what other tests have left is not looked at
        gc.disable()
        try:
            problem = await deliveries._send(target, {}, b"x")
            left = [one for one in gc.get_objects() if isinstance(one, ExchangeFailed)]
        finally:
            gc.enable()
        assert problem is not None
        assert not left

    asyncio.run(main())
