"""What goes first when CPU is short: the event loop or the engine's own threads? The loop: the threads get a lower priority.

Flushes and compactions run on threads of the engine, with the loop's priority by default: on one core, building an
index during 2,000 requests a second delayed them by 700 ms. Linux has a priority for each thread; on other systems this
file does nothing. Measurements: docs/adr/0011-engine-options.md.
"""

import os
from pathlib import Path

ENGINE_THREADS = "rocksdb:"
"""Prefix of the names of the engine's threads."""
NICE = 5
"""Nice value of the engine's threads: a third of the loop's CPU share, which keeps up with a bulk load on one core."""

_TASKS = Path("/proc/self/task")
_lowered: set[str] = set()
"""Thread ids whose priority this process has lowered. The engine keeps its threads, so those of ended threads are few."""


def let_the_loop_go_first() -> int:
    """Lower the priority of the engine's threads in this process; return for how many more of them that succeeded."""
    lowered = 0
    try:
        names = set(os.listdir(_TASKS))
    except OSError:  # there is no such list on this system
        return 0
    _lowered.intersection_update(names)
    for name in names - _lowered:
        try:
            if (_TASKS / name / "comm").read_text().startswith(ENGINE_THREADS):
                os.setpriority(os.PRIO_PROCESS, int(name), max(NICE, os.getpriority(os.PRIO_PROCESS, int(name))))
                _lowered.add(name)
                lowered += 1
        except OSError:  # the thread has ended, or a sandbox forbids the change
            continue
    return lowered
