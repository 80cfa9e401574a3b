"""What goes first when CPU is short: the event loop or the engine's own threads?
The loop: the threads get a lower priority.

Flushes and compactions run on threads of the engine, with the loop's priority by default: on one core, building an
index during 2,000 requests a second delayed them by 700 ms. Linux has a priority for each thread; on other systems this
file does nothing. Measurements: docs/adr/0011-engine-options.md.
"""

import contextlib
import os
from pathlib import Path

ENGINE_THREADS = "rocksdb:"
"""Prefix of the names of the engine's threads."""
NICE = 5
"""Nice value of the engine's threads: a third of the loop's CPU share, which keeps up with a bulk load on one core."""

_TASKS = Path("/proc/self/task")
_lowered: set[str] = set()
"""Thread ids whose priority this process has lowered.
The engine keeps its threads, so those of ended threads are few."""


def engine_threads() -> dict[str, str] | None:
    """Id → name of each of the engine's threads in this process; None on systems that do not list threads."""
    found = {}
    try:
        ids = os.listdir(_TASKS)
    except OSError:
        return None
    for thread in ids:
        with contextlib.suppress(OSError):  # the thread has ended
            name = (_TASKS / thread / "comm").read_text().strip()
            if name.startswith(ENGINE_THREADS):
                found[thread] = name
    return found


def let_the_loop_go_first() -> int:
    """Lower the priority of the engine's threads in this process; return for how many more of them that succeeded."""
    lowered = 0
    threads = set(engine_threads() or ())
    _lowered.intersection_update(threads)
    for thread in threads - _lowered:
        with contextlib.suppress(OSError):  # the thread has ended, or a sandbox forbids the change
            os.setpriority(os.PRIO_PROCESS, int(thread), max(NICE, os.getpriority(os.PRIO_PROCESS, int(thread))))
            _lowered.add(thread)
            lowered += 1
    return lowered
