"""Test suites in other languages: the projects to copy pass, each against a server that it starts and ends,
and fail without isolation.

The server inherits the standard error of the project, so a run is over only once the server has ended.
Its access log counts the requests that it has answered.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen
from xml.etree import ElementTree as ET

import pytest

from tests.clients.programs import MAVEN_VARIABLES, go_tests, node, program, succeed
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE
from tests.support.kept_builds import identity_of, kept_build

RUN_TIMEOUT_SECONDS = 100
PAGE = HERE.parent.parent / "docs" / "testing" / "other-languages.md"
IN_CONTAINER = HERE / "junit" / "src" / "test" / "java" / "shop" / "OrdersInContainerTest.java"

pytestmark = pytest.mark.packaging


class Run(NamedTuple):
    """One run of a project's tests."""

    exit_code: int
    output: str
    requests: Counter[str]
    """Number of requests that the server has answered with status 200, by operation;
    admin requests by method and path."""


def run_tests(command: list[str], folder: Path, **variables: str) -> Run:
    """Run a project's tests with this interpreter's `hashrange`; on time-out, end all processes of the run."""
    interpreter = Path(sys.executable)  # HASHRANGE is split on blanks, so it must not hold a path
    environment = os.environ | {
        "HASHRANGE": f"{interpreter.name} -m hashrange",
        "HASHRANGE_ACCESS_LOG": "true",
        "HASHRANGE_LOG_LEVEL": "info",
        "PATH": os.pathsep.join((str(interpreter.parent), os.environ["PATH"])),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=RUN_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        if sys.platform != "win32":
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        raise AssertionError(f"{command} did not end:\n{process.communicate()[0]}") from None
    return Run(process.returncode, output, Counter(requests_in(output)))


def requests_in(output: str) -> list[str]:
    """The requests with status 200 in an access log, without the numbers of ports."""
    lines = re.findall(r"hashrange\.access: \S+ (\S+) (\S+) (\S+) 200 ", output)
    return [
        target.rpartition(".")[2] if target != "-" else f"{method} {re.sub(r'[0-9]+$', 'PORT', path)}"
        for method, path, target in lines
    ]


def jest_results(report: Path) -> dict[str, str]:
    """Status of each test in the JSON of jest or vitest, by file and title."""
    files: list[dict[str, Any]] = json.loads(report.read_text(encoding="utf-8"))["testResults"]
    return {
        f"{Path(file['name']).name}: {test['title']}": test["status"]
        for file in files
        for test in file["assertionResults"]
    }


def surefire_results(folder: Path) -> dict[str, str]:
    """Status of each test in the XML of surefire, by class and method without its parameters."""
    cases = [case for file in folder.glob("TEST-*.xml") for case in ET.parse(file).iter("testcase")]
    return {
        f"{case.get('classname')}.{case.get('name', '').partition('(')[0]}": ", ".join(
            child.tag for child in case if child.tag in {"failure", "error", "skipped"}
        )
        or "passed"
        for case in cases
    }


def go_results(output: str) -> dict[str, str]:
    """Status of each test in the output of `go test -json`."""
    events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {
        event["Test"]: event["Action"]
        for event in events
        if event["Action"] in {"pass", "fail", "skip"} and "Test" in event
    }


def run_jest(tmp_path: Path, *more: str, **variables: str) -> tuple[Run, dict[str, str]]:
    """Run jest with an empty cache: without times of earlier runs, it starts two workers."""
    folder = HERE / "jest"
    options = ["--json", f"--outputFile={tmp_path / 'report.json'}", f"--cacheDirectory={tmp_path / 'cache'}", *more]
    run = run_tests([node(folder), "node_modules/jest/bin/jest.js", *options], folder, **variables)
    return run, jest_results(tmp_path / "report.json")


def run_go(**variables: str) -> tuple[Run, dict[str, str]]:
    """Run what `go test -json` would run."""
    folder = HERE / "gotest"
    tests = ["go", "tool", "test2json", "-t", go_tests(folder), "-test.v=test2json"]
    run = run_tests(tests, folder, **variables)
    return run, go_results(run.output)


def test_jest_has_a_database_for_each_worker(tmp_path: Path) -> None:
    run, results = run_jest(tmp_path)
    assert results == {
        "listing.test.js: a customer has no orders at first": "passed",
        "listing.test.js: another Region has other tables": "passed",
        "listing.test.js: the latest order comes first": "passed",
        "placing.test.js: an order is placed": "passed",
        "placing.test.js: an order is placed once": "passed",
        "placing.test.js: another access key has other tables": "passed",
    }, run.output
    assert run.exit_code == 0, run.output
    assert (run.requests["CreateTable"], run.requests["DeleteTable"]) == (6, 6)


def test_jest_fails_if_access_keys_and_regions_share_a_database(tmp_path: Path) -> None:
    """One worker: two that share a database delete each other's tables, so either test passes at times."""
    run, results = run_jest(tmp_path, "--runInBand", HASHRANGE_SHARED_DB="true")
    assert run.exit_code == 1, run.output
    assert results["listing.test.js: another Region has other tables"] == "failed"
    assert results["placing.test.js: another access key has other tables"] == "failed"


def test_vitest_has_a_fork_for_each_test(tmp_path: Path) -> None:
    folder = HERE / "vitest"
    options = ["--reporter=json", f"--outputFile={tmp_path / 'report.json'}"]
    run = run_tests([node(folder), "node_modules/vitest/vitest.mjs", "run", *options], folder)
    assert jest_results(tmp_path / "report.json") == {
        "retiring.test.js: a product is retired": "passed",
        "retiring.test.js: every test begins with all products": "passed",
        "selling.test.js: a sale lowers the stock": "passed",
        "selling.test.js: every test begins with the whole stock": "passed",
        "selling.test.js: no more is sold than there is": "passed",
    }, run.output
    assert run.exit_code == 0, run.output
    assert run.requests["POST /_hashrange/v1/forks"] == 5
    assert run.requests["DELETE /_hashrange/v1/forks/PORT"] == 5


def fetch_for_junit(folder: Path, maven: str) -> None:
    """Let Maven fetch what the project asks for, once: the run of the tests has less time than that may take."""

    def fetch(place: Path) -> None:
        shutil.copytree(folder / "src", place / "src")
        shutil.copy(folder / "pom.xml", place)
        # Surefire fetches what runs JUnit when there is a test class, even if no test has the tag.
        succeed(place, [maven, "-q", "-B", "test", "-Dgroups=none"])

    kept_build("clients-junit", [(folder / "pom.xml").read_bytes(), identity_of(maven)], fetch)


def test_junit_empties_the_database_before_each_test() -> None:
    folder = HERE / "junit"
    program("java", least=17)
    maven = program("mvn")
    fetch_for_junit(folder, maven)
    reports = folder / "target" / "surefire-reports"
    for report in reports.glob("*"):
        report.unlink()
    run = run_tests([maven, "-q", "-B", "test", "-DforkCount=0"], folder, **MAVEN_VARIABLES)
    assert surefire_results(reports) == {
        "shop.OrdersTest.anOrderIsPlacedOnce": "passed",
        "shop.OrdersTest.ordersAreSorted": "passed",
        "shop.SessionsTest.aSessionEndsAfterAnHour": "passed",
        "shop.SessionsTest.everyTestBeginsWithItsOwnTablesOnly": "passed",
    }, run.output
    assert run.exit_code == 0, run.output
    assert run.requests["POST /_hashrange/v1/reset"] == 4
    assert run.requests["POST /_hashrange/v1/clock/advance"] == 1


def test_the_container_of_the_junit_project_would_become_ready() -> None:
    """No container engine is needed: a server is started with the container's options,
    and asked for what is waited for.
    """
    text = IN_CONTAINER.read_text(encoding="utf-8")
    command, path = re.search(r"withCommand\((.*)\)", text), re.search(r'forHttp\("(.*?)"\)', text)
    assert command
    assert path
    serve, in_memory, *options = re.findall(r'"(.*?)"', command[1])
    assert (serve, in_memory) == ("serve", "--in-memory")
    server = ServerProcess(None, *options)
    try:
        with urlopen(server.endpoint + path[1]) as reply:
            assert json.load(reply) == {"ready": True}
    finally:
        server.stop()


def test_go_has_a_database_for_each_parallel_test() -> None:
    run, results = run_go()
    counts = [f"TestOrdersAreStored/{count}" for count in (0, 1, 7, 20)]
    assert results == dict.fromkeys(["TestAnOrderIsPlacedOnce", "TestOrdersAreStored", *counts], "pass"), run.output
    assert run.exit_code == 0, run.output
    assert run.requests["CreateTable"] == 5


def test_go_fails_if_parallel_tests_share_a_database() -> None:
    run, results = run_go(HASHRANGE_SHARED_DB="true")
    assert run.exit_code == 1, run.output
    assert results["TestOrdersAreStored"] == "fail"
    assert run.requests["CreateTable"] == 1


def unindented(text: str) -> str:
    """The lines of a text without their indentation."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


@pytest.mark.parametrize(
    ("language", "pattern", "count"),
    [("js", "*/**/*.js", 4), ("java", "junit/src/**/*.java", 2), ("go", "gotest/*.go", 1)],
)
def test_the_lines_to_copy_are_those_of_the_projects(language: str, pattern: str, count: int) -> None:
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    files = [path for path in HERE.glob(pattern) if "node_modules" not in path.parts]
    texts = [unindented(path.read_text(encoding="utf-8")) for path in files]
    assert len(blocks) == count
    assert [block for block in blocks if not any(unindented(block) in text for text in texts)] == []
