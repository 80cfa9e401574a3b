"""When does the garbage collector run? Often, over few objects: a run cannot be interrupted, and takes 0.1 ms per thousand.

Requests leave no cycles (`tests/unit/operations/test_garbage.py`), so the collector frees hardly anything, and objects
that survive a run live long: opened tables, connections, compiled statements. In a server's own process (`settle`) the
survivors are frozen after the run, and not examined again while a client is connected: 2,000 tables of twenty indexes
would take 80 ms each time. When no client is connected, the collector examines everything. In other programs' processes
nothing is frozen, because their cycles are theirs to collect. While something large is made, the collector is off: it
would examine all of it again and again.
"""

import gc

YOUNG_MAX = 20_000
"""New objects, made and not freed, that start a run of the collector; a run takes 2 ms."""
_NEVER = 1_000_000_000
LOOKS_UNTIL_ALL = 10
"""After this many runs, each of which froze objects, it is worthwhile to examine everything."""

_is_ours = False
_former_thresholds = gc.get_threshold()
_looks = 0
"""Runs of the collector since everything was last examined."""


def settle() -> None:
    """Prepare a server's own process: freeze the objects that its start has made.

    They are not collected before: that takes 8 ms, and finds ten objects.
    """
    global _is_ours, _looks, _former_thresholds
    release()
    gc.freeze()
    _former_thresholds = gc.get_threshold()
    gc.set_threshold(YOUNG_MAX, _NEVER, _NEVER)
    gc.callbacks.append(_set_aside)
    _is_ours = True
    _looks = 0


def release() -> None:
    """The server has ended: restore the collector, in case the process continues."""
    global _is_ours
    if _is_ours:
        gc.callbacks.remove(_set_aside)
        gc.set_threshold(*_former_thresholds)
        gc.unfreeze()
        _is_ours = False


def pause_collector() -> bool:
    """Switch the collector off while something large is made. True: it was on, so call `resume_collector` later."""
    is_on = gc.isenabled()
    gc.disable()
    return is_on


def resume_collector() -> None:
    """Switch the collector on again; a server first freezes all objects."""
    if _is_ours:
        gc.freeze()
    gc.enable()


def look_at_all() -> None:
    """No client is connected: examine all objects, if enough runs have frozen some. 0.1 s per million."""
    global _looks
    if _is_ours and _looks >= LOOKS_UNTIL_ALL:
        gc.unfreeze()
        gc.collect()  # its callback freezes all objects again
        _looks = 0


def _set_aside(phase: str, _details: dict[str, int]) -> None:
    """Freeze the objects that survived a run of the collector: reference counts will free them."""
    global _looks
    if phase == "stop":
        gc.freeze()
        _looks += 1
