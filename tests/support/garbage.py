"""What is left to the garbage collector."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def garbage_made() -> Iterator[Callable[[], list[object]]]:
    """Disable the collector, and yield a function that returns the objects made since then, or since it was last
    called, that only the collector would free.

    What exists before is held until the end, because objects of earlier tests become garbage at any time. Use it with
    the fixture `only_new_garbage`: then there is little to hold, and to visit.
    """
    gc.collect()
    former = gc.get_objects()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)

    def garbage() -> list[object]:
        gc.collect()
        found = list(gc.garbage)
        gc.garbage.clear()
        return found

    try:
        yield garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        former.clear()
