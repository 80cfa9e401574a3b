"""What an ended environment consisted of is freed at once, with what its process has sent,
however it ended: nothing of it is left to the garbage collector.
"""

import asyncio
import gc
import os
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hashrange.functions import connection
from hashrange.functions.connection import EnvironmentConnection, Message
from hashrange.functions.environment import ExecutionEnvironment, MemoryWatch
from hashrange.functions.invocation_log import InvocationLog
from hashrange.functions.log_lines import WaitingLines
from hashrange.functions.process import Process
from tests.support.waiting import until
from tests.unit.functions.conftest import Runner
from tests.unit.functions.world import LOOPS, World, decoded, failed, run

PARTS = (
    ExecutionEnvironment, Process, EnvironmentConnection, MemoryWatch, InvocationLog, WaitingLines,
    asyncio.SubprocessTransport, asyncio.Task,
)  # fmt: skip
HANDLER = """
import os, time
def handler(event, context):
    print("works", flush=True)
    if event == "raise": raise ValueError("x" * 1000)
    if event == "exit": os._exit(3)
    if event == "long": return "y" * 7_000_000
    if event == "wait":
        open("began", "w").close()
        time.sleep(3600)
    if event == "speak":
        for number in range(3, 99):
            try: os.write(number, b"\\xff" * 99)
            except OSError: pass
        time.sleep(3600)
    if event == "much":
        much = bytearray(1)
        while True: much += os.urandom(10_000_000)
    return "y" * 1000
"""


class SeenMessage(Message, weakref=True):
    """A message that the test sees for as long as it lives."""

    def __post_init__(self) -> None:
        seen.append(weakref.ref(self))


seen: list[weakref.ref[Message]] = []


@pytest.fixture(autouse=True)
def without_collector(only_new_garbage: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(connection, "Message", SeenMessage)
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    seen.clear()


def left() -> list[str]:
    """The names of the parts that still live."""
    parts = [type(one).__name__ for one in gc.get_objects() if isinstance(one, PARTS)]
    return parts + [type(one).__name__ for ref in seen if (one := ref()) is not None]


async def succeed(world: World) -> None:
    pool = world.pool()
    assert decoded(await world.invoke(pool)) == decoded(await world.invoke(pool)) == "y" * 1000
    await pool.close()


async def fail(world: World, event: str, **members: Any) -> None:
    pool = world.pool(**members)
    assert (await failed(world.invoke(pool, event)))["errorType"]
    await pool.close()


async def be_cancelled(world: World) -> None:
    pool = world.pool()
    invoking = asyncio.ensure_future(world.invoke(pool, "wait"))
    await until((world.folder / "began").exists)
    invoking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await invoking
    await pool.close()


async def be_killed(world: World) -> None:
    pool = world.pool()
    await world.invoke(pool)
    os.kill(pool._idle[0]._process.pid, 9)  # type: ignore[union-attr]
    await until(lambda: not pool._idle[0].is_usable)
    assert decoded(await world.invoke(pool)) == "y" * 1000
    await pool.close()


async def be_replaced(world: World) -> None:
    pool = world.pool(watched=str(world.folder))
    await world.invoke(pool)
    world.write(other_py="")
    await world.invoke(pool)
    await pool.close()


async def never_start(world: World) -> None:
    environment = ExecutionEnvironment(world.runnable(), world.listener, "stream", 0)
    await environment.end()


async def be_closed_while_it_starts(world: World) -> None:
    pool = world.pool()
    invoking = asyncio.ensure_future(world.invoke(pool))
    await until(lambda: bool(pool._busy))
    await pool.close()
    assert (await failed(invoking))["errorType"] == "Runtime.ExitError"


ENDS: dict[str, Callable[[World], Awaitable[None]]] = {
    "succeeded": succeed,
    "raised": lambda world: fail(world, "raise"),
    "crashed": lambda world: fail(world, "exit"),
    "too long": lambda world: fail(world, "long"),
    "timed out": lambda world: fail(world, "wait", timeout_seconds=1),
    "broke the protocol": lambda world: fail(world, "speak"),
    "out of memory": lambda world: fail(world, "much", memory_mb=128),
    "cancelled": be_cancelled,
    "killed": be_killed,
    "replaced": be_replaced,
    "no module": lambda world: fail(world, "", handler="missing.handler"),
    "no folder": lambda world: fail(world, "", folder=str(world.folder / "missing")),
    "never started": never_start,
    "closed while it starts": be_closed_while_it_starts,
}


@pytest.mark.parametrize("loop", sorted(LOOPS))
@pytest.mark.parametrize("end", ENDS)
def test_an_ended_environment_leaves_nothing(tmp_path: Path, end: str, loop: str) -> None:
    async def test(world: World) -> None:
        world.write(app_py=HANDLER)
        before = Counter(left())
        await ENDS[end](world)
        world.pools.clear()
        with suppress(TimeoutError):
            await until(lambda: Counter(left()) <= before)
        assert Counter(left()) - before == {}

    run(tmp_path, test, loop)


def test_an_idle_environment_keeps_no_reply(in_world: Runner) -> None:
    """Each kept up to 6 MB for as long as it was idle."""

    async def test(world: World) -> None:
        world.write(app_py=HANDLER)
        for event in ("", "raise"):
            await world.invoke(world.pool(), event)
        kinds = [message.kind for ref in seen if (message := ref()) is not None]
        assert {"result", "error"}.isdisjoint(kinds)

    in_world(test)
