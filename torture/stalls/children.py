"""How does the harness control its own processes? A line on their input starts them,
closing it ends them; they print lines of JSON.
"""

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
"""Messages: the harness starts a child; a child can begin; a hostile child got its first reply."""


class Child:
    """A process of this package: the prober, or hostile clients."""

    def __init__(self, module: str, *arguments: object) -> None:
        """Start `python -m torture.stalls.MODULE ARGUMENTS` and wait until it can begin."""
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
        """Let the child begin."""
        self._input.write(f"{GO}\n".encode())
        self._input.flush()

    def says_within(self, seconds: float) -> bool:
        """True if the child prints a line within this time; the line is consumed."""
        readable, _, _ = select.select([self._output], [], [], max(0.0, seconds))
        return bool(readable) and bool(self._output.readline())

    def end(self) -> None:
        """Ask the child to end; `report` then has its results."""
        self._input.close()

    def has_ended_within(self, seconds: float) -> bool:
        """True if the child's process ends within this time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def report(self) -> Any:
        """Return the child's decoded results, after `end`; raises subprocess.TimeoutExpired if it does not end."""
        self._process.wait(END_SECONDS_MAX)
        return msgspec.json.decode(self._output.read().strip().rpartition(b"\n")[2])

    def kill(self) -> None:
        """Kill the child if it has not ended; its results are lost."""
        self._process.kill()
        self._process.wait()
        self._input.close()
        self._output.close()


def wait_for_go() -> None:
    """In a child: print READY, and wait for GO."""
    print(READY, flush=True)
    sys.stdin.readline()


def has_input_ended(within_seconds: float) -> bool:
    """In a child: wait at most this long; return True if the harness has closed the input."""
    readable, _, _ = select.select([sys.stdin], [], [], within_seconds)
    return bool(readable)


def now() -> float:
    """Return seconds of a monotonic clock."""
    return time.perf_counter()
