"""What holds for every test? Nothing reaches it from outside; with HASHRANGE_CI=1 a skip is a failure, for CI has all that a test may ask for.

How tests are dealt out to processes stands in support/dealing.py, and what `--times` tells in support/times.py.
"""

import gc
import os
from typing import Any

import pytest

from tests.support.dealing import longest_first, make_scheduler
from tests.support.environment import hide_what_is_outside
from tests.support.times import Times

IS_CI = os.environ.get("HASHRANGE_CI") == "1"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of every run."""
    parser.addoption("--times", action="store_true", help="tell in the end how long the tests of each folder took")


def pytest_configure(config: pytest.Config) -> None:
    """Only the process that reports counts times."""
    if config.getoption("--times") and not is_dealt_to(config):
        config.pluginmanager.register(Times())


def is_dealt_to(config: pytest.Config) -> bool:
    """Is this one of several processes, which is dealt its tests?"""
    return hasattr(config, "workerinput")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of several processes, all must have one order."""
    if is_dealt_to(config):
        longest_first(items)


def pytest_collection_finish() -> None:
    """Ten thousand tests are a million objects, through which the collector would look again and again, for a second each time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Whatever `--dist` says: only this one keeps apart what must not run at once."""
    return make_scheduler(config, log)


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
