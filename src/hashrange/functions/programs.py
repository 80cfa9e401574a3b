"""Which runtimes are there, and which program runs a function? The Python of the runtime's version on PATH,
else the server's own; or Node.js on PATH.

The log says once, at the first use of a runtime, that another version runs its functions.

Code that is used in place runs under the server's own Python if that has the version:
its libraries are installed there.
"""

import asyncio
import logging
import os
import re
import shutil
import sys
from typing import Literal

from hashrange.errors import HashrangeError
from hashrange.functions.description import Runnable
from hashrange.functions.process_tree import kill_group
from hashrange.messages import functions as messages

Language = Literal["python", "node"]
RUNTIMES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runtimes")
_PROBE_SECONDS_MAX = 10.0
_SEMI_SPACE_SHARE, _OLD_SPACE_SHARE = 0.05, 0.9
"""Parts of the memory size that V8's heaps may take. Source: the flags that Lambda itself passes (reports of users)."""
_VERSION_BYTES_MAX = 100
_pythons: dict[tuple[str, str], str] = {}
"""Name of a program, and PATH → path of the Python that it starts."""
_nodes: dict[str, int | None] = {}
"""Path of a Node.js → its major version; None if it does not tell."""
_warned: set[tuple[str, str]] = set()
"""Runtimes of which the log has said that another version runs them, each with that version's program."""
_log = logging.getLogger("hashrange.functions")


class ProgramMissing(HashrangeError):
    """The program of a runtime cannot be started."""


def language_of(runtime: str) -> Language:
    """What runs the handlers of a supported runtime."""
    return "python" if runtime.startswith("python") else "node"


def is_supported(runtime: str) -> bool:
    """True for `python3.8` and later, and for `nodejs18.x` and later; the program may still be missing."""
    if runtime.startswith("python3."):
        minor = runtime.removeprefix("python3.")
        return minor.isdecimal() and int(minor) >= 8
    number = runtime.removeprefix("nodejs").removesuffix(".x")
    return runtime == f"nodejs{number}.x" and number.isdecimal() and int(number) >= 18


async def find_command(runnable: Runnable) -> list[str]:
    """The words that start a function's process. Raises ProgramMissing if Node.js is not there.

    The first use of a version of Python runs it once (some 30 ms), because a name on PATH may be a script of a version
    manager that refuses to run, or is slow; the first use of Node.js asks it for its version (some 10 ms).
    """
    program = await find_program(runnable.function.runtime, is_in_place=runnable.watched is not None)
    if language_of(runnable.function.runtime) == "python":
        return [program, "-u", os.path.join(RUNTIMES, "python_runtime.py")]
    return [
        program,
        f"--max-old-space-size={int(runnable.function.memory_mb * _OLD_SPACE_SHARE)}",
        f"--max-semi-space-size={max(1, int(runnable.function.memory_mb * _SEMI_SPACE_SHARE))}",
        os.path.join(RUNTIMES, "node_runtime.mjs"),
    ]


async def find_program(runtime: str, *, is_in_place: bool = False) -> str:
    """The path of the program that runs functions of a runtime. Raises ProgramMissing if it is Node.js, and not there.

    Logs a warning if that is another version, once for each runtime and program.
    """
    if language_of(runtime) == "python":
        is_own = runtime == f"python3.{sys.version_info.minor}"
        python = sys.executable if is_own and is_in_place else await _find_python(runtime)
        if python == sys.executable and not is_own:
            own = f"Python 3.{sys.version_info.minor}, which runs this server"
            asked = runtime.removeprefix("python")
            _warn_once(runtime, python, messages.OTHER_PYTHON.format(runtime=runtime, own=own, asked=asked))
        return python
    node = shutil.which("node")
    asked = runtime.removeprefix("nodejs").removesuffix(".x")
    if node is None:
        raise ProgramMissing(messages.program_missing("node", messages.NODE_NOT_FOUND.format(version=asked)))
    if node not in _nodes:
        _nodes[node] = await _ask_node(node)
    version = _nodes[node]
    if version is not None and str(version) != asked:
        _warn_once(runtime, node, messages.OTHER_NODE.format(version=version, runtime=runtime, path=node, asked=asked))
    return node


def _warn_once(runtime: str, program: str, message: str) -> None:
    if (runtime, program) not in _warned:
        _warned.add((runtime, program))
        _log.warning("%s", message)


async def _find_python(name: str) -> str:
    """The path of `python3.12`; the server's own Python if there is none that runs."""
    known = (name, os.environ.get("PATH", ""))
    if known not in _pythons:
        _pythons[known] = await _ask_python(name) or sys.executable
    return _pythons[known]


async def _ask_python(name: str) -> str | None:
    """The path that a Python on PATH names itself, or None if it does not run."""
    found = shutil.which(name)
    answer = None if found is None else await _ask(found, "-c", "import sys; print(sys.executable)")
    path = os.fsdecode(answer.strip()) if answer else ""
    return path if os.path.isfile(path) else None


async def _ask_node(path: str) -> int | None:
    """The major version of a Node.js, or None if it does not run or tell."""
    answer = await _ask(path, "--version")
    version = re.match(rb"v(\d{1,4})\.", (answer or b"")[:_VERSION_BYTES_MAX])
    return None if version is None else int(version[1])


async def _ask(program: str, *words: str) -> bytes | None:
    """The output of a program, or None if it fails or takes too long."""
    asked = await asyncio.create_subprocess_exec(
        program,
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        answer, _ = await asyncio.wait_for(asked.communicate(), _PROBE_SECONDS_MAX)
    except TimeoutError:
        return None
    finally:
        if asked.returncode is None:
            kill_group(asked.pid)  # what a script has started holds the pipe too
            await asked.wait()
    return answer if asked.returncode == 0 else None
