"""Which test notices a broken rule that is evaluated while its module is imported? The text of the module is rewritten,
and new processes run the tests of its package until one fails that passes over the rule as it is.
"""

import itertools
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
from tests.mutants.mutant import Mutant, mutants_of
from tests.mutants.reach import seconds_of
from tests.mutants.trials import HUNG, UNNOTICED

GONE = "gone"
_NOTHING_FAILED = frozenset({0, 5})
"""Exit statuses of pytest: all tests passed, no test was selected."""
_failed_test = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+)", re.MULTILINE).search
_moments = itertools.count(int(time.time()))
"""Each text that is written gets its own second of change, because Python knows by size and second which compiled
module belongs to it.
"""


class _Run(NamedTuple):
    status: int | None
    """None: the tests took longer than they may."""
    failed: str
    """The function of the first failed test, without its parameters; or the file, or nothing if pytest names none."""
    seconds: float


def who_notices(mutant: Mutant, groups: Iterable[list[str]], copy: Path) -> str:
    """The function of the first test that fails over the mutant, HUNG, UNNOTICED, or GONE if there is no such rule."""
    path = copy / "src" / "hashrange" / mutant.file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    broken = mutants_of(mutant.file, text).get(mutant)
    if broken is None:
        return GONE
    try:
        for tests in groups:
            noticed = _who_notices_of(tests, path, broken, text, copy)
            if noticed != UNNOTICED:
                return noticed
        return UNNOTICED
    finally:
        _write(path, text)


def _who_notices_of(tests: list[str], path: Path, broken: str, text: str, copy: Path) -> str:
    """A test that fails over the rule as it is, too, tells nothing: the others run again without it."""
    seconds_max = 60 + 6 * sum(map(seconds_of, tests))
    without: list[str] = []
    while True:
        _write(path, broken)
        run = _run(tests, without, copy, seconds_max)
        if run.status in _NOTHING_FAILED:
            return UNNOTICED
        _write(path, text)
        unbroken = _run([run.failed] if run.failed else tests, [], copy, seconds_max)
        if run.status is None:
            return HUNG if unbroken.status == 0 and 3 * unbroken.seconds < seconds_max else UNNOTICED
        if unbroken.status == 0:
            return run.failed or f"exit status {run.status}"
        if not run.failed or run.failed in without:
            return UNNOTICED
        without.append(run.failed)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    moment = next(_moments)
    os.utime(path, (moment, moment))


def _run(tests: list[str], without: list[str], copy: Path, seconds_max: float) -> _Run:
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
            env=environment_of(copy),
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
