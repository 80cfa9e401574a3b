"""What does a process consume? Starts servers on their own cores and reads CPU time and memory
from /proc. Linux only.
"""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
STOP_SECONDS_MAX = 20.0
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class Cores(NamedTuple):
    """The cores of the server and of the generator; empty: any core."""

    server: str
    generator: str


def choose_cores(is_pinned: bool) -> Cores:
    """Give the last core to the generator and the others to the server, so that they do not compete."""
    available = sorted(os.sched_getaffinity(0))
    if not is_pinned or len(available) < 2 or shutil.which("taskset") is None:
        return Cores("", "")
    return Cores(",".join(map(str, available[:-1])), str(available[-1]))


def on_cores(command: list[str], cores: str) -> list[str]:
    """Return the command bound to those cores; `taskset` replaces itself by it,
    so the process id is the command's own.
    """
    return ["taskset", "-c", cores, *command] if cores else command


def die_with_parent() -> None:
    """Make the kernel kill the calling child process when the harness dies, even by SIGKILL."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port() -> int:
    """Return a free port of the loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Process:
    """A server process with its children; its output goes to a file."""

    def __init__(self, command: list[str], folder: Path, cores: str, environment: dict[str, str]) -> None:
        """Start the process with `folder` (created if missing) as its working folder."""
        folder.mkdir(parents=True, exist_ok=True)
        self.output_file = folder / "output.txt"
        self.started_at = time.perf_counter()
        with self.output_file.open("wb") as output:
            self._popen = subprocess.Popen(
                on_cores(command, cores),
                cwd=folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - no threads here
            )

    def is_running(self) -> bool:
        """True if the process has not ended."""
        return self._popen.poll() is None

    def output(self) -> str:
        """Return the end of the process's output."""
        return self.output_file.read_text(errors="replace")[-2000:]

    def family(self) -> list[int]:
        """Return the process ids of the process and its descendants."""
        children: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and (fields := stat_fields(int(entry.name))):
                children.setdefault(int(fields[1]), []).append(int(entry.name))
        found = [self._popen.pid]
        for pid in found:
            found.extend(children.get(pid, []))
        return found

    def cpu_seconds(self) -> float:
        """User and system time of the process and its descendants so far, ended children included; steps of 10 ms."""
        return sum(sum(map(int, stat_fields(pid)[11:15])) for pid in self.family()) / TICKS_PER_SECOND

    def resident_mb(self) -> float:
        """Return resident memory of the process and its descendants (shared pages count twice),
        in millions of bytes.
        """
        return sum(resident_bytes(pid) for pid in self.family()) / 1e6

    def stop(self) -> None:
        """Stop the process; kill it if that takes too long."""
        if self.is_running():
            self._popen.send_signal(signal.SIGTERM)
            try:
                self._popen.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self._popen.kill()
        self._popen.wait()


def stat_fields(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on: [1] parent, [11:15] user, system,
    children's times; [] if it ended.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def resident_bytes(pid: int) -> int:
    """Return the resident memory of one process; 0 if it ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def machine_busy_seconds() -> float:
    """Return the CPU time of all processes since the machine started, time stolen by other guests included."""
    user, nice, system, _idle, _wait, interrupt, soft, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + interrupt + soft + steal) / TICKS_PER_SECOND


def folder_mb(folder: Path) -> float:
    """Return the disk space of a folder's files, in millions of bytes."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file()) / 1e6
