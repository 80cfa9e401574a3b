"""Measures the suites from within: seconds from the first test to the last, without pytest's start,
in the file that the variable SUITE_SECONDS names.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop() -> Iterator[None]:
    """Measure the tests with all their fixtures."""
    began = time.perf_counter()
    result = yield
    if "SUITE_SECONDS" in os.environ:
        Path(os.environ["SUITE_SECONDS"]).write_text(str(time.perf_counter() - began), encoding="utf-8")
    return result
