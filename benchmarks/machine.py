"""On what was measured? One sentence about the machine, without its name."""

import os
import platform
import re
from pathlib import Path

from benchmarks.generator import require_generator
from benchmarks.peers import first_line
from benchmarks.processes import Cores


def describe_machine(cores: Cores) -> str:
    """Cores and their model, memory, kernel, generator, and who had which core."""
    text = Path("/proc/cpuinfo").read_text()
    found = re.search(r"model name\s*: (.+)", text)
    speed = re.search(r"cpu MHz\s*: ([0-9.]+)", text)
    model = " ".join(found.group(1).split()) if found else platform.machine()
    gigahertz = f", {float(speed.group(1)) / 1000:.1f} GHz" if speed else ""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    pinned = f"server on core {cores.server}, generator on core {cores.generator}" if cores.server else "not pinned"
    wrk = first_line([require_generator(), "--version"]).partition(" [")[0].removeprefix("wrk ").removeprefix("debian/")
    return (
        f"{os.cpu_count()} cores ({model}{gigahertz}), {memory_gb:.0f} GB, {platform.system()} {platform.release().split('-')[0]};"
        f" wrk {wrk}; {pinned}"
    )
