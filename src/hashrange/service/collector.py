"""When does the interpreter's collector look for cycles? Often, and at few objects: it cannot be left, and takes 0.1 ms for each thousand.

Requests leave no cycles (`tests/unit/operations/test_garbage.py`), so the collector finds hardly anything, and the objects that it has looked
at once live long: opened tables, connections, compiled statements. In a server's own process (`settle`) these objects are set aside after
that look ("frozen"), and nobody looks at them again while a client is connected: 2,000 tables of twenty indexes would take 80 ms each time. When no client is connected,
the collector looks at everything. In other programs' processes nothing is set aside, because their cycles are their own affair.
While something large is made, the collector rests: it would look at all of it again and again.
"""

import gc

YOUNG_MAX = 20_000
"""Objects made, and not freed, before the collector looks at them: 2 ms."""
_NEVER = 1_000_000_000
LOOKS_UNTIL_ALL = 10
"""After so many looks, each of which has set something aside, everything is worth a look."""

_is_ours = False
_former_thresholds = gc.get_threshold()
_looks = 0
"""Since everything was looked at last."""


def settle() -> None:
    """This process is a server's own, and what its start has made stays.

    It is not collected before: that takes 8 ms, and finds ten objects.
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
    """The server has ended: the collector does as it did before, if the process goes on."""
    global _is_ours
    if _is_ours:
        gc.callbacks.remove(_set_aside)
        gc.set_threshold(*_former_thresholds)
        gc.unfreeze()
        _is_ours = False


def rest() -> bool:
    """Something large is about to be made; True if the collector was to look until now, and `go_on` has to be called."""
    is_on = gc.isenabled()
    gc.disable()
    return is_on


def go_on() -> None:
    """Nothing large is made any more."""
    if _is_ours:
        gc.freeze()
    gc.enable()


def look_at_all() -> None:
    """Nobody is served just now: if much may have been set aside, look at it. 0.1 s for a million objects."""
    global _looks
    if _is_ours and _looks >= LOOKS_UNTIL_ALL:
        gc.unfreeze()
        gc.collect()  # and sets all of it aside again
        _looks = 0


def _set_aside(phase: str, _details: dict[str, int]) -> None:
    """What has outlived one look will be let go of by references."""
    global _looks
    if phase == "stop":
        gc.freeze()
        _looks += 1
