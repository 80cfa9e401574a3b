"""Which tests were left out, and why? One line at the end of a run says it."""

from collections import Counter

import pytest


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
