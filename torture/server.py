"""How is a server started, killed and observed? `hashrange serve` in a process of its own,
on the loopback, checking signatures.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.client import Client, Connection
from benchmarks.processes import TICKS_PER_SECOND, die_with_parent, stat_fields
from benchmarks.signing import CREDENTIALS_TOML, Signer

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 20.0
_PORT = re.compile(rb"http://127\.0\.0\.1:(\d+)")
_DAX_PORT = re.compile(rb"dax://127\.0\.0\.1:(\d+)")
PEAK_RESET = "5"
"""The value for /proc/PID/clear_refs that resets the peak of resident memory."""


class Refused(Exception):
    """A server ended, or did not answer, instead of serving; the message holds its output."""


class Limits(NamedTuple):
    """Limits of the process; 0: the machine's limit."""

    open_files: int = 0
    file_bytes: int = 0

    def apply(self) -> None:
        """Set the limits; runs in the child before its program."""
        die_with_parent()
        if self.open_files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.open_files, self.open_files))
        if self.file_bytes:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.file_bytes, resource.RLIM_INFINITY))


NO_LIMITS = Limits()


class ServerProcess:
    """A server with its data in the folder's `data`; its output is in `output.txt` beside it."""

    def __init__(
        self,
        folder: Path,
        limits: Limits = NO_LIMITS,
        module: str = "hashrange",
        environment: dict[str, str] | None = None,
        flags: tuple[str, ...] = (),
        *,
        has_credentials: bool = True,
    ) -> None:
        """Start the server and wait until it answers; raises Refused."""
        folder.mkdir(parents=True, exist_ok=True)
        credentials = folder / "credentials.toml"
        credentials.write_text(CREDENTIALS_TOML)
        self.folder = folder
        self.data = folder / "data"
        self.port = self.dax_port = 0
        self.client = Client(0)
        started_at = time.perf_counter()
        command = [sys.executable, "-m", module, "serve", "--port", "0"]
        command += ["--data-dir", str(self.data), *(["--credentials", str(credentials)] if has_credentials else [])]
        command += flags
        with (folder / "output.txt").open("ab") as output:
            already_said = output.tell()
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=limits.apply,  # noqa: PLW1509 - it takes no lock
            )
        try:
            self._wait_until_ready(already_said)
        except BaseException:
            self.kill()
            raise
        self.ready_seconds = time.perf_counter() - started_at

    def _wait_until_ready(self, already_said: int) -> None:
        """Wait until the server has printed its port, and answers there."""
        deadline = time.perf_counter() + READY_SECONDS_MAX
        while time.perf_counter() < deadline:
            said = (self.folder / "output.txt").read_bytes()[already_said:]
            found = _PORT.search(said)
            if found and not self.port:
                self.port = int(found[1])
                node = _DAX_PORT.search(said)
                self.dax_port = int(node[1]) if node else 0
                self.client = Client(self.port)
            if self.port and self.answers(READY_SECONDS_MAX):
                return
            if self.process.poll() is not None:
                raise Refused(f"it ended with status {self.process.returncode}: {self.last_words()}")
            time.sleep(0.002)
        raise Refused(f"it did not answer within {READY_SECONDS_MAX:.0f} s: {self.last_words()}")

    def answers(self, within_seconds: float) -> bool:
        """True if a request over a new connection is answered in time."""
        try:
            connection = Connection(self.port, timeout_seconds=within_seconds)
        except OSError:
            return False
        try:
            connection.send(Signer(self.client.host).request("ListTables", b"{}"))
            return connection.receive()[0] == 200
        except (OSError, ValueError):
            return False
        finally:
            connection.close()

    def last_words(self) -> str:
        """Return the last line of the output, without the folder's path."""
        lines = (self.folder / "output.txt").read_text(errors="replace").strip().splitlines()
        return lines[-1].replace(f"{self.folder}/", "") if lines else "it said nothing"

    def call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        """Return the decoded reply; raises benchmarks.client.ReplyError, or OSError."""
        return self.client.call(operation, members)

    def forget_peak(self) -> None:
        """Reset the peak of memory."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text(PEAK_RESET)

    def peak_mb(self) -> float:
        """Return the highest resident memory since `forget_peak`, in millions of bytes;
        0 when the process has ended.
        """
        try:
            lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        except OSError:
            return 0.0
        kilobytes = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), "0")
        return int(kilobytes) * 1024 / 1e6

    def allow_large_files(self) -> None:
        """Lift the limit of file sizes, as if the disk were no longer full."""
        unlimited = resource.RLIM_INFINITY
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))

    def cpu_seconds(self) -> float:
        """Return user and system time so far; steps of 10 ms."""
        return sum(map(int, stat_fields(self.process.pid)[11:13])) / TICKS_PER_SECOND

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stop the server; kill it if that takes too long."""
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
