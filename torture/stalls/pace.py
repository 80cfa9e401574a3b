"""How slow is this machine now? A fixed piece of pure Python work, against the time that it took where the bounds were set."""

import time

ROUNDS = 20_000
NOMINAL_MS = 2.5
REPEATS = 15


def slowness() -> float:
    """How many times as long as nominal the work takes; at least 1, so that a quick machine has no stricter bounds.

    The quickest of some tries counts: what others take of the machine is in the control already.
    """
    return max(1.0, min(work_ms() for _ in range(REPEATS)) / NOMINAL_MS)


def work_ms() -> float:
    """Milliseconds of the work: dicts, texts and whole numbers, as a server in Python spends its time."""
    began = time.perf_counter()
    counts: dict[str, int] = {}
    for number in range(ROUNDS):
        name = "abcdefgh"[number & 7]
        counts[name] = counts.get(name, 0) + number
    return (time.perf_counter() - began) * 1000
