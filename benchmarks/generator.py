"""Which program generates the load? wrk, which replays prepared signed requests on a core of its own (replay.lua).

One thread of wrk can send several times the requests that any of these servers answers; its CPU share is reported and
shows when the generator limited a run.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import msgspec

from benchmarks.processes import die_with_parent, on_cores

SCRIPT = Path(__file__).with_name("replay.lua")


class NoGenerator(Exception):
    """wrk is not installed; the message says how to install it."""


class LoadFailed(Exception):
    """A run gave no usable figure; the message says why."""


class Load(msgspec.Struct, frozen=True):
    """wrk's report. Latencies are from sending a request to the last byte of its reply."""

    requests: int
    duration_us: int
    refused: int
    """Number of replies other than 2xx and 3xx."""
    broken: int
    p50_us: int
    p99_us: int
    p999_us: int
    max_us: int
    generator_share: float = 0.0
    """wrk's own CPU time as a share of the run: near 1, the generator was the limit."""


def require_generator() -> str:
    """Return wrk's path; raises NoGenerator."""
    path = shutil.which("wrk")
    if path is None:
        raise NoGenerator("wrk is not installed: `apt-get install wrk` (Debian, Ubuntu), `brew install wrk` (macOS).")
    return path


class RunningLoad:
    """A started run of wrk; `wait` ends it."""

    def __init__(self, port: int, requests_file: Path, connections: int, seconds: float, cores: str) -> None:
        whole_seconds = max(1, round(seconds))
        command = [
            require_generator(), "--threads", "1", "--connections", str(connections), "--duration", f"{whole_seconds}s",
            "--timeout", "60s", "--script", str(SCRIPT), f"http://127.0.0.1:{port}", "--", str(requests_file),
        ]  # fmt: skip
        self._popen = subprocess.Popen(
            on_cores(command, cores),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
            preexec_fn=die_with_parent,  # noqa: PLW1509 - no threads here
        )

    def wait(self) -> Load:
        """Return wrk's report; raises LoadFailed when there was none."""
        assert self._popen.stdout is not None
        with self._popen.stdout as stdout:
            try:
                output = stdout.read().decode(errors="replace")
            except BaseException:
                self._popen.kill()
                raise
        _, status, usage = os.wait4(self._popen.pid, 0)
        self._popen.returncode = os.waitstatus_to_exitcode(status)
        report = next((line[7:] for line in output.splitlines() if line.startswith("REPORT ")), None)
        if report is None:
            raise LoadFailed(f"wrk gave no report: {output.strip()[-300:]}")
        load = msgspec.convert(json.loads(report), Load)
        share = (usage.ru_utime + usage.ru_stime) / (load.duration_us / 1e6)
        return msgspec.structs.replace(load, generator_share=share)
