"""How is a program measured? Wall time, CPU time of it and its children, and how busy the machine
was with others meanwhile.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.generator import LoadFailed
from benchmarks.peers import ROOT
from benchmarks.processes import die_with_parent, machine_busy_seconds
from benchmarks.servers import SOURCES

CORES = os.cpu_count() or 1
SECONDS_MAX = 900
UNSET = frozenset({"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS"})
"""Variables that a program does not get: it runs from bytecode, as installed programs do,
and with what it installed."""


class Ran(NamedTuple):
    """One run of a program."""

    seconds: float
    cpu_seconds: float
    """User and system time of the program and its ended children."""
    busy_seconds: float
    """CPU time of the whole machine meanwhile."""
    output: str

    @property
    def other_share(self) -> float:
        """CPU time of everything else on the machine, as a share of all its cores."""
        return max(0.0, self.busy_seconds - self.cpu_seconds) / (self.seconds * CORES)


def run_program(command: list[str], folder: Path, variables: Mapping[str, str] | None = None) -> Ran:
    """Run a program to its end; raises LoadFailed with the end of its output when it fails."""
    kept = {name: value for name, value in os.environ.items() if name not in UNSET and not name.startswith("AWS_")}
    busy, cpu, began = machine_busy_seconds(), children_seconds(), time.perf_counter()
    done = subprocess.run(
        command,
        cwd=folder,
        env=kept | dict(variables or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
        preexec_fn=die_with_parent,
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        raise LoadFailed(f"it ended with {done.returncode}: {done.stdout.strip()[-600:]}")
    return Ran(seconds, children_seconds() - cpu, machine_busy_seconds() - busy, done.stdout)


def children_seconds() -> float:
    """CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_module(name: str, *arguments: object) -> tuple[dict[str, list[float]], float]:
    """Run a program of this package on the sources; its figures, and the share of the machine that others used."""
    command = [sys.executable, "-m", f"benchmarks.testkit.{name}", *map(str, arguments)]
    ran = run_program(command, ROOT, {"PYTHONPATH": f"{SOURCES}{os.pathsep}{ROOT}"})
    return msgspec.json.decode(ran.output, type=dict[str, list[float]]), ran.other_share
