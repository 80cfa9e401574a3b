"""What does a runner do, a process that runs tests for the one that reports (processes.py)?
It asks for groups of tests until there is none, and sends one message when a test is over.

A test that passes is one report, with the time of its setup and teardown too, instead of three: a message takes
longer than most phases.
"""

import faulthandler
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

import pytest

PHASES = 3
"""Setup, call and teardown."""
INTERRUPTED = 128 + signal.SIGINT
"""Exit status of a runner that was interrupted, as shells have it."""

WHERE_SIGNAL = signal.SIGUSR2
"""It makes a runner print where its threads stand."""


def run_as_runner(session: pytest.Session, connection: "Connection[Any, Any]", folder: Path) -> NoReturn:
    """Run tests in this fork until there are none, and end it, without what the other process does in its end.

    `folder` gets the temporary folders of its tests.
    """
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
        try:
            Running(session, connection, folder).run()
            status = 0
        except (KeyboardInterrupt, EOFError, ConnectionError):  # of the connection, if the other process was killed
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            status = INTERRUPTED
            session._setupstate.teardown_exact(None)  # as a session ends, without reports
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class Running:
    """Takes the place of what prints, so that reports go to the other process instead."""

    def __init__(self, session: pytest.Session, connection: "Connection[Any, Any]", folder: Path) -> None:
        self._session = session
        self._connection = connection
        self._folder = folder
        self._reports: list[pytest.TestReport] = []
        self._warnings: list[dict[str, Any]] = []
        self._groups = 0
        plugins = session.config.pluginmanager
        self._tw = session.config.get_terminal_writer()  # assertions ask for it
        for hook in session.config.hook.pytest_runtest_logreport.get_hookimpls():
            if hook.plugin is not session and not hasattr(hook.plugin, "pytest_runtest_call"):  # logging has both
                plugins.unregister(hook.plugin)
        if plugins.has_plugin("faulthandler"):
            plugins.unregister(name="faulthandler")  # it would time each test
        faulthandler.register(WHERE_SIGNAL, os.dup(2))
        plugins.register(self, "terminalreporter")
        self._warnings.clear()  # those of before
        capture = plugins.getplugin("capturemanager")
        capture.stop_global_capturing()  # its files are those of the other process
        capture.start_global_capturing()
        capture.suspend_global_capture()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the report of one phase of the test that runs."""
        self._reports.append(report)

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: tuple[str, int, str] | None
    ) -> None:
        """Keep a warning in a form that can be sent."""
        told = warning_message
        message = warnings.WarningMessage(str(told.message), told.category, told.filename, told.lineno)
        self._warnings.append({"warning_message": message, "when": when, "nodeid": nodeid, "location": location})

    def run(self) -> None:
        """Run groups of tests until there is none."""
        group = self._next_group()
        while group:
            for item, following in pairwise(group):
                self._run(item, following)
            following_group = FollowingGroup(self._next_group)
            self._run(group[-1], following_group)
            group = following_group.items

    def _next_group(self) -> list[pytest.Item]:
        """Ask for the next group; its temporary folders get a folder of their own: pytest looks at all before it
        makes one.
        """
        self._connection.send(None)
        items = [self._session.items[place] for place in self._connection.recv()]
        self._groups += 1
        self._session.config._tmp_path_factory._basetemp = folder = self._folder / str(self._groups)  # type: ignore[attr-defined]
        folder.mkdir(0o700, parents=True)
        return items

    def _run(self, item: pytest.Item, following: Any) -> None:
        config = item.config
        config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        to_data = config.hook.pytest_report_to_serializable
        reports = [to_data(config=config, report=report) for report in fewer(self._reports)]
        self._connection.send((reports, self._warnings))
        self._reports, self._warnings = [], []
        if self._session.shouldfail or self._session.shouldstop:
            raise KeyboardInterrupt  # the process that reports stops too, when it reads this


class FollowingGroup:
    """Stands for the test after the last of a group. When the last ends its fixtures, and only then, it asks for the
    next group: its first test may need some of the fixtures too.
    """

    def __init__(self, next_group: Callable[[], list[pytest.Item]]) -> None:
        self._next_group = next_group

    @cached_property
    def items(self) -> list[pytest.Item]:
        """The tests of the next group."""
        return self._next_group()

    def listchain(self) -> list[Any]:
        """What the next test is part of: as of an item."""
        return self.items[0].listchain() if self.items else []


def fewer(reports: list[pytest.TestReport]) -> list[pytest.TestReport]:
    """One report instead of three, if a test has passed."""
    if len(reports) < PHASES or not all(report.passed for report in reports):
        return reports
    reports[1].duration = sum(report.duration for report in reports)
    return [reports[1]]
