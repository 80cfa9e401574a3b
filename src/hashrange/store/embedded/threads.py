"""Who goes first when a core is short: the event loop or the engine's own threads? The loop.

Flushes and compactions are the engine's, on threads that count as much as the loop's unless told otherwise: on one core, an index
that was being built beside 2,000 requests a second held them up for 700 ms. Linux has a priority for each thread; elsewhere
this does nothing. Figures: docs/adr/0011-engine-options.md.
"""

import os
from pathlib import Path

ENGINE_THREADS = "rocksdb:"
"""How the names of the engine's threads begin."""
NICE = 5
"""A third of the weight of the loop: enough to keep up with a bulk load that takes all of one core."""

_TASKS = Path("/proc/self/task")


def let_the_loop_go_first() -> int:
    """Lower the priority of the engine's threads, for the whole process; returns of how many."""
    lowered = 0
    for name in _TASKS.glob("*/comm"):
        try:
            if name.read_text().startswith(ENGINE_THREADS):
                thread = int(name.parent.name)
                os.setpriority(os.PRIO_PROCESS, thread, max(NICE, os.getpriority(os.PRIO_PROCESS, thread)))
                lowered += 1
        except OSError:  # it has ended meanwhile, or a sandbox forbids it
            continue
    return lowered
