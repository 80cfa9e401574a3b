"""What does a command leave behind, when a test runs it in its own process? Nothing: the collector looks as often as before."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Commands let it look less often, for the rest of their process."""
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
