"""How does a process outlive the command that started it, and how is it found again? By its id and the moment at which
it began, so that no signal reaches a later process with the same id.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import Literal

import msgspec

from hashrange.clock import SystemClock

LOOK_SECONDS = 0.05
"""The pause between two looks at what is waited for."""
LAUNCH = '"$@" >&2 & echo $!'
"""The script of a shell that starts a process, tells its id, and ends. So the process is nobody's child to wait for."""
BOOT_FILE = "/proc/sys/kernel/random/boot_id"

ProcessState = Literal["running", "paused", "ended"]


class ProcessMark(msgspec.Struct, frozen=True):
    """What is kept of a process to find it again."""

    pid: int
    began: str
    """When it began, in the system's own words, which are only compared; empty if it had ended at once."""


def launch(command: Sequence[str], folder: str, log: str, environment: Mapping[str, str] | None = None) -> ProcessMark:
    """Start a process in `folder` that outlives this one, and whose output is appended to `log`.

    `environment`: None stands for that of this process. Raises OSError.
    """
    with open(log, "ab") as output:
        done = subprocess.run(  # noqa: S603 - the command is made by this package
            ["/bin/sh", "-c", LAUNCH, "sh", *command],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=output,
            start_new_session=True, check=True,
        )  # fmt: skip
    pid = int(done.stdout)
    found = _look(pid)
    return ProcessMark(pid, "" if found is None else found[1])


def process_state(mark: ProcessMark | None) -> ProcessState:
    """What a process does now. A process that has ended stays so, whatever its id stands for since."""
    found = None if mark is None else _look(mark.pid)
    if mark is None or found is None or found[1] != mark.began or found[0] in "ZX":
        return "ended"
    return "paused" if found[0] == "T" else "running"


def send_signal(mark: ProcessMark | None, number: int) -> None:
    """Send a signal to a process, unless it has ended."""
    if mark is not None and process_state(mark) != "ended":
        with contextlib.suppress(ProcessLookupError):
            os.kill(mark.pid, number)


def holds_within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Look again and again until the condition holds; False if it does not within this time."""
    clock = SystemClock()
    end_seconds = clock.monotonic() + seconds
    while not condition():
        if clock.monotonic() >= end_seconds:
            return False
        Event().wait(LOOK_SECONDS)
    return True


def _look(pid: int) -> tuple[str, str] | None:
    """The letter of a process's state, as `ps` has it, and when the process began; None if there is none."""
    if sys.platform == "linux":
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                words = file.read().rpartition(")")[2].split()
            with open(BOOT_FILE, encoding="ascii") as file:
                boot = file.read().strip()
        except OSError:
            return None
        return words[0], f"{words[19]} ticks after the start of boot {boot}"
    told = subprocess.run(  # noqa: S603 - it is the system's own
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)],
        env={"LC_ALL": "C", "TZ": "UTC"}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    state, _, began = told.stdout.strip().partition(" ")
    return (state[0], began.strip()) if state else None
