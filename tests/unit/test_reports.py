"""A test process sends fewer reports than pytest-xdist would, and nothing is told otherwise."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.reports import FewerReports

ROOT = Path(__file__).parents[2]
OUTCOMES = """
import pytest

@pytest.fixture
def fails_before():
    assert False

@pytest.fixture
def fails_afterwards():
    yield
    assert False

def test_passes(): print("said")
def test_fails(): assert False
def test_errs(fails_before): pass
def test_errs_later(fails_afterwards): pass
def test_is_skipped(): pytest.skip("so")
@pytest.mark.xfail(strict=True)
def test_is_known(): assert False
@pytest.mark.xfail(strict=True)
def test_is_mended(): pass
def test_passes_too(): pass
"""


def report(when: str, outcome: str = "passed", duration: float = 1.0) -> dict[str, Any]:
    return {"when": when, "outcome": outcome, "duration": duration}


def sent_of(*reports: dict[str, Any]) -> list[tuple[str, float]]:
    """Phases and durations of the reports that are sent of a test."""
    sent: list[Any] = []
    send = FewerReports(lambda name, **members: sent.append((name, members)))
    send("logstart", nodeid="a")
    for one in reports:
        send("testreport", data=dict(one))
    send("logfinish", nodeid="a")
    send("runtest_protocol_complete", item_index=0)
    assert [name for name, _ in sent] == [*["testreport"] * (len(sent) - 1), "runtest_protocol_complete"]
    return [(members["data"]["when"], members["data"]["duration"]) for _, members in sent[:-1]]


def test_one_report_tells_of_all_phases() -> None:
    assert sent_of(report("setup"), report("call"), report("teardown")) == [("call", 3.0)]


@pytest.mark.parametrize("fails", range(3))
@pytest.mark.parametrize("outcome", ["failed", "skipped"])
def test_each_phase_is_told_of_other_tests(fails: int, outcome: str) -> None:
    reports = [report("setup"), report("call"), report("teardown")]
    reports[fails]["outcome"] = outcome
    assert sent_of(*reports) == [("setup", 1.0), ("call", 1.0), ("teardown", 1.0)]


def test_a_test_that_does_not_begin_is_told() -> None:
    assert sent_of(report("setup", "failed"), report("teardown")) == [("setup", 1.0), ("teardown", 1.0)]


@pytest.mark.slow
def test_a_run_in_another_process_has_the_same_outcomes(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(OUTCOMES, encoding="utf-8")
    ends = []
    for words in ("-n 0", "-n 1"):
        command = [sys.executable, "-m", "pytest", "-rA", "--tb=no", "-p", "tests.support.reports", *words.split()]
        variables = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]), "PYTEST_ADDOPTS": ""}
        done = subprocess.run(
            [*command, "-p", "no:hypothesispytest", "-p", "no:cacheprovider"],
            cwd=tmp_path,
            env=os.environ | variables,
            text=True,
            capture_output=True,
            check=False,
        )
        told = re.findall(r"^(?:[A-Z]+ .*|said)$", done.stdout, re.MULTILINE)
        ends.append([*told, *re.findall(r"^=+ (.*) in ", done.stdout, re.MULTILINE)])
    assert ends[0] == ends[1]
    assert ends[0][-1] == "2 failed, 3 passed, 1 skipped, 1 xfailed, 2 errors"
