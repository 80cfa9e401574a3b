"""How does the harness speak with its own processes? A line on their input begins, its end ends; they print lines of JSON."""

import select
import subprocess
import sys
import time
from typing import Any

import msgspec

from benchmarks.processes import die_with_parent
from torture.server import ROOT

END_SECONDS_MAX = 10.0
GO, READY, REPLIED = "go", "ready", "replied"
"""What is said: by the harness, by a child that can begin, by one whose first reply has come."""


class Child:
    """A process of this package that measures, or makes trouble."""

    def __init__(self, module: str, *arguments: object) -> None:
        """Starts `python -m torture.stalls.MODULE ARGUMENTS` and waits until it can begin."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"torture.stalls.{module}", *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - it takes no lock
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        if self._output.readline().strip().decode() != READY:
            self.kill()
            raise RuntimeError(f"torture.stalls.{module} did not begin")

    def go(self) -> None:
        """Let it begin."""
        self._input.write(f"{GO}\n".encode())
        self._input.flush()

    def says_within(self, seconds: float) -> bool:
        """Has it printed a line, or does it in so many seconds? The line is taken."""
        readable, _, _ = select.select([self._output], [], [], max(0.0, seconds))
        return bool(readable) and bool(self._output.readline())

    def end(self) -> None:
        """It need not go on; `report` has what it saw."""
        self._input.close()

    def has_ended_within(self, seconds: float) -> bool:
        """Has its process ended, or does it in so many seconds?"""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def report(self) -> Any:
        """What it saw, decoded, once it has ended after `end`; raises subprocess.TimeoutExpired when it has not in time."""
        self._process.wait(END_SECONDS_MAX)
        return msgspec.json.decode(self._output.read().strip().rpartition(b"\n")[2])

    def kill(self) -> None:
        """End it without a word, if it has not ended."""
        self._process.kill()
        self._process.wait()
        self._input.close()
        self._output.close()


def wait_for_go() -> None:
    """In a child: say that it can begin, and wait for the word."""
    print(READY, flush=True)
    sys.stdin.readline()


def has_input_ended(within_seconds: float) -> bool:
    """In a child: is it to end? Waits so long."""
    readable, _, _ = select.select([sys.stdin], [], [], within_seconds)
    return bool(readable)


def now() -> float:
    """Seconds of a clock that only goes forward."""
    return time.perf_counter()
