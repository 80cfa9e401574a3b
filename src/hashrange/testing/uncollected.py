"""How does loading code take a tenth less time? The garbage collector waits: it would look through all that is
loaded again and again, and find nothing.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_count = 0
_was_enabled = False


@contextmanager
def uncollected() -> Iterator[None]:
    """While the block runs, there are no automatic collections. Blocks may overlap, on several threads too."""
    global _count, _was_enabled
    with _lock:
        if _count == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _count += 1
    try:
        yield
    finally:
        with _lock:
            _count -= 1
            if _count == 0 and _was_enabled:
                gc.enable()
