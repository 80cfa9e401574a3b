"""Which program runs a function? The Python of the runtime's version on PATH, else the server's own; or Node.js on PATH.

Code that is used in place runs under the server's own Python if that has the version: its libraries are installed there.
"""

import asyncio
import os
import shutil
import sys

from hashrange.errors import HashrangeError
from hashrange.functions.process_tree import kill_group
from hashrange.functions.runnable import Runnable
from hashrange.messages import functions as messages

RUNTIMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runtimes")
_PROBE_SECONDS_MAX = 10.0
_SEMI_SPACE_SHARE, _OLD_SPACE_SHARE = 0.05, 0.9
"""Parts of the memory size that V8's heaps may take. Source: the flags that Lambda itself passes (reports of users)."""
_pythons: dict[tuple[str, str], str] = {}
"""Name of a program, and PATH → path of the Python that it starts."""


class ProgramMissing(HashrangeError):
    """The program of a runtime cannot be started."""


async def find_command(runnable: Runnable) -> list[str]:
    """The words that start a function's process. Raises ProgramMissing if Node.js is not there.

    The first use of a version of Python runs it once (some 30 ms), because a name on PATH may be a script of a version
    manager that refuses to run, or is slow.
    """
    if runnable.language == "python":
        is_own = runnable.watched is not None and runnable.runtime == f"python3.{sys.version_info.minor}"
        python = sys.executable if is_own else await _find_python(runnable.runtime)
        return [python, "-u", os.path.join(RUNTIMES, "python_runtime.py")]
    node = shutil.which("node")
    if node is None:
        raise ProgramMissing(messages.program_missing("node", "it is not on PATH"))
    return [
        node,
        f"--max-old-space-size={int(runnable.memory_mb * _OLD_SPACE_SHARE)}",
        f"--max-semi-space-size={max(1, int(runnable.memory_mb * _SEMI_SPACE_SHARE))}",
        os.path.join(RUNTIMES, "node_runtime.mjs"),
    ]


async def _find_python(name: str) -> str:
    """The path of `python3.12`; the server's own Python if there is none that runs."""
    known = (name, os.environ.get("PATH", ""))
    if known not in _pythons:
        _pythons[known] = await _ask_python(name) or sys.executable
    return _pythons[known]


async def _ask_python(name: str) -> str | None:
    """The path that a Python on PATH names itself, or None if it does not run."""
    found = shutil.which(name)
    if found is None:
        return None
    asked = await asyncio.create_subprocess_exec(
        found, "-c", "import sys; print(sys.executable)",
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        answer, _ = await asyncio.wait_for(asked.communicate(), _PROBE_SECONDS_MAX)
    except TimeoutError:
        return None
    finally:
        if asked.returncode is None:
            kill_group(asked.pid)  # what a script has started holds the pipe too
            await asked.wait()
    path = os.fsdecode(answer.strip())
    return path if asked.returncode == 0 and os.path.isfile(path) else None
