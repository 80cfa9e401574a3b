"""Do tests in several processes (tests/support/processes.py) end as those in one do? A process that ends takes one test
with it, and a run that stops ends the fixtures of all.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.runners import fewer

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
def test_fails(): print("said before"); assert [1, 2] == [1, 3]
def test_errs(fails_before): pass
def test_errs_later(fails_afterwards): pass
def test_is_skipped(): pytest.skip("so")
@pytest.mark.xfail(strict=True)
def test_is_known(): assert False
@pytest.mark.xfail(strict=True)
def test_is_mended(): pass
def test_warns():
    import warnings
    warnings.warn("a warning", RuntimeWarning)
def test_passes_too(caplog):
    import logging
    logging.getLogger("a").error("said to the log")
    assert caplog.messages == ["said to the log"]
def test_fails_too():
    import logging
    logging.getLogger("a").error("said to the log")
    assert False
"""
SHARED = """
import os, signal
from pathlib import Path
import pytest

@pytest.fixture(scope="session")
def shared():
    yield
    Path("ended").open("a").write("once\\n")

def test_before(shared, tmp_path): pass
def test_middle(shared):
    DO
def test_after(shared, tmp_path): pass
"""


class Done(NamedTuple):
    """A run of tests that is over."""

    status: int
    told: str


def run(folder: Path, *words: str) -> Done:
    """Run the tests of a folder. They print into a file: a process that is left would hold a pipe open."""
    plugins = ["-p", "tests.support.processes", "-p", "no:xdist", "-p", "no:hypothesispytest", "-p", "no:anyio"]
    variables = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]), "PYTEST_ADDOPTS": ""}
    with (folder / "told").open("w") as output:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *plugins, "-p", "no:cacheprovider", f"--basetemp={folder / 'in'}", *words],
            cwd=folder,
            env=os.environ | variables,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    return Done(done.returncode, (folder / "told").read_text(encoding="utf-8"))


def shared_in(folder: Path, *middles: str) -> None:
    """Write one file of tests for each statement."""
    for number, middle in enumerate(middles):
        (folder / f"test_{number}.py").write_text(SHARED.replace("DO", middle), encoding="utf-8")


def ends_in(folder: Path) -> int:
    """How often has the fixture of all tests ended?"""
    return len((folder / "ended").read_text(encoding="utf-8").splitlines())


def report(when: Any, outcome: Any = "passed") -> pytest.TestReport:
    return pytest.TestReport("a", ("a", 1, "a"), {}, outcome, None, when, duration=1.0)


def test_one_report_tells_of_all_phases() -> None:
    (told,) = fewer([report("setup"), report("call"), report("teardown")])
    assert (told.when, told.duration) == ("call", 3.0)


@pytest.mark.parametrize("fails", range(3))
@pytest.mark.parametrize("outcome", ["failed", "skipped"])
def test_each_phase_is_told_of_other_tests(fails: int, outcome: str) -> None:
    reports = [report("setup"), report("call"), report("teardown")]
    reports[fails].outcome = outcome  # type: ignore[assignment]
    told = fewer(list(reports))
    assert told == reports
    assert [one.duration for one in told] == [1.0, 1.0, 1.0]


def test_a_test_that_does_not_begin_is_told() -> None:
    reports = [report("setup", "failed"), report("teardown")]
    assert fewer(list(reports)) == reports


@pytest.mark.slow
def test_a_run_in_another_process_has_the_same_outcomes(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(OUTCOMES, encoding="utf-8")
    ends = []
    for words in ("-n0", "-n1"):
        done = run(tmp_path, "-rA", words, f"--junitxml={words}.xml")
        told = re.findall(r"^(?:[A-Z]+ .*|said.*|ERROR .*|E  .*|.* RuntimeWarning: .*)$", done.told, re.MULTILINE)
        ends.append([*told, *re.findall(r"^=+ (.*) in ", done.told, re.MULTILINE)])
        in_xml = (tmp_path / f"{words}.xml").read_text(encoding="utf-8")
        ends[-1] += re.findall(r'(?:errors|failures|skipped|tests)="\d+"|<testcase classname="\w+" name="\w+"', in_xml)
    assert ends[0] == ends[1]
    assert "3 failed, 4 passed, 1 skipped, 1 xfailed, 1 warning, 2 errors" in ends[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "told"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL"),
        ("os._exit(3)", "exit status 3"),
        (
            "Path('left').write_text(str(os.fork() or signal.pause())); os.kill(os.getpid(), signal.SIGKILL)",
            "SIGKILL",
        ),
    ],
)
def test_a_process_that_ends_fails_the_test_that_it_ran(ending: str, told: str, tmp_path: Path) -> None:
    """Also if a process is left that holds its connection."""
    shared_in(tmp_path, ending, "pass")
    lines = run(tmp_path, "-n2", "-rA").told
    if (tmp_path / "left").exists():
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)
    assert re.search(rf"The process \d+ ended while it ran this test: {told}\.", lines)
    assert "1 failed, 5 passed" in lines
    assert re.findall("^FAILED (.*?) ", lines, re.MULTILINE) == ["test_0.py::test_middle"]
    assert ends_in(tmp_path) == 2, "in the process that was left, and in the new one"


@pytest.mark.slow
def test_a_run_stops_at_the_first_failure_with_the_fixtures_of_all(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "both")
    shared_in(tmp_path, "open('both', 'w'); signal.pause()", "open('both'); assert False")
    done = run(tmp_path, "-n2", "-x")
    assert done.status == pytest.ExitCode.TESTS_FAILED
    assert "stopping after 1 failures" in done.told
    assert "1 failed, 2 passed" in done.told
    assert ends_in(tmp_path) == 2


@pytest.mark.slow
def test_an_interrupted_run_ends_its_processes_with_their_fixtures(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "both")
    interrupts = "open('both', 'w'); os.kill(os.getppid(), signal.SIGINT); signal.pause()"
    shared_in(tmp_path, interrupts, "open('both'); signal.pause()")
    done = run(tmp_path, "-n2")
    assert done.status == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in done.told
    assert ends_in(tmp_path) == 2


@pytest.mark.slow
def test_a_test_that_takes_very_long_shows_where_it_stands(tmp_path: Path) -> None:
    shared_in(tmp_path, "signal.pause()")
    done = run(tmp_path, "-n1", "-o", "faulthandler_timeout=0.1")
    assert re.search(r'^  File "\S+test_0.py", line \d+ in test_middle$', done.told, re.MULTILINE)
    assert "3 passed" in done.told


@pytest.mark.slow
def test_a_thread_of_a_test_file_is_refused(tmp_path: Path) -> None:
    text = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\ndef test_a(): pass"
    (tmp_path / "test_it.py").write_text(text, encoding="utf-8")
    done = run(tmp_path, "-n1")
    assert done.status == pytest.ExitCode.INTERNAL_ERROR
    assert "forks would miss a thread" in done.told
