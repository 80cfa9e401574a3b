"""Functions with real processes, and a check that none of them leaves anything behind."""

import asyncio
import functools
import json
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.clock import Clock, SystemClock
from hashrange.functions.connection import Listener
from hashrange.functions.declaration import FunctionDeclaration, describe_declared
from hashrange.functions.description import HandlerCredentials, Runnable
from hashrange.functions.invocation import Invocation
from hashrange.functions.invocation_log import FunctionLog, LoggedErrors
from hashrange.functions.log_lines import LogLines
from hashrange.functions.pool import EnvironmentPool
from tests.support.waiting import PATIENCE_SECONDS, until, wait_until

try:
    import uvloop

    LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
        "asyncio": asyncio.new_event_loop,
        "uvloop": uvloop.new_event_loop,
    }
except ImportError:
    LOOPS = {"asyncio": asyncio.new_event_loop}

PYTHON = f"python3.{sys.version_info.minor}"
NODE = "nodejs20.x"


def children() -> set[int]:
    """The processes that this process has started and not yet waited for; on Linux only."""
    found: set[int] = set()
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended; another one has its children now
            found |= set(map(int, path.read_text().split()))
    return found


def descriptors() -> set[str]:
    """The open descriptors of this process."""
    folder = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
    return set(os.listdir(folder))


class World:
    """A folder with a function's code, and the pools that run it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[tuple[str, str]] = []
        self.listener: Listener
        self.pools: list[EnvironmentPool] = []
        self._invocations = 0

    def write(self, **files: str) -> None:
        """Write files of the code: `app_py="…"` is app.py, `src__app_py="…"` is src/app.py."""
        for name, text in files.items():
            path = self.folder / ".".join(name.replace("__", "/").rsplit("_", 1))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def runnable(self, **members: Any) -> Runnable:
        """A function with this code. `members`: of its description, or of what is returned."""
        is_node = members.get("runtime") == NODE
        declared = FunctionDeclaration(
            code=str(self.folder), handler="index.handler" if is_node else "app.handler", timeout=PATIENCE_SECONDS
        )
        function = describe_declared("orders", declared, 0.0, "run", Caller("000000000000", "eu-west-1"))
        usual = {"folder": str(self.folder), "credentials": HandlerCredentials("AKID", "hidden")}
        own = {name: members.pop(name) for name in Runnable.__struct_fields__ if name in members}
        return Runnable(function=msgspec.structs.replace(function, **members), **usual | own)

    def pool(self, clock: Clock | None = None, **members: Any) -> EnvironmentPool:
        """A pool for this code."""
        read = clock or SystemClock()
        log = FunctionLog(lambda *line: self.lines.append(line), LogLines(read), LoggedErrors())
        pool = EnvironmentPool(self.runnable(**members), self.listener, read, log)
        self.pools.append(pool)
        return pool

    async def invoke(self, pool: EnvironmentPool, event: Any = None) -> Invocation:
        """Invoke with a new request id, in time."""
        self._invocations += 1
        async with asyncio.timeout(2 * PATIENCE_SECONDS):
            return await pool.invoke(json.dumps(event).encode(), f"request-{self._invocations}")

    def output(self, number: int = 1) -> list[str]:
        """What the handler wrote in an invocation, without START, END and REPORT."""
        usual = ("START ", "END ", "REPORT ")
        return [line for one, line in self.lines if one == f"request-{number}" and not line.startswith(usual)]


Test = Callable[[World], Coroutine[Any, Any, None]]


@functools.cache
def open_globals(loop: str) -> None:
    """Open what the first loop of a kind opens for the whole process."""

    async def start() -> None:
        process = await asyncio.create_subprocess_exec(sys.executable, "-S", "-c", "")
        await process.wait()

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(start())


def run(folder: Path, test: Test, loop: str = "asyncio") -> None:
    """Run a test in a loop, close its pools, and see that no process, task or descriptor is left."""
    open_globals(loop)
    open_before, children_before = descriptors(), children()

    async def main() -> None:
        world = World(folder)
        world.listener = Listener()
        await world.listener.start()
        try:
            await test(world)
        finally:
            for pool in world.pools:
                await pool.close()
            await world.listener.close()
        await until(lambda: asyncio.all_tasks() <= {asyncio.current_task()})
        await until(lambda: children() <= children_before)

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(main())
    wait_until(lambda: descriptors() <= open_before)  # a look at the memory may go on, on its thread


def decoded(invocation: Invocation) -> Any:
    """The payload."""
    return json.loads(invocation.payload)


async def failed(invoking: Awaitable[Invocation]) -> Any:
    """The payload of an invocation that returns an error."""
    invocation = await invoking
    assert invocation.function_error == "Unhandled"
    return decoded(invocation)
