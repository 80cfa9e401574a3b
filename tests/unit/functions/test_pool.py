"""Environments are used again, replaced when they must be, ended when they are idle, and never more than allowed."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hashrange.functions import pool as pool_module
from hashrange.functions.code import find_code
from hashrange.functions.invocation import ConcurrencyExceeded
from hashrange.limits import ENVIRONMENT_IDLE_SECONDS_MAX
from tests.support.clocks import VirtualClock
from tests.support.waiting import until
from tests.unit.functions.conftest import Runner
from tests.unit.functions.world import LOOPS, World, children, decoded, failed, run

PID = "import os\ndef handler(event, context): return os.getpid()\n"
WAITING = """
import os
def handler(event, context):
    if event:
        os.write(os.open("began", os.O_CREAT | os.O_APPEND | os.O_WRONLY), b".")
        with open(event) as fifo: fifo.read()
    return os.getpid()
"""


def make_fifo(world: World) -> str:
    """A path that handlers wait at until the test opens it."""
    path = str(world.folder / "fifo")
    os.mkfifo(path)
    return path


async def begun(world: World, count: int = 1) -> None:
    """Wait until this many handlers wait."""
    file = world.folder / "began"
    await until(lambda: file.exists() and len(file.read_bytes()) == count)


async def release(path: str) -> None:
    """Let all waiting handlers go on."""
    await asyncio.to_thread(Path(path).write_text, "")


def test_one_after_the_other_share_an_environment(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(app_py=PID)
        pool = world.pool()
        assert len({(await world.invoke(pool)).payload for _ in range(3)}) == 1
        reports = [line for _, line in world.lines if line.startswith("REPORT")]
        assert ["Init Duration" in report for report in reports] == [True, False, False]

    in_world(test)


def test_the_duration_is_in_milliseconds(in_world: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([5.0, 7.0])
    monkeypatch.setattr(pool_module, "real_seconds", lambda: next(moments))

    async def test(world: World) -> None:
        world.write(app_py=PID)
        assert b"\tDuration: 2000.00 ms\t" in (await world.invoke(world.pool())).log_tail

    in_world(test)


@pytest.mark.parametrize("loop", sorted(LOOPS))
def test_a_loop_of_another_thread(tmp_path: Path, loop: str) -> None:
    async def test(world: World) -> None:
        world.write(app_py=PID)
        assert decoded(await world.invoke(world.pool())) in children()

    with ThreadPoolExecutor(1) as executor:
        executor.submit(run, tmp_path, test, loop).result()


def test_at_the_same_time_each_has_its_own(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(app_py=WAITING)
        fifo, pool = make_fifo(world), world.pool()
        running = [asyncio.ensure_future(world.invoke(pool, fifo)) for _ in range(2)]
        await begun(world, 2)
        await release(fifo)
        pids = {(await one).payload for one in running}
        assert len(pids) == 2
        assert pool.idle_count == 2
        assert (await world.invoke(pool)).payload in pids

    in_world(test)


def test_idle_environments_end(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(app_py=PID)
        pool = world.pool(clock := VirtualClock())
        first = (await world.invoke(pool)).payload
        clock.advance_all(ENVIRONMENT_IDLE_SECONDS_MAX - 1)
        pool.end_idle()
        assert (await world.invoke(pool)).payload == first
        clock.advance(ENVIRONMENT_IDLE_SECONDS_MAX)
        pool.end_idle()
        assert pool.idle_count == 1, "service time does not count"
        clock.advance_all(ENVIRONMENT_IDLE_SECONDS_MAX)
        pool.end_idle()
        assert pool.idle_count == 0
        assert (await world.invoke(pool)).payload != first

    in_world(test)


def test_an_idle_environment_that_was_killed_is_not_used(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(app_py=PID)
        pool = world.pool()
        first = decoded(await world.invoke(pool))
        os.kill(first, 9)
        await until(lambda: not pool._idle[0].is_usable)
        assert decoded(await world.invoke(pool)) != first

    in_world(test)


def test_other_code_starts_other_environments(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(app_py=WAITING)
        fifo, pool = make_fifo(world), world.pool(watched=str(world.folder))
        running = asyncio.ensure_future(world.invoke(pool, fifo))
        await begun(world)
        world.write(app_py="def handler(event, context): return 'new'")
        assert decoded(await world.invoke(pool)) == "new"
        await release(fifo)
        assert isinstance(decoded(await running), int), "an invocation that runs goes on"
        assert pool.idle_count == 1

    in_world(test)


def test_code_in_place_is_loaded_again_when_it_changes(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(app_py="import helper\ndef handler(event, context): return helper.N", helper_py="N = 1")
        code = find_code(str(world.folder))
        pool = world.pool(folder=code.folder, watched=code.watched)
        assert decoded(await world.invoke(pool)) == 1
        assert not (world.folder / "__pycache__").exists()
        kept = pool._idle[0]
        assert decoded(await world.invoke(pool)) == 1
        assert pool._idle == [kept]
        world.write(helper_py="N = 2")
        assert decoded(await world.invoke(pool)) == 2

    in_world(test)


def test_closing_ends_invocations_that_run(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(app_py=WAITING)
        fifo, pool = make_fifo(world), world.pool()
        running = asyncio.ensure_future(world.invoke(pool, fifo))
        starting = asyncio.ensure_future(world.invoke(pool))
        await begun(world)
        await pool.close()
        assert (await failed(running))["errorType"] == "Runtime.ExitError"
        await starting
        with pytest.raises(ConcurrencyExceeded):
            await world.invoke(pool)

    in_world(test)


def test_a_cancelled_invocation_ends_its_environment(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(app_py=WAITING)
        fifo, pool = make_fifo(world), world.pool()
        running = asyncio.ensure_future(world.invoke(pool, fifo))
        await begun(world)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert pool.idle_count == 0
        starting = asyncio.ensure_future(world.invoke(pool))
        await until(lambda: any(one._process for one in pool._busy))
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert isinstance(decoded(await world.invoke(pool)), int)

    in_world(test)
