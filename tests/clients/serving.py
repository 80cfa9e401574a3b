"""The server as a user starts it: the installed command in a process of its own, on a free port of the loopback."""

import os
import re
import signal
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from urllib.request import Request, urlopen

from tests.support.prepared.starts import COMMAND, start_hashrange

OTHER_VERSION = re.compile(r" WARNING hashrange\.functions: (?:There is no python3\.|The node on PATH is )")
"""Lines about another Python or Node.js than a function names: this machine may have any."""

MEANT = (r"hashrange\.triggers: The function ", r"hashrange\.transfers: The (?:import|bulk put) ")
"""Logs, and how their lines begin, of what tests let fail."""


class ServerProcess:
    """`hashrange serve`; without a folder it keeps everything in memory."""

    log: Path | None = None
    """File of standard error; None: a pipe."""

    def __init__(self, folder: Path | None = None, *options: str, log: Path | None = None) -> None:
        """`log`: a file for standard error, which what handlers of functions print would fill."""
        self.options = [*(["--in-memory"] if folder is None else ["--data-dir", str(folder)]), *options]
        self.log = log
        self.port = 0
        self.start()

    def start(self) -> None:
        """Start on the previous port, if any."""
        command = [*COMMAND, "serve", "--port", str(self.port), *self.options]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with nullcontext(subprocess.PIPE) if self.log is None else self.log.open("a") as errors:
            self.process = start_hashrange(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"(https?://127\.0\.0\.1:(\d+))", line)
        assert found, line or self.process.communicate()[1] or self.problems()
        self.endpoint, self.port = found[1], int(found[2])
        dax = re.search(r"(daxs?://127\.0\.0\.1:\d+)", line)
        self.dax_endpoint = None if dax is None else dax[1]

    def stop(self) -> None:
        """Stop the server by a signal; it must not have reported an error."""
        if sys.platform == "win32":
            self.process.terminate()
            self.process.communicate(timeout=30)
            return
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=30)
        said = "\n".join(one for one in (errors or "").splitlines() if not OTHER_VERSION.search(one)) or self.problems()
        assert not said, f"the server said:\n{said}"
        assert self.process.returncode == 0

    def problems(self) -> str:
        """The warnings and errors in the log, if there is one, without what follows in further lines.

        Those of functions, imports and bulk puts that fail are left out: they are meant to, with some records.
        """
        lines = [] if self.log is None else self.log.read_text().splitlines()
        is_problem = re.compile(rf"\S+ \S+ (WARNING|ERROR|CRITICAL) (?!{'|'.join(MEANT)})").match
        return "\n".join(line for line in lines if is_problem(line) and not OTHER_VERSION.search(line))

    def reset(self) -> None:
        """Delete everything, and let the clock be the machine's again; needs the option --admin."""
        with urlopen(Request(f"{self.endpoint}/_hashrange/v1/reset", method="POST")) as reply:
            assert reply.status == 200

    def restart(self) -> None:
        """Stop and start; only data on disk remains."""
        self.stop()
        self.start()
