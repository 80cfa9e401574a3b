"""Which test notices a broken rule that is evaluated while its module is imported? New processes, in which the rule is
broken from the start, run the tests of its package until one fails that passes over the rule as it is.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.mutants.copies import environment_of
from tests.mutants.reach import seconds_of
from tests.mutants.trials import HUNG, UNNOTICED

_NOTHING_FAILED = frozenset({0, 5})
"""Exit statuses of pytest: all tests passed, no test was selected."""
_failed_test = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+)", re.MULTILINE).search


class _Run(NamedTuple):
    status: int | None
    """None: the tests took longer than they may."""
    failed: str
    """The function of the first failed test, without its parameters; or the file, or nothing if pytest names none."""
    seconds: float


def who_notices(number: int, groups: Iterable[list[str]], copy: Path) -> str:
    """The function of the first test that fails over the mutant, HUNG, or UNNOTICED."""
    answers = (_who_notices_of(tests, number, copy) for tests in groups)
    return next((noticed for noticed in answers if noticed != UNNOTICED), UNNOTICED)


def _who_notices_of(tests: list[str], number: int, copy: Path) -> str:
    """A test that fails over the rule as it is, too, tells nothing: the others run again without it."""
    seconds_max = 60 + 6 * sum(map(seconds_of, tests))
    without: list[str] = []
    while True:
        run = _run(tests, without, number, copy, seconds_max)
        if run.status in _NOTHING_FAILED:
            return UNNOTICED
        unbroken = _run([run.failed] if run.failed else tests, [], 0, copy, seconds_max)
        if run.status is None:
            return HUNG if unbroken.status == 0 and 3 * unbroken.seconds < seconds_max else UNNOTICED
        if unbroken.status == 0:
            return run.failed or f"exit status {run.status}"
        if not run.failed or run.failed in without:
            return UNNOTICED
        without.append(run.failed)


def _run(tests: list[str], without: list[str], broken: int, copy: Path, seconds_max: float) -> _Run:
    deselected = [word for test in without for word in ("--deselect", test)]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-n",
        "0",
        "-rfE",
        "--tb",
        "no",
        "--no-header",
        *deselected,
        *tests,
    ]
    began_seconds = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command,
            cwd=copy,
            env={**environment_of(copy), "MUTANT": str(broken)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            status = process.wait(seconds_max)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return _Run(None, "", time.monotonic() - began_seconds)
        output.seek(0)
        found = _failed_test(output.read().decode(errors="replace"))
    return _Run(status, found[1] if found else "", time.monotonic() - began_seconds)
