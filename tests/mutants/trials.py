"""Which test notices a broken rule? One process collects the tests; for each mutant a fork of it breaks the rule and
runs the tests that reach the rule, the nearest first, until one fails that passes over the rule as it is.

`python -m tests.mutants.trials` runs in a copy of the project (copies.py). It reads trials from its input, and writes
a line of JSON for each: the number of the mutant, who has noticed it, and how many tests were left for lack of time.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.mutants.copies import environment_of

UNNOTICED = "-"
HUNG = "hung"
TRIAL_SECONDS_MAX = 300
TEST_SECONDS_MAX = 120
PASSED, FAILED, LEFT, DIED, HANGING = b"passed", b"failed", b"left", b"died", b"hanging"


class Trial(NamedTuple):
    """A mutant, and the tests that reach its rule: functions or whole files, the nearest first."""

    number: int
    tests: list[str]


class _Run(NamedTuple):
    outcome: bytes
    """PASSED: all tests; FAILED: the last; LEFT: there was no time for the others; DIED: the process; HANGING: the last
    test has taken too long.
    """
    place: int
    """Place of the last test."""
    seconds: float
    """How long the last test took."""


class Trials:
    """Takes the place of the loop that runs the tests."""

    def __init__(self, trials: list[Trial], jobs: int, answers: int) -> None:
        self._trials = trials
        self._jobs = jobs
        self._answers = answers
        self._telling_nothing: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try all mutants, in processes that take the next number from a pipe."""
        self._session = session
        self._items: dict[str, list[pytest.Item]] = {}
        for item in session.items:
            for name in {item.nodeid.partition("[")[0], item.nodeid.partition("::")[0]}:
                self._items.setdefault(name, []).append(item)
        waiting, filling = os.pipe()
        os.write(filling, b"".join(place.to_bytes(2) for place in range(len(self._trials))))
        os.close(filling)
        workers = []
        for _ in range(self._jobs):
            worker = os.fork()
            if worker == 0:
                self._work(waiting)
            workers.append(worker)
        for worker in workers:
            os.waitpid(worker, 0)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Let all fixtures end with the first test that fails."""
        if report.failed:
            self._session.shouldfail = "noticed"

    def _work(self, waiting: int) -> None:
        while place := os.read(waiting, 2):
            trial = self._trials[int.from_bytes(place)]
            noticed, left = self._who_notices(trial)
            os.write(self._answers, json.dumps([trial.number, noticed, left]).encode() + b"\n")
        os._exit(0)

    def _who_notices(self, trial: Trial) -> tuple[str, int]:
        found = dict.fromkeys(item for test in trial.tests for item in self._items.get(test, ()))
        items = list(found)
        while True:
            items = [item for item in items if _function_of(item) not in self._telling_nothing]
            run = self._run_in_fork(trial.number, items)
            if run.outcome in {PASSED, LEFT}:
                return UNNOTICED, len(items) - run.place - 1
            last = items[run.place]
            alone = self._run_in_fork(0, [last])
            if alone.outcome == PASSED and run.outcome != HANGING:
                return _function_of(last), 0
            if alone.outcome == PASSED and 3 * alone.seconds < run.seconds:
                return HUNG, 0
            self._telling_nothing.add(_function_of(last))
            items = items[run.place + 1 :]

    def _run_in_fork(self, broken: int, items: list[pytest.Item]) -> _Run:
        reading, writing = os.pipe()
        folder = tempfile.mkdtemp()
        process = os.fork()
        if process == 0:
            try:
                self._run(broken, items, writing, Path(folder))
            finally:
                os._exit(1)
        os.close(writing)
        try:
            return _followed(reading)
        finally:
            os.close(reading)
            _end(process)
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, broken: int, items: list[pytest.Item], writing: int, folder: Path) -> None:
        """In a fork: run the tests, and write the place of each before it begins."""
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        import_module("hashrange_mutants").broken = broken  # type: ignore[attr-defined]
        os.environ["MUTANT"] = str(broken)
        self._session.config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
        for place, item in enumerate(items):
            os.write(writing, b"%d\n" % place)
            following = items[place + 1] if place + 1 < len(items) else None
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._session.shouldfail:
                break
        os.write(writing, FAILED if self._session.shouldfail else PASSED)


def _followed(reading: int) -> _Run:
    """Read what a fork writes until it ends, or has had its time."""
    began_seconds = test_seconds = time.monotonic()
    text = b""
    while True:
        now_seconds = time.monotonic()
        *places, outcome = text.split(b"\n")
        place = int(places[-1]) if places else -1
        seconds = now_seconds - test_seconds
        if outcome in {PASSED, FAILED}:
            return _Run(outcome, place, seconds)
        if seconds > TEST_SECONDS_MAX:
            return _Run(HANGING, place, seconds)
        if now_seconds - began_seconds > TRIAL_SECONDS_MAX:
            return _Run(LEFT, place, seconds)
        if select.select([reading], [], [], 1)[0]:
            more = os.read(reading, 1 << 16)
            if not more:
                return _Run(DIED, place, seconds)
            text += more
            if b"\n" in more:
                test_seconds = time.monotonic()


def _end(process: int) -> None:
    """End a fork, and the processes of its tests that are still there."""
    for kill in (os.kill, os.killpg):
        try:
            kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass
    os.waitpid(process, 0)


def _function_of(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def answers_of(trials: list[tuple[int, list[str]]], jobs: int, copy: Path) -> Iterator[tuple[int, str, int]]:
    """Numbers of mutants, who notices them, and how many tests were left, as soon as each is there."""
    command = [sys.executable, "-m", "tests.mutants.trials"]
    asked = json.dumps({"trials": trials, "jobs": jobs})
    with subprocess.Popen(
        command, cwd=copy, env=environment_of(copy), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(asked)
        process.stdin.close()
        for line in process.stdout:
            number, noticed, left = json.loads(line)
            yield number, noticed, left


def main() -> None:
    """Run the trials that the input describes."""
    asked: dict[str, Any] = json.load(sys.stdin)
    trials = [Trial(number, tests) for number, tests in asked["trials"]]
    files = {test.partition("::")[0] for trial in trials for test in trial.tests}
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    words = ["-s", "-n", "0", "--tb", "no"]
    pytest.main(
        [*words, *sorted(file for file in files if Path(file).exists())], [Trials(trials, asked["jobs"], answers)]
    )


if __name__ == "__main__":
    main()
