"""Does a test notice that a rule is broken? The tests that reach the rule run over a copy in which it is broken, until
one fails that passes over the rule as it is.
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
from tests.mutants.reach import NO_TEST
from tests.support.dealing import MACHINE, SECONDS, group_of

UNNOTICED = "-"
GONE = "gone"
HUNG = "hung"
GROUP_SECONDS = (15, 45, 90, 150)
"""How long the groups of tests take, one after the other: most mutants are noticed by the first."""
FILE_SECONDS = 1
"""Of a file that dealing.SECONDS does not name."""
MACHINE_SECONDS = 15
"""Of a file among those that bind the machine, of which dealing.SECONDS knows the sum."""
_NOTHING_FAILED = frozenset({0, 5})
"""Exit statuses of pytest: all tests passed, no test was selected."""
_failed_test = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+)", re.MULTILINE).search
_moments = itertools.count(int(time.time()))
"""Each text that is written gets its own second of change, because Python knows by size and second which compiled
module belongs to it.
"""


class Groups(NamedTuple):
    """The test files to run, in groups one after the other, and how many are left out since the groups are full."""

    groups: list[list[str]]
    left_out: int


class _Run(NamedTuple):
    status: int | None
    """None: the tests took longer than they may."""
    failed: str
    """The function of the first failed test, without its parameters; or the file, or nothing if pytest names none."""
    seconds: float


def groups_of(mutant: Mutant, reaching: Iterable[str], tests: Path) -> Groups:
    """The test files that reach a rule: those of its module first, then those of its package, the shorter ones first.

    If the rule has run while a module was imported, all tests of its package count as reaching it.
    """
    package = mutant.file.split("/")[0].removesuffix(".py")
    own_folder, own_file = f"tests/unit/{package}/", f"tests/unit/test_{package}.py"
    files = {file for file in reaching if file != NO_TEST}
    if NO_TEST in reaching or mutant.place.rpartition(".")[2][:1].isupper():
        found = [*(tests / "unit" / package).rglob("test_*.py"), *(tests / "unit").glob(f"test_{package}.py")]
        files |= {path.relative_to(tests.parent).as_posix() for path in found}
    module = "/test_" + mutant.file.rpartition("/")[2]

    def nearness(file: str) -> tuple[bool, bool, float, str]:
        is_own = file.startswith(own_folder) or file == own_file
        return not (is_own and file.endswith(module)), not is_own, _seconds_of(file), file

    groups: list[list[str]] = []
    waiting = sorted(files, key=nearness)
    for seconds_max in GROUP_SECONDS:
        ends = itertools.accumulate(map(_seconds_of, waiting))
        count = sum(end <= seconds_max for end in ends)
        groups.append(waiting[:count])
        waiting = waiting[count:]
    return Groups([group for group in groups if group], len(waiting))


def _seconds_of(file: str) -> float:
    group = group_of(file)
    return MACHINE_SECONDS if group == MACHINE else SECONDS.get(group, FILE_SECONDS)


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
    seconds_max = 60 + 6 * sum(map(_seconds_of, tests))
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
