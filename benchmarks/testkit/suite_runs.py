"""How long does the same suite of 50 tests take with each tool?
Fresh processes and fresh servers for each run, in turn.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.processes import Cores
from benchmarks.running import Running, running
from benchmarks.servers import Contender
from benchmarks.testkit.programs import CORES, Ran, run_program

SUITES = Path(__file__).with_name("suites")
OPTIONS = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(SUITES / "pytest.ini"))
NOT_PINNED = Cores("", "")


class Suite(NamedTuple):
    """One way to run the suite."""

    name: str
    """As in the names of its figures."""
    title: str
    file: str
    """In suites/, without `.py`."""
    contender: Contender | None = None
    """The server that runs meanwhile."""


OURS = Suite("fixtures", "Hashrange, fixtures", "with_fixtures")
OUR_DECORATOR = Suite("decorator", "Hashrange, mock_dynamodb", "with_our_decorator")
MOTO = Suite("moto", "moto, mock_aws", "with_moto_decorator")


class SuiteRun(NamedTuple):
    """One run of a suite."""

    ran: Ran
    tests_seconds: float
    """From the first test to the last: without the start of pytest and the imports of the suite's files."""
    server_cpu_seconds: float
    server_ready_seconds: float
    """From the start of the server to its first answer, before the suite; 0 without a server."""

    @property
    def server_share(self) -> float:
        """The server's CPU time as a share of all cores during the run."""
        return self.server_cpu_seconds / (self.ran.seconds * CORES)


@contextmanager
def served(suite: Suite) -> Iterator[tuple[dict[str, str], Running | None]]:
    """Environment variables for the suite, and its server, which has just been started."""
    if suite.contender is None:
        yield {}, None
        return
    with running(suite.contender, NOT_PINNED) as server:
        yield {"SUITE_ENDPOINT": f"http://127.0.0.1:{server.port}"}, server


def run_suite(suite: Suite, python: str) -> SuiteRun:
    """Run a suite; its server, if it has one, starts before and is not part of the time. Raises LoadFailed."""
    with tempfile.TemporaryDirectory() as scratch, served(suite) as (variables, server):
        file = Path(scratch, "seconds")
        before = server.process.cpu_seconds() if server else 0.0
        command = [python, *OPTIONS, str(SUITES / f"{suite.file}.py")]
        ran = run_program(command, SUITES, variables | {"SUITE_SECONDS": str(file)})
        cpu_seconds = server.process.cpu_seconds() - before if server else 0.0
        assert "50 passed" in ran.output, ran.output
        ready_seconds = server.ready_ms / 1000 if server else 0.0
        return SuiteRun(ran, float(file.read_text(encoding="utf-8")), cpu_seconds, ready_seconds)


def start_cpu_ms(python: str, *options: str) -> tuple[float, float]:
    """CPU milliseconds of a pytest run that needs no database, and the share of the machine that others used."""
    ran = run_program([python, *OPTIONS, *options, str(SUITES / "without_database.py")], SUITES)
    return ran.cpu_seconds * 1000, ran.other_share
