"""How do suites load the libraries that they need? Without garbage collections, and with a sentence that says what to
install if one is missing.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

LIBRARIES = ("boto3", "botocore")


@contextmanager
def boto3_needed(purpose: str) -> Iterator[None]:
    """Within the block, boto3 and botocore are imported.
    If one is not there, raises ModuleNotFoundError that says what to install.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in LIBRARIES:
            raise
        told = f"{purpose} need{'' if ' and ' in purpose else 's'} boto3, which is not installed: pip install boto3"
        raise ModuleNotFoundError(told, name=error.name) from error


_lock = Lock()
_count = 0
_was_enabled = False


@contextmanager
def uncollected() -> Iterator[None]:
    """While the block runs, there are no automatic collections, which would look through all that is loaded again and
    again and find nothing: loading takes a tenth less time. Blocks may overlap, on several threads too.
    """
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
