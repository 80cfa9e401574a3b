"""What holds for every test: with HASHRANGE_CI=1 a skip is a failure, because CI has everything that a test may ask for."""

import gc
import os
from typing import Any

import pytest

from tests.support.environment import hide_what_is_outside

IS_CI = os.environ.get("HASHRANGE_CI") == "1"


def pytest_collection_finish() -> None:
    """Ten thousand tests are a million objects, through which the collector would look again and again, for a second each time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Turn a skip into a failure on CI."""
    report = yield
    if IS_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which HASHRANGE_CI=1 forbids: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    """The same for a whole file that skips itself."""
    report = yield
    if IS_CI and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped, which HASHRANGE_CI=1 forbids: {report.longrepr}"
    return report


@pytest.fixture(autouse=True, scope="session")
def nothing_from_outside() -> None:
    """A developer's own options and AWS profile must not reach the tests, nor the servers that they start."""
    hide_what_is_outside(os.environ)
