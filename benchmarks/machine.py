"""On which machine was the run? One sentence about the machine, without its name."""

import os
import platform
import re
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.generator import require_generator
from benchmarks.peers import first_line, home
from benchmarks.processes import Cores

SYNC_BYTES, SYNCS = 8_192, 200
"""Bytes that a group of 16 commits adds to the log; number of syncs timed."""
REMOVED_BYTES, REMOVALS = 4 << 20, 5
"""Bytes of a log or flushed memtable; number of removals timed."""


def describe_machine(cores: Cores) -> str:
    """Describe hardware, disk, generator, and which cores server and generator used."""
    pinned = f"server on core {cores.server}, generator on core {cores.generator}" if cores.server else "not pinned"
    wrk = first_line([require_generator(), "--version"]).partition(" [")[0].removeprefix("wrk ").removeprefix("debian/")
    return f"{describe_hardware()}; {describe_disk(home())}; wrk {wrk}; {pinned}"


def describe_hardware() -> str:
    """Describe cores and their model, memory, kernel."""
    text = Path("/proc/cpuinfo").read_text()
    found = re.search(r"model name\s*: (.+)", text)
    speed = re.search(r"cpu MHz\s*: ([0-9.]+)", text)
    model = " ".join(found.group(1).split()) if found else platform.machine()
    gigahertz = f", {float(speed.group(1)) / 1000:.1f} GHz" if speed else ""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        f"{os.cpu_count()} cores ({model}{gigahertz}), {memory_gb:.0f} GB, {platform.system()}"
        f" {platform.release().split('-')[0]}"
    )


def describe_disk(folder: Path) -> str:
    """Describe how long a sync of a few commits and a file removal take: a sync during a removal waits for it."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        path = Path(scratch, "file")
        with path.open("wb", buffering=0) as file:
            sync_ms = statistics.median(time_sync(file.fileno()) for _ in range(SYNCS)) * 1000
        remove_ms = statistics.median(time_removal(path) for _ in range(REMOVALS)) * 1000
    return (
        f"a sync of {SYNC_BYTES // 1024} KB takes {sync_ms:.2g} ms,"
        f" removing a file of {REMOVED_BYTES >> 20} MB {remove_ms:.2g} ms"
    )


def time_sync(descriptor: int) -> float:
    """Return the seconds of a sync of appended bytes."""
    os.write(descriptor, b"x" * SYNC_BYTES)
    began = time.perf_counter()
    os.fdatasync(descriptor)
    return time.perf_counter() - began


def time_removal(path: Path) -> float:
    """Return the seconds to remove a synced file."""
    with path.open("wb") as file:
        file.write(b"x" * REMOVED_BYTES)
        file.flush()
        os.fsync(file.fileno())
    began = time.perf_counter()
    path.unlink()
    return time.perf_counter() - began
