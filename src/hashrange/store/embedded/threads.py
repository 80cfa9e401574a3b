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


def let_the_loop_go_first() -> int:
    """Lower the priority of the engine's threads in this process; return for how many of them that succeeded."""
    lowered = 0
    for name in _TASKS.glob("*/comm"):
        try:
            if name.read_text().startswith(ENGINE_THREADS):
                thread = int(name.parent.name)
                os.setpriority(os.PRIO_PROCESS, thread, max(NICE, os.getpriority(os.PRIO_PROCESS, thread)))
                lowered += 1
        except OSError:  # the thread has ended, or a sandbox forbids the change
            continue
    return lowered
