"""How long do the tests take, by folder? `--times` prints it after a run, for CONTRIBUTING.md
and tests/support/dealing.py.
"""

import time
from collections import Counter

import pytest

from tests.support.dealing import group_of

GROUP_SECONDS_MIN = 5
"""Shorter groups are not listed: their order hardly matters."""


class Times:
    """Adds up the times of the tests, of all processes."""

    def __init__(self) -> None:
        self.started_seconds = time.monotonic()
        self.tests: Counter[str] = Counter()
        self.folders: Counter[str] = Counter()
        self.groups: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the time of one phase of a test: setup, call or teardown."""
        folder = folder_of(report.nodeid)
        self.tests[folder] += report.when == "call"
        self.folders[folder] += report.duration  # type: ignore[assignment]
        self.groups[group_of(report.nodeid)] += report.duration  # type: ignore[assignment]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the tables."""
        whole_seconds = time.monotonic() - self.started_seconds
        lines = ["| folder | tests | seconds |", "|---|---|---|"]
        lines += [
            f"| `{name}` | {self.tests[name]:,} | {seconds:.0f} |" for name, seconds in self.folders.most_common()
        ]
        lines += [f"| all | {self.tests.total():,} | {self.folders.total():.0f}, in {whole_seconds:.0f} |", ""]
        groups = [(name, seconds) for name, seconds in self.groups.most_common() if seconds >= GROUP_SECONDS_MIN]
        lines += [f'    "{name}": {seconds:.0f},' for name, seconds in groups]
        terminalreporter.section("times")
        for line in lines:
            terminalreporter.write_line(line)


def folder_of(nodeid: str) -> str:
    """`tests/unit` for every file below it; `tests` for files in no folder."""
    return "/".join(nodeid.partition("::")[0].split("/")[:-1][:2])
