"""A process's output is read to its end, and its end closes nothing that belongs to others."""

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from hashrange.functions import process as module
from hashrange.functions.marks import Mark
from hashrange.functions.process import Process, spawn
from tests.support.waiting import until

uvloop = pytest.importorskip("uvloop")
LOOPS: dict[str, Callable[[], Any]] = {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}
MARK = Mark.of("0.0")


async def started(code: str, received: list[bytes]) -> Process:
    command = [sys.executable, "-c", code]
    process = Process(received.append, MARK)
    await spawn(process, command, os.getcwd(), dict(os.environ))
    return process


class NotedPipe(io.FileIO):
    """Notes whether the descriptor is still open when it is closed: else the number may be another's by then."""

    was_open: ClassVar[list[bool]] = []

    def close(self) -> None:
        if not self.closed:
            try:
                os.fstat(self.fileno())
            except OSError:
                self.was_open.append(False)
            else:
                self.was_open.append(True)
        super().close()


class NotedPopen(subprocess.Popen[bytes]):
    """A process whose output is such a pipe."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        assert self.stdout is not None
        descriptor = os.dup(self.stdout.fileno())
        self.stdout.close()
        self.stdout = NotedPipe(descriptor, "rb")


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("ends_itself", [True, False])
def test_the_pipe_of_a_process_is_closed_once(loop: str, ends_itself: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of the engine open files at any time, so what is closed twice may be one of theirs the second time."""
    NotedPipe.was_open.clear()
    monkeypatch.setattr(subprocess, "Popen", NotedPopen)

    async def scenario() -> None:
        received: list[bytes] = []
        process = await started(
            f"import time; print('x' * 10, flush=True); time.sleep({0 if ends_itself else 1000})", received
        )
        await until(lambda: b"".join(received) == b"xxxxxxxxxx\n")
        if ends_itself:
            await process.exited
        await process.end()

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(scenario())
    assert NotedPipe.was_open == [True]


@pytest.mark.parametrize("loop", LOOPS)
def test_much_output_is_read_whole_and_in_order(loop: str) -> None:
    async def scenario() -> None:
        received: list[bytes] = []
        process = await started("for n in range(200_000): print(n)", received)
        await process.exited
        whole = b"".join(b"%d\n" % number for number in range(200_000))
        await until(lambda: sum(map(len, received)) == len(whole))
        await process.end()
        assert b"".join(received) == whole

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(scenario())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_process_that_cannot_be_watched_ends_and_leaves_nothing(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_pid: int) -> int:
        raise OSError(24, "Too many open files")

    async def scenario() -> None:
        await (await started("pass", [])).end()
        before = len(os.listdir("/proc/self/fd"))
        monkeypatch.setattr(os, "pidfd_open", refused)
        with pytest.raises(OSError, match="Too many"):
            await started("import time; time.sleep(1000)", [])
        assert len(os.listdir("/proc/self/fd")) == before

    if not module._has_process_descriptors():
        pytest.skip("needs Linux")
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(scenario())
