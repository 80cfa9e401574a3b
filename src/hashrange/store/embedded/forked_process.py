"""How can a forked process open engines? The engine's threads, which a fork does not copy, are ended before
the fork and started again after it.

All engines of a process share their threads. A forked process inherits the list of these threads, but not the threads:
a flush that its own engine asked for would never be done, and closing that engine would wait for ever. If the list is
empty when the process forks, the next engine that is opened fills it. Idle threads end within a millisecond.

Meanwhile no garbage is collected: among it may be an engine that nobody has closed, whose end waits for a thread.
"""

import gc
import os
from collections import Counter
from threading import Lock

import rocksdict

from hashrange.errors import StorageError
from hashrange.store.embedded.threads import engine_threads, let_the_loop_go_first

LOOKS_MAX = 10_000
"""How often a process that forks looks whether the threads have ended: some half a second. A thread that merges large
files may take longer."""
POOLS = {
    "rocksdb:low": "set_low_priority_background_threads",
    "rocksdb:high": "set_high_priority_background_threads",
    "rocksdb:bottom": "set_bottom_priority_background_threads",
}
"""Names of the engine's threads, each with the method of `rocksdict.Env` that sets how many of that name there are."""
LOST = (
    "This process was forked while the storage engine of the first process was at work, so it"
    " cannot open one of its own."
    ' Start it in another way, such as multiprocessing.get_context("spawn").'
)

_is_prepared = False
_fork = Lock()
"""Held while the process forks."""
_ended: Counter[str] = Counter()
"""Names of the threads that were ended for the latest fork, each with their number."""
_collects_garbage = False
"""True if garbage was collected before the latest fork, and is to be after it."""
_are_left = False
"""True if the latest fork came before the threads had ended, or if this system does not list threads."""
_are_lost = False
"""True in a forked process that has inherited a list of threads that it does not have."""


def prepare_for_forks() -> None:
    """Let processes that this one forks from now on open engines. Raises StorageError if this process itself cannot."""
    global _is_prepared
    if _are_lost:
        raise StorageError(LOST)
    if not _is_prepared and hasattr(os, "register_at_fork"):  # Windows has no forks
        os.register_at_fork(before=_end_threads, after_in_parent=_start_threads, after_in_child=_note_loss)
    _is_prepared = True


def _end_threads() -> None:
    global _ended, _are_left, _collects_garbage
    _fork.acquire()
    _collects_garbage = gc.isenabled()
    gc.disable()
    _ended = Counter((engine_threads() or {}).values())
    for name in _ended:
        _set_number(name, 0)
    for _ in range(LOOKS_MAX):
        if not engine_threads():
            break
        os.sched_yield()
    _are_left = engine_threads() != {}


def _start_threads() -> None:
    """Start the ended threads again, in the process that has forked another one."""
    for name, number in _ended.items():
        _set_number(name, number)
    let_the_loop_go_first()
    _collect_garbage_again()
    _fork.release()


def _note_loss() -> None:
    """In the forked process: find out whether it may open engines."""
    global _are_lost
    _are_lost = _are_left
    _collect_garbage_again()
    _fork.release()


def _collect_garbage_again() -> None:
    if _collects_garbage:
        gc.enable()


def _set_number(name: str, number: int) -> None:
    getattr(rocksdict.Env(), POOLS[name])(number)
