"""How is one commit's server controlled? A process serves the commit's sources (pair_served.py):
start, fill, run requests, stop.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.client import ReplyError
from benchmarks.generator import LoadFailed
from benchmarks.pair_served import COUNT_INSTRUCTIONS
from benchmarks.processes import die_with_parent, on_cores
from benchmarks.signing import CREDENTIALS_TOML, Signer

PROGRAM = Path(__file__).with_name("pair_served.py")
HOST = "127.0.0.1:8000"
"""Host header of the signed requests; the server has no other address."""
REPLY_SECONDS_MAX = 120.0
STOP_SECONDS_MAX = 20.0
OUTPUT_LENGTH_MAX = 600


class Side:
    """A running server of one commit."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], channel: socket.socket, output_file: Path) -> None:
        self.name = name
        self.process = process
        self._channel = channel
        self._replies = channel.makefile("rb")
        self._output_file = output_file

    def load(self, workload: str, file: Path) -> int:
        """Have the server read the requests of `file` under the workload's name; return how many there are."""
        return int(self._do(do="load", name=workload, file=str(file))["requests"])

    def connect(self) -> None:
        """Replace the connections by new ones."""
        self._do(do="connect")

    def run(self, workload: str, start: int, count: int) -> int:
        """CPU nanoseconds of `count` requests from number `start` on, wrapping.
        Raises LoadFailed when one is refused.
        """
        return int(self._run(workload, start, count)["cpu_ns"])

    def count(self, workload: str, start: int, count: int) -> int:
        """Bytecode instructions that `run` of these requests executes, of a server started with `counts`."""
        return int(self._run(workload, start, count, counts=True)["instructions"])

    def _run(self, workload: str, start: int, count: int, *, counts: bool = False) -> dict[str, Any]:
        reply = self._do(do="run", name=workload, start=start, count=count, counts=counts)
        if "refusal" in reply:
            raise LoadFailed(f"{self.name} refuses a request of {workload}: {reply['refusal']}")
        return reply

    def used_ns(self) -> int:
        """Return the CPU nanoseconds of the server process so far."""
        return int(self._do(do="used")["cpu_ns"])

    def call(self, operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the decoded reply (as `client.Client.call`); raises ReplyError."""
        request = Signer(HOST).request(operation, json.dumps(arguments).encode())
        reply = self._do(do="call", request=request.decode("latin-1"))
        if " 200 " not in reply["status_line"]:
            raise ReplyError(f"{self.name} refuses {operation}: {reply['status_line']} {reply['body']}")
        return dict(json.loads(reply["body"]))

    def receive(self) -> dict[str, Any]:
        """Return the next reply; raises LoadFailed when the process ended or did not answer in time."""
        try:
            line = self._replies.readline()
        except TimeoutError:
            raise LoadFailed(f"{self.name} has not answered within {REPLY_SECONDS_MAX:.0f} s") from None
        except ConnectionResetError:
            line = b""
        if not line:
            raise LoadFailed(f"the server of {self.name} ended: {self._output_file.read_text()[-OUTPUT_LENGTH_MAX:]}")
        return dict(json.loads(line))

    def _do(self, **command: object) -> dict[str, Any]:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # then `receive` says why
            self._channel.sendall(json.dumps(command).encode() + b"\n")
        return self.receive()


@contextlib.contextmanager
def started(
    name: str, sources: Path, folder: Path, kind: str, hash_seed: int, cores: str, *, counts: bool = False
) -> Iterator[Side]:
    """Start a server of the package in `sources`, in memory or on disk, in the new folder `folder`; stopped at the end.
    With `counts`, it can count instructions.

    Raises LoadFailed when it does not start, or runs a package from another folder.
    """
    folder.mkdir()
    credentials = folder / "credentials.toml"
    credentials.write_text(CREDENTIALS_TOML)
    place = ["--in-memory"] if kind == "memory" else ["--data-dir", str(folder / "data")]
    ours, theirs = socket.socketpair()
    ours.settimeout(REPLY_SECONDS_MAX)
    output_file = folder / "output.txt"
    with output_file.open("wb") as output, theirs:
        process = subprocess.Popen(
            on_cores(
                [
                    sys.executable,
                    "-P",
                    str(PROGRAM),
                    str(theirs.fileno()),
                    "serve",
                    "--port",
                    "0",
                    *place,
                    "--credentials",
                    str(credentials),
                ],
                cores,
            ),
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": str(sources),
                "PYTHONHASHSEED": str(hash_seed),
                "PYTHONDONTWRITEBYTECODE": "",
                **({COUNT_INSTRUCTIONS: "1"} if counts else {}),
            },
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[theirs.fileno()],
            preexec_fn=die_with_parent,  # noqa: PLW1509 - no threads here
        )
    try:
        with ours:
            side = Side(name, process, ours, output_file)
            source = Path(side.receive()["source"])
            if not source.is_relative_to(sources):
                raise LoadFailed(f"{name} has no package hashrange in src/")
            yield side
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the server; kill it if that takes too long."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
