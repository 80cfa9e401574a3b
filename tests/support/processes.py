"""How do several processes run the tests (`-n 2`)? One process collects all tests and reports; its forks, the runners,
run them: each gets a group of tests (dealing.py), and asks for the next when the group ends.

So the tests are imported and collected once. A runner whose process ends fails the test that it ran; a new one
goes on with the group. What a runner sends and does is in runners.py.
"""

import os
import signal
import sys
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest

from tests.support.dealing import groups_of
from tests.support.runners import WHERE_SIGNAL, run_as_runner

PROCESSES_MAX = 4
"""Of `-n auto`: with more, the longest group of tests is all that is waited for."""
LOOK_SECONDS = 1
"""After this long without a message it is looked whether a runner has ended: a process of a test can outlive it, and
hold its connection open.
"""
END_SECONDS = 20
"""Time for runners to end their fixtures when the run stops."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `-n`."""
    group = parser.getgroup("processes")
    group._addoption(  # the public method refuses short options in lower case
        "-n", dest="processes", type=_processes, default=0, metavar="COUNT",
        help="run the tests in this many processes; auto: two more than there are cores, at most four; 0: in this one",
    )  # fmt: skip


def _processes(word: str) -> int:
    """With `auto`, two processes more than there are cores: most tests with processes of their own wait for these."""
    return min((os.cpu_count() or 1) + 2, PROCESSES_MAX) if word == "auto" else int(word)


def processes_of(config: pytest.Config) -> int:
    """In how many other processes do the tests run? A debugger needs them in this one, as 0 says."""
    return 0 if config.option.usepdb or not hasattr(os, "fork") else int(config.option.processes)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in other processes, if the options say so and there are tests to run."""
    options = session.config.option
    is_broken = session.testsfailed and not options.continue_on_collection_errors
    if is_broken or options.collectonly or not session.items or not processes_of(session.config):
        return None
    Dealer(session).run(processes_of(session.config))
    return True


@dataclass(frozen=True)
class Gateway:
    """The name of a runner, as pytest looks for it."""

    id: str


@dataclass(eq=False)
class Runner:
    """A process that runs tests."""

    gateway: Gateway
    process: int
    connection: "Connection[Any, Any]"
    dealt: deque[int] = field(default_factory=deque)
    """Places of its tests that are not over, in the order in which they run."""
    last: int = 0
    """Place of the test that was over last."""
    heard_seconds: float = field(default_factory=time.monotonic)
    """When it sent its last message, or was last asked where it stands."""

    @property
    def workerinfo(self) -> dict[str, Any]:
        """What pytest prints above a failure."""
        version = sys.version_info
        return {
            "id": self.gateway.id, "sysplatform": sys.platform, "version_info": version, "executable": sys.executable
        }  # fmt: skip


class Dealer:
    """Deals groups of tests to runners, and passes on what they report."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._groups = deque(groups_of([item.nodeid for item in session.items]))
        self._runners: list[Runner] = []
        self._is_stopping = False
        self._started = 0
        self._hang_seconds = float(session.config.getini("faulthandler_timeout") or 0)
        self._folder: Path = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]

    def run(self, count: int) -> None:
        """Run all tests in `count` processes, or until the session stops."""
        try:
            for number in range(min(count, len(self._groups))):
                self._start(Gateway(f"gw{number}"))
            while self._runners:
                self._listen()
        finally:
            self._stop()

    def _start(self, gateway: Gateway) -> None:
        assert threading.active_count() == 1, "forks would miss a thread that was started while tests were collected"
        ours, theirs = Pipe()
        self._started += 1
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process == 0:
            for connection in (ours, *(runner.connection for runner in self._runners)):
                connection.close()
            run_as_runner(self._session, theirs, self._folder / str(self._started))
        theirs.close()
        self._runners.append(Runner(gateway, process, ours))

    def _listen(self) -> None:
        ready = wait([runner.connection for runner in self._runners], LOOK_SECONDS)
        for runner in list(self._runners):
            if runner.connection in ready:
                if not self._hear(runner):
                    self._bury(runner, os.waitpid(runner.process, 0)[1])
            elif not ready and (ended := os.waitpid(runner.process, os.WNOHANG))[0]:
                while runner.connection.poll() and self._hear(runner):
                    pass
                self._bury(runner, ended[1])
        self._ask_who_hangs()

    def _ask_who_hangs(self) -> None:
        """Let runners whose test takes very long print where they stand.

        Pytest's own way starts and ends a thread for each test, which on a busy machine waits for some milliseconds.
        """
        now_seconds = time.monotonic()
        for runner in self._runners:
            if self._hang_seconds and runner.dealt and now_seconds - runner.heard_seconds > self._hang_seconds:
                runner.heard_seconds = now_seconds
                _signal(runner, WHERE_SIGNAL)

    def _hear(self, runner: Runner) -> bool:
        """Take one message of a runner; False if there will be none any more."""
        try:
            message = runner.connection.recv()
            runner.heard_seconds = time.monotonic()
            if message is None:
                group = self._groups.popleft() if self._groups else []
                runner.dealt += group
                runner.connection.send(group)
                return True
        except (EOFError, ConnectionError):
            return False
        runner.last = runner.dealt.popleft()
        if not self._is_stopping:
            self._pass_on(runner, *message)
        return True

    def _pass_on(self, runner: Runner, reports: list[dict[str, Any]], warnings: list[dict[str, Any]]) -> None:
        config = self._session.config
        for warning in warnings:
            config.hook.pytest_warning_recorded.call_historic(kwargs=warning)
        for data in reports:
            self._report(runner, config.hook.pytest_report_from_serializable(config=config, data=data))

    def _report(self, runner: Runner, report: Any) -> None:
        report.node = runner
        self._session.config.hook.pytest_runtest_logreport(report=report)
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _bury(self, runner: Runner, status: int) -> None:
        """Forget a runner that has ended; if it should not have, its test has failed, and a new runner goes on."""
        self._runners.remove(runner)
        runner.connection.close()
        if not status and not runner.dealt:
            return
        item = self._session.items[runner.dealt.popleft() if runner.dealt else runner.last]
        if runner.dealt:
            self._groups.appendleft(list(runner.dealt))
        if self._groups:
            self._start(runner.gateway)
        text = f"The process {runner.process} ended while it ran this test: {_ending(status)}."
        self._report(runner, pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call"))

    def _stop(self) -> None:
        """End the runners that are left, with their fixtures; what they report is of no use any more."""
        self._is_stopping = True
        self._groups.clear()
        for runner in self._runners:
            _signal(runner, signal.SIGINT)
        try:
            while self._runners and (ready := wait([runner.connection for runner in self._runners], END_SECONDS)):
                for runner in [one for one in self._runners if one.connection in ready]:
                    if not self._hear(runner):
                        os.waitpid(runner.process, 0)
                        self._runners.remove(runner)
        finally:
            for runner in self._runners:
                _signal(runner, signal.SIGKILL)
                os.waitpid(runner.process, 0)


def _signal(runner: Runner, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(runner.process, number)


def _ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"
