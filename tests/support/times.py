"""How long do the tests take, by folder? `--times` tells at the end of a run: CONTRIBUTING.md and tests/support/dealing.py have it from here."""

import time
from collections import Counter

import pytest

from tests.support.dealing import group_of

GROUP_SECONDS_MIN = 5
"""Shorter groups are not worth a place in the order."""


class Times:
    """Adds up what the tests take, in whatever process they run."""

    def __init__(self) -> None:
        self.started_seconds = time.monotonic()
        self.tests: Counter[str] = Counter()
        self.folders: Counter[str] = Counter()
        self.groups: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One of the three parts of a test: what it sets up, itself, what it takes down."""
        folder = folder_of(report.nodeid)
        self.tests[folder] += report.when == "call"
        self.folders[folder] += report.duration  # type: ignore[assignment]
        self.groups[group_of(report.nodeid)] += report.duration  # type: ignore[assignment]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The tables."""
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
    """`tests/unit` for all that stands below it; `tests` for what stands in no folder."""
    return "/".join(nodeid.partition("::")[0].split("/")[:-1][:2])
