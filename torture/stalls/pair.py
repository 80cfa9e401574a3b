"""Which servers do hostile clients meet? Two equal ones: the prober's server, and the control, which only keeps the machine equally busy."""

import time
from pathlib import Path

from torture.kinds.needs import basis, calls_for
from torture.server import Limits, ServerProcess

CALM_SECONDS_MAX = 15.0
"""A server takes clients that have only ended their input for gone after 10 s; until then it works on their requests."""
CALM_ANSWER_SECONDS = 0.2
CALM_LOOK_SECONDS = 0.1
CALM_SHARE = 0.3
"""Share of a core below which a server is idle: the kernel counts CPU in steps of a tenth of the observed time."""


class Pair:
    """Both servers, with the same tables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.limits = Limits()
        self.made: set[str] = set()
        self.probed = ServerProcess(folder / "probed")
        self.other = ServerProcess(folder / "other")
        for server in (self.probed, self.other):
            for call in basis():
                server.call(*call)

    def prepare(self, needs: tuple[str, ...], open_files_max: int) -> None:
        """Create what a kind needs on both servers, unless it exists; restart both for another limit of open files."""
        if open_files_max != self.limits.open_files:
            self.limits = Limits(open_files=open_files_max)
            self.restart()
        new = tuple(need for need in needs if need not in self.made)
        for server in (self.probed, self.other) if new else ():
            for call in calls_for(new):
                server.call(*call)
            server.client.close()
        self.made.update(new)

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
        return ServerProcess(server.folder, self.limits)

    def stop(self) -> None:
        """Stop both servers."""
        self.probed.kill()
        self.other.kill()


def is_calm(server: ServerProcess) -> bool:
    """True if the server becomes idle in time: it answers new clients at once and uses hardly any CPU."""
    deadline = time.perf_counter() + CALM_SECONDS_MAX
    while server.process.poll() is None and time.perf_counter() < deadline:
        before = server.cpu_seconds()
        time.sleep(CALM_LOOK_SECONDS)
        if server.cpu_seconds() - before <= CALM_SHARE * CALM_LOOK_SECONDS and server.answers(CALM_ANSWER_SECONDS):
            return True
    return False
