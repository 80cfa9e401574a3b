"""How do tests of commands keep the garbage collector's settings? A fixture restores the thresholds that a command changes for its process."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Restore the collector's thresholds: a command raises them for the rest of its process."""
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
