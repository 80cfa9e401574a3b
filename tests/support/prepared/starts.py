"""How do tests start servers as processes without each importing all modules, which takes most of a start? A prepared
process (program.py) has imported them, and forks.

The fork has the words, environment, folder, standard streams and process group that a new process has, and its end is
waited for as usual. What /proc tells of its command and environment differs, and its modules are there already: tests
of that, of commands and of what a start costs start Hashrange as others do.
"""

import atexit
import inspect
import json
import os
import select
import socket
import subprocess
import sys
from typing import Any

from tests.support.prepared import program
from tests.support.prepared.program import NUMBER_BYTES

COMMAND = [sys.executable, "-m", "hashrange"]
OF_INTERPRETER = ("PYTHON", "LC_", "LANG")
"""Beginnings of variables that Python reads when it starts."""


class PreparedPopen(subprocess.Popen[str]):
    """Starts `python -m hashrange …` as a fork of the prepared process; only with `args`, streams, `cwd` and `env`."""

    def _execute_child(self, *arguments: Any) -> None:
        """Takes the place of `subprocess.Popen`'s own."""
        named = _EXECUTE_CHILD.bind(self, *arguments).arguments
        pipes = [named[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")]
        streams = [number if pipe == -1 else pipe for number, pipe in enumerate((pipes[0], pipes[3], pipes[5]))]
        environment = dict(os.environ if named["env"] is None else named["env"])
        words = ["hashrange", *named["args"][len(COMMAND) :]]
        folder = os.path.abspath(named["cwd"] or "")
        text = json.dumps({"words": words, "environment": environment, "folder": folder}).encode()
        self._told, told = os.pipe()
        try:
            socket.send_fds(_prepared(environment), [text], [*streams, told])
        finally:
            os.close(told)
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        self.pid = int.from_bytes(os.read(self._told, NUMBER_BYTES))
        assert self.pid, "the prepared process has ended"
        self._child_created = True

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        """Takes the place of `os.waitpid`."""
        if not select.select([self._told], [], [], 0 if wait_flags & os.WNOHANG else None)[0]:
            return 0, 0
        status = os.read(self._told, NUMBER_BYTES)
        os.close(self._told)
        return self.pid, int.from_bytes(status)

    def _internal_poll(self, *_arguments: Any, **_others: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):  # type: ignore[attr-defined]
            try:
                process, status = self._try_wait(os.WNOHANG)
                if process:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


_EXECUTE_CHILD = inspect.signature(subprocess.Popen._execute_child)  # type: ignore[attr-defined]
_by_variables: dict[frozenset[tuple[str, str]], socket.socket] = {}


def _prepared(environment: dict[str, str]) -> socket.socket:
    """The connection to the prepared process whose interpreter has been started with these variables."""
    variables = frozenset(pair for pair in environment.items() if pair[0].startswith(OF_INTERPRETER))
    if variables not in _by_variables:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, program.__file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        _by_variables[variables] = ours
        atexit.register(_end, ours, process)
    return _by_variables[variables]


def _end(connection: socket.socket, process: subprocess.Popen[bytes]) -> None:
    connection.close()
    process.wait()


start_hashrange: type[subprocess.Popen[str]] = PreparedPopen if sys.platform == "linux" else subprocess.Popen
"""Starts COMMAND and its words, as `subprocess.Popen` does."""
