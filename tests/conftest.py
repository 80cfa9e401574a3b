"""Which rules hold for every test? None depends on the environment; with HASHRANGE_CI=1 a skip is a failure,
because CI has every program.

support/processes.py runs the tests in several processes, as support/dealing.py groups them; support/times.py prints the
times of `--times`; support/left_out.py tells what was skipped.
"""

import gc
import os
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import processes
from tests.support.dealing import longest_first
from tests.support.environment import hide_what_is_outside
from tests.support.left_out import LeftOut, skip_without_programs
from tests.support.times import Times

THRESHOLDS = (10_000, 10, 100)
"""Those of the garbage collector: with Python's own, the collector takes a twentieth of all time."""
_is_included = False
"""True once the end of a server in this process has included the tests in garbage collection again."""

IS_CI = os.environ.get("HASHRANGE_CI") == "1"


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Options of every run."""
    pluginmanager.register(processes)
    parser.addoption("--times", action="store_true", help="tell in the end how long the tests of each folder took")


def pytest_configure(config: pytest.Config) -> None:
    """Tell what was left out, and add up times."""
    config.pluginmanager.register(LeftOut())
    if config.getoption("--times"):
        config.pluginmanager.register(Times())


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Any:
    """Sort the tests for several processes.

    Hypothesis takes no constants of our sources as examples: it would parse all of them, in each process, and its
    examples would depend on which tests run.
    """
    if "hypothesis.internal.conjecture.providers" in sys.modules:
        providers: Any = sys.modules["hypothesis.internal.conjecture.providers"]
        providers._get_local_constants = lambda: providers._local_constants
    yield
    if processes.processes_of(config):
        longest_first(items)


def note_inclusion(unfreeze: Callable[[], None] = gc.unfreeze) -> None:
    """Do what `gc.unfreeze` does, and note it: `gc.get_freeze_count` would go over all tests."""
    global _is_included
    unfreeze()
    _is_included = True


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Any:
    """Exclude the tests from garbage collection: they are a million objects, so that each full collection takes a
    second, also while they become more.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.unfreeze = note_inclusion
        gc.set_threshold(*THRESHOLDS)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what needs a program that is not there, before its fixtures are made."""
    skip_without_programs(item)


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
    """Turn the skip of a whole file into a failure on CI."""
    report = yield
    if IS_CI and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped, which HASHRANGE_CI=1 forbids: {report.longrepr}"
    return report


@pytest.fixture(autouse=True, scope="module")
def tests_stay_excluded() -> None:
    """Exclude the tests from garbage collection again, which the end of a server in this process has included."""
    global _is_included
    if _is_included:
        gc.freeze()
        _is_included = False


@pytest.fixture(scope="module")
def only_new_garbage() -> None:
    """Let collections visit only what the tests of a module make: no garbage is there before, and all other objects
    are excluded again, because the end of a server in this process has included them.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def nothing_from_outside() -> None:
    """Hide a developer's own options and AWS profile from the tests, and from the servers that they start."""
    hide_what_is_outside(os.environ)
