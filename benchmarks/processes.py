"""What does a process cost? Starts servers on their own cores and reads CPU time and memory from /proc. Linux only."""

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
    """Which cores the server and the generator use; empty: whatever the machine gives them."""

    server: str
    generator: str


def choose_cores(is_pinned: bool) -> Cores:
    """The last core for the generator, the others for the server, so that neither takes the other's time."""
    available = sorted(os.sched_getaffinity(0))
    if not is_pinned or len(available) < 2 or shutil.which("taskset") is None:
        return Cores("", "")
    return Cores(",".join(map(str, available[:-1])), str(available[-1]))


def on_cores(command: list[str], cores: str) -> list[str]:
    """The command, held to those cores; `taskset` replaces itself by it, so the process id is the command's own."""
    return ["taskset", "-c", cores, *command] if cores else command


def die_with_parent() -> None:
    """Runs in a child before its program: the kernel kills it when the harness dies, however that dies."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port() -> int:
    """A port of the loopback on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Process:
    """One server process with its children, its output in a file."""

    def __init__(self, command: list[str], folder: Path, cores: str, environment: dict[str, str]) -> None:
        """Starts it, with `folder` (made if missing) as its working folder."""
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
        """Has it not ended by itself?"""
        return self._popen.poll() is None

    def output(self) -> str:
        """The end of what it wrote."""
        return self.output_file.read_text(errors="replace")[-2000:]

    def family(self) -> list[int]:
        """Its process id and its descendants'."""
        children: dict[int, list[int]] = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and (fields := stat_fields(int(entry.name))):
                children.setdefault(int(fields[1]), []).append(int(entry.name))
        found = [self._popen.pid]
        for pid in found:
            found.extend(children.get(pid, []))
        return found

    def cpu_seconds(self) -> float:
        """User and system time of the family so far, children that ended included; steps of 10 ms."""
        return sum(sum(map(int, stat_fields(pid)[11:15])) for pid in self.family()) / TICKS_PER_SECOND

    def resident_mb(self) -> float:
        """Resident memory of the family (a page that two share counts twice), in millions of bytes."""
        return sum(resident_bytes(pid) for pid in self.family()) / 1e6

    def stop(self) -> None:
        """Ask it to stop; then kill it."""
        if self.is_running():
            self._popen.send_signal(signal.SIGTERM)
            try:
                self._popen.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self._popen.kill()
        self._popen.wait()


def stat_fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on: [1] parent, [11:15] user, system and children's times; [] if gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def resident_bytes(pid: int) -> int:
    """Resident memory of one process; 0 if gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def machine_busy_seconds() -> float:
    """CPU time that all processes of the machine have used since it started, other guests' stolen time included."""
    user, nice, system, _idle, _wait, interrupt, soft, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + interrupt + soft + steal) / TICKS_PER_SECOND


def folder_mb(folder: Path) -> float:
    """What a folder's files occupy on the disk, in millions of bytes."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file()) / 1e6
