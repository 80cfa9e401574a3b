"""How slow is this machine now? The time of a fixed piece of pure Python work, relative to the machine
on which the bounds were set.
"""

import time

ROUNDS = 20_000
NOMINAL_MS = 2.5
REPEATS = 15


def slowness() -> float:
    """Return the factor by which the work takes longer than nominal; at least 1, so that a fast machine has no stricter
    bounds.

    The quickest of some tries counts: the control already shows other load.
    """
    return max(1.0, min(work_ms() for _ in range(REPEATS)) / NOMINAL_MS)


def work_ms() -> float:
    """Return milliseconds of the work: dicts, texts and whole numbers, the usual work of a server in Python."""
    began = time.perf_counter()
    counts: dict[str, int] = {}
    for number in range(ROUNDS):
        name = "abcdefgh"[number & 7]
        counts[name] = counts.get(name, 0) + number
    return (time.perf_counter() - began) * 1000
