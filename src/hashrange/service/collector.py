"""When does the garbage collector run? Often, over few objects: a run cannot be interrupted,
and takes 0.1 ms per thousand.

Requests leave no cycles (`tests/unit/operations/test_garbage.py`), so the collector frees hardly anything, and objects
that survive a run live long: opened tables, connections, compiled statements. In a server's own process (`settle`) the
survivors are frozen after the run, and not examined again while a client is connected: 2,000 tables of twenty indexes
would take 80 ms each time. While no client is connected, all objects are sometimes examined. Inside another program's
process nothing is frozen, because that program's cycles must be collected. While a large piece of JSON is decoded or
written, the collector is off: it would examine the same objects again and again.

CPython starts a run when the objects made since the last one, minus the objects freed meanwhile, are `YOUNG_MAX`. It
does not matter how old the freed objects are. So work that replaces what has been there before, such as metrics, the
entries of a full cache or connections, starts none: new objects gather until as many are there as can be replaced, and
whatever then starts a run examines them all. 270,000 objects of 20,000 metrics took 54 to 99 ms. Therefore new objects
are also examined every `YOUNG_SECONDS` while there is work (`examine_young`, called by `service/workers.py`).
"""

import gc
from collections.abc import Callable
from math import inf

from hashrange.items.member_decoders import forget_structs

YOUNG_MAX = 20_000
"""Number of new objects, made and not freed, at which a run of the collector starts; a run takes 2 ms."""
YOUNG_SECONDS = 0.05
"""While there is work, new objects are examined at least this often; where there are none, that takes 2 µs."""
_NEVER = 1_000_000_000
LOOKS_UNTIL_ALL = 10
"""After this many runs of the collector, each of which freezes objects, it is worthwhile to examine all objects."""

young_until_seconds = inf
"""Monotonic time from which on `examine_young` is to be called; never, unless this is a server's own process."""
_is_ours = False
_former_thresholds = gc.get_threshold()
_looks = 0
"""Runs of the collector since all objects were last examined; those of `examine_young` count by their new objects."""
_examined_early = 0
"""New objects of runs of `examine_young` that `_looks` does not count yet: fewer than YOUNG_MAX."""


_counters: list[Callable[[], int]] = []
"""Count the clients of each server of this process: forks are servers too."""


def count_clients_by(count: Callable[[], int]) -> Callable[[], None]:
    """Examine all objects only while `count` returns 0. Returns a function that ends that."""
    _counters.append(count)
    return lambda: _counters.remove(count) if count in _counters else None


def settle() -> None:
    """Set the garbage collector up for a server's own process, and freeze the objects that the start has made.

    They are frozen without a run of the collector, which would take 8 ms and free ten objects.
    """
    global _is_ours, _looks, _examined_early, _former_thresholds, young_until_seconds
    release()
    gc.freeze()
    _former_thresholds = gc.get_threshold()
    gc.set_threshold(YOUNG_MAX, _NEVER, _NEVER)
    gc.callbacks.append(_set_aside)
    _is_ours = True
    _looks = _examined_early = 0
    young_until_seconds = 0.0


def release() -> None:
    """Give the garbage collector back its former settings, which `settle` has changed for the server that now ends."""
    global _is_ours, young_until_seconds
    if _is_ours:
        gc.callbacks.remove(_set_aside)
        gc.set_threshold(*_former_thresholds)
        gc.unfreeze()
        _is_ours = False
        young_until_seconds = inf


def pause_collector() -> bool:
    """Switch the collector off. Returns True if it was on, so that `resume_collector` must be called later."""
    is_on = gc.isenabled()
    gc.disable()
    return is_on


def resume_collector() -> None:
    """Switch the collector on again, after `pause_collector`.

    In a server's own process, first freezes all objects, so that runs pass over them until `look_at_all`.
    """
    if _is_ours:
        gc.freeze()
    gc.enable()


def examine_young(now_seconds: float) -> None:
    """In a server's own process, examine and freeze the new objects, unless the collector is off.
    0.1 ms per thousand objects. `now_seconds`: monotonic time, from which `young_until_seconds` follows.
    """
    global _looks, _examined_early, young_until_seconds
    if _is_ours:
        young_until_seconds = now_seconds + YOUNG_SECONDS
    if _is_ours and gc.isenabled():
        looks = _looks
        _examined_early += gc.get_count()[0]
        gc.collect(0)
        more, _examined_early = divmod(_examined_early, YOUNG_MAX)
        _looks = looks + more


def look_at_all() -> None:
    """In a server's own process, collect garbage among all objects, if since the last time at least `LOOKS_UNTIL_ALL`
    runs have frozen objects.

    Called often by each server of the process; does nothing while one of them has clients,
    because it takes 0.1 s per million objects.
    """
    global _looks
    if _is_ours and _looks >= LOOKS_UNTIL_ALL and not any(count() for count in _counters):
        forget_structs()
        gc.unfreeze()
        gc.collect()  # then `_set_aside` freezes all objects again
        _looks = 0


def _set_aside(phase: str, _details: dict[str, int]) -> None:
    """At the end of a run of the collector, freeze the objects that survived it: reference counts will free them."""
    global _looks
    if phase == "stop":
        gc.freeze()
        _looks += 1
