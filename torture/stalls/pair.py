"""Which servers do hostile clients meet? Two equal ones: the one that the prober asks, and one that only makes the machine as busy."""

from pathlib import Path

from torture.kinds.needs import basis, calls_for
from torture.server import Limits, ServerProcess

CALM_SECONDS_MAX = 5.0
CALM_ANSWER_SECONDS = 0.2


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
        """Make what a kind needs, unless it is there, on both; start both anew when the limit differs."""
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
        """Both; their data stays."""
        self.probed = self._again(self.probed)
        self.other = self._again(self.other)

    def calm(self) -> None:
        """Wait until both are idle again, or start anew whichever is not."""
        if not is_calm(self.probed):
            self.probed = self._again(self.probed)
        if not is_calm(self.other):
            self.other = self._again(self.other)

    def _again(self, server: ServerProcess) -> ServerProcess:
        server.kill()
        return ServerProcess(server.folder, self.limits)

    def stop(self) -> None:
        """End both."""
        self.probed.kill()
        self.other.kill()


def is_calm(server: ServerProcess) -> bool:
    """Does it answer at once, twice, before its time is over?"""
    return server.process.poll() is None and server.answers(CALM_SECONDS_MAX) and server.answers(CALM_ANSWER_SECONDS)
