"""What happens to environments when their server is killed?
A small process that waits for it ends them, and removes their code.

A server that ends by itself does that on its own. One that is killed cannot, and a handler may loop without
ever letting its program see that the server is gone, have stopped itself, or have started processes that left
its group. All are found by their marks (`marks.py`). Linux only: elsewhere, there is no process,
and an environment ends once its handler returns.
"""

import asyncio
import contextlib
import logging
import os
import subprocess
import sys

import hashrange
from hashrange.functions.process_tree import HAS_PROC
from hashrange.functions.removal import ENDED

_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from hashrange.functions.removal import end_leftovers
end_leftovers(*sys.argv[2:])
"""
_END_SECONDS_MAX = 5.0

_log = logging.getLogger("hashrange.functions")


class Guardian:
    """The process that outlives one server."""

    def __init__(self, mark: str, folder: str) -> None:
        """Start it. `mark`: what the marks of all environments of the server begin with; `folder`: of unpacked code."""
        self._process: subprocess.Popen[bytes] | None = None
        imported_from = os.path.dirname(os.path.dirname(os.path.abspath(hashrange.__file__)))
        command = [sys.executable, "-I", "-S", "-c", _PROGRAM, imported_from, mark, folder]
        if not HAS_PROC:
            return
        try:
            self._process = subprocess.Popen(  # noqa: S603 - a command of ours
                command,
                cwd="/",
                bufsize=0,
                start_new_session=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            _log.warning("If this server is killed, handlers may go on: %s", error.strerror or error)

    async def close(self) -> None:
        """End the process; to be called once all environments have ended. May be called again."""
        process, self._process = self._process, None
        if process is not None:
            await asyncio.to_thread(_end, process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it was killed
        process.stdin.write(ENDED)
    process.stdin.close()
    try:
        process.wait(_END_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
