"""Processes start one in a turn of the loop; their output and end are seen,
and none is left if a start is cancelled.
"""

import asyncio
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from hashrange.functions import process
from hashrange.functions.marks import Mark
from hashrange.functions.process import Process, spawn
from tests.support.waiting import until
from tests.unit.functions.world import LOOPS, Test, World, children, decoded, descriptors, open_globals

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="starts processes as asyncio does")

MARK = Mark.of("0123456789abcdef.fedcba9876543210")


@pytest.fixture(params=sorted(LOOPS))
def in_each_loop(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, None]], None]:
    """Runs a coroutine in each kind of loop, and sees that no process or descriptor is left."""

    def run_in_loop(test: Coroutine[Any, Any, None]) -> None:
        open_globals(request.param)
        descriptors_before, children_before = descriptors(), children()
        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            runner.run(test)
            runner.run(until(lambda: children() <= children_before))
        assert descriptors() <= descriptors_before

    return run_in_loop


async def start(code: str, output: bytearray) -> Process:
    """Start Python with this code."""
    process = Process(output.extend, MARK)
    await spawn(process, [sys.executable, "-c", code], "/", dict(os.environ))
    return process


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("print(1)", 0),
        ("import os; print(1, flush=True); os._exit(3)", 3),
        ("import os; print(1, flush=True); os.kill(os.getpid(), 9)", -9),
    ],
)
def test_output_and_status(in_each_loop: Callable[[Coroutine[Any, Any, None]], None], code: str, status: int) -> None:
    async def test() -> None:
        output = bytearray()
        process = await start(code, output)
        await process.exited
        await until(lambda: output == b"1\n")
        assert process.status == status
        await process.end()

    in_each_loop(test())


@pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="pipes keep their size")
def test_of_a_large_pipe_as_much_is_read_at_once_as_of_others(
    in_each_loop: Callable[[Coroutine[Any, Any, None]], None],
) -> None:
    """A handler can make its pipe larger, and a hundred processes may write in the same moment."""

    async def test() -> None:
        sizes: list[int] = []
        process = Process(lambda data: sizes.append(len(data)), MARK)
        code = "import fcntl, os; fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 19); os.write(1, bytes(1 << 19))"
        await spawn(process, [sys.executable, "-c", code], "/", dict(os.environ))
        await process.exited
        await until(lambda: sum(sizes) == 1 << 19)
        assert max(sizes) <= 64 * 1024
        await process.end()

    in_each_loop(test())


def test_a_process_leads_a_session_and_has_no_input(in_each_loop: Callable[[Coroutine[Any, Any, None]], None]) -> None:
    async def test() -> None:
        output = bytearray()
        code = "import os, sys; print(os.getsid(0), os.getpgrp(), sys.stdin.read() == '', os.getcwd())"
        process = await start(code, output)
        await process.exited
        await until(lambda: output.decode() == f"{process.pid} {process.pid} True /\n")
        await process.end()

    in_each_loop(test())


def test_a_process_that_another_one_traces_holds_nobody(
    in_each_loop: Callable[[Coroutine[Any, Any, None]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until its tracer lets go, a process that has ended cannot be waited for."""
    poll, is_traced = subprocess.Popen.poll, True

    def poll_traced(self: Any) -> int | None:
        return None if is_traced else poll(self)

    def wait(self: Any, timeout: float | None = None) -> int:
        raise AssertionError("the loop would wait for the tracer")

    monkeypatch.setattr(subprocess.Popen, "poll", poll_traced)
    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    monkeypatch.setattr(process, "_WAIT_SECONDS", 0)

    async def test() -> None:
        nonlocal is_traced
        started = await start("print(1)", bytearray())
        await started.exited
        assert started.status is None
        is_traced = False
        await until(lambda: started.status == 0)
        await started.end()
        is_traced = True

    in_each_loop(test())


def test_a_program_that_is_not_there(in_each_loop: Callable[[Coroutine[Any, Any, None]], None]) -> None:
    async def test() -> None:
        with pytest.raises(FileNotFoundError):
            await spawn(Process(print, MARK), ["/not/there"], "/", {})

    in_each_loop(test())


def test_a_start_that_is_cancelled_leaves_nothing(in_each_loop: Callable[[Coroutine[Any, Any, None]], None]) -> None:
    async def test() -> None:
        for turns in range(4):
            starting = asyncio.ensure_future(start("import time; time.sleep(1e6)", bytearray()))
            for _ in range(turns):
                await asyncio.sleep(0)
            if starting.cancel():
                with pytest.raises(asyncio.CancelledError):
                    await starting
            else:
                await (await starting).end()

    in_each_loop(test())


def test_where_processes_have_no_descriptors(
    in_each_loop: Callable[[Coroutine[Any, Any, None]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_has_process_descriptors", lambda: False)

    async def test() -> None:
        output = bytearray()
        process = await start("print(1)", output)
        await process.exited
        await until(lambda: output == b"1\n")
        assert process.status == 0
        await process.end()

    in_each_loop(test())


def test_environments_start_one_in_a_turn(in_world: Callable[[Test], None], monkeypatch: pytest.MonkeyPatch) -> None:
    turn, started_in = 0, []
    start_process = subprocess.Popen

    def note(*arguments: Any, **members: Any) -> Any:
        if arguments[0][-1].endswith("_runtime.py"):
            started_in.append(turn)
        return start_process(*arguments, **members)

    async def count_turns() -> None:
        nonlocal turn
        while True:
            await asyncio.sleep(0)
            turn += 1

    async def test(world: World) -> None:
        world.write(app_py="import time\ndef handler(event, context):\n    time.sleep(0.05)\n    return event\n")
        pool = world.pool()
        counting = asyncio.ensure_future(count_turns())
        monkeypatch.setattr(subprocess, "Popen", note)
        found = await asyncio.gather(*(world.invoke(pool, number) for number in range(6)))
        counting.cancel()
        assert [decoded(one) for one in found] == list(range(6))
        assert len(started_in) == 6
        assert len(set(started_in)) == 6

    in_world(test)
