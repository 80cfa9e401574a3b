"""Which tests are left out because a program is not installed? One line at the end of a run says how many, and why."""

import shutil
from collections import Counter

import pytest


def installed(name: str) -> str:
    """Path of a program; without the program the test is skipped (and fails on CI, see tests/conftest.py)."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def skip_without_programs(item: pytest.Item) -> None:
    """Skip a test whose mark `needs` names a program that is not installed."""
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            installed(name)


class LeftOut:
    """Counts skipped tests by their reasons, in the process that reports."""

    def __init__(self) -> None:
        self._reasons: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test that was skipped."""
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that was skipped."""
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self._reasons[reason.removeprefix("Skipped: ")] += 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the line, if anything was left out."""
        if self._reasons:
            terminalreporter.write_line(self.line())

    def line(self) -> str:
        """The number of tests that were left out, and the reasons; the one of most tests first."""
        reasons = "; ".join(f"{reason} ({count})" for reason, count in self._reasons.most_common())
        return f"Left out: {self._reasons.total()} tests, because of this machine: {reasons}."
