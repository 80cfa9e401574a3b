"""Which servers do hostile clients meet? Two equal ones: the prober's server, and the control,
which only keeps the machine equally busy.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.client import Connection, ReplyError
from torture.kinds.kind import Call, Conditions, Hostile, Kind
from torture.kinds.needs import NEEDS, basis
from torture.server import Limits, ServerProcess
from torture.stalls.wire import whole_bytes

CALM_SECONDS_MAX = 15.0
"""A server takes clients that have only ended their input for gone after 10 s;
until then it works on their requests."""
CALM_ANSWER_SECONDS = 0.2
CALM_LOOK_SECONDS = 0.1
CALM_SHARE = 0.3
"""Share of a core below which a server is idle: the kernel counts CPU in steps of a tenth of the observed time."""


class Pair:
    """Both servers, with the same tables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.conditions = Conditions()
        self.made: set[Callable[[], Iterator[Call | Hostile]]] = set()
        self.probed = ServerProcess(folder / "probed")
        self.other = ServerProcess(folder / "other")
        for server in (self.probed, self.other):
            for call in basis():
                server.call(*call)

    def prepare(self, kind: Kind) -> None:
        """Create what a kind needs on both servers, unless it exists; restart both for other conditions."""
        if kind.conditions != self.conditions:
            self.conditions = kind.conditions
            self.restart()
        wanted = [*(NEEDS[need] for need in kind.needs), *([kind.preparation] if kind.preparation else [])]
        for make in wanted:
            if make in self.made:
                continue
            for server in (self.probed, self.other):
                for request in make():
                    prepare(server, request)
                server.client.close()
            self.made.add(make)

    def restart(self) -> None:
        """Restart both servers; their data stays."""
        self.probed = self._again(self.probed)
        self.other = self._again(self.other)

    def calm(self) -> bool:
        """Wait until both servers are idle again, or restart one that is not; False when that was the probed one."""
        if not is_calm(self.other):
            self.other = self._again(self.other)
        if is_calm(self.probed):
            return True
        self.probed = self._again(self.probed)
        return False

    def _again(self, server: ServerProcess) -> ServerProcess:
        server.kill()
        open_files, flags, has_credentials = self.conditions
        return ServerProcess(server.folder, Limits(open_files), flags=flags, has_credentials=has_credentials)

    def stop(self) -> None:
        """Stop both servers."""
        self.probed.kill()
        self.other.kill()


def prepare(server: ServerProcess, request: Call | Hostile) -> None:
    """Send a preparing request; raises ReplyError unless it succeeds."""
    if isinstance(request, Call):
        server.call(*request)
        return
    status, body = ask(server, request)
    if not 200 <= status < 300:
        raise ReplyError(f"{request.operation}: {status} {body[:500].decode(errors='replace')}")


def ask(server: ServerProcess, request: Hostile) -> tuple[int, bytes]:
    """Send a request over a connection of its own; return status and body."""
    connection = Connection(server.port)
    try:
        connection.send(whole_bytes(request, server.port))
        return connection.receive()
    finally:
        connection.close()


def is_calm(server: ServerProcess) -> bool:
    """True if the server becomes idle in time: it answers new clients at once and uses hardly any CPU."""
    deadline = time.perf_counter() + CALM_SECONDS_MAX
    while server.process.poll() is None and time.perf_counter() < deadline:
        before = server.cpu_seconds()
        time.sleep(CALM_LOOK_SECONDS)
        if server.cpu_seconds() - before <= CALM_SHARE * CALM_LOOK_SECONDS and server.answers(CALM_ANSWER_SECONDS):
            return True
    return False
