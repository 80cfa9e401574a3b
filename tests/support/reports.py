"""What does a test process report to the one that prints? Of each test that passes one report, with the time of its
setup and teardown too, instead of three reports and two notes of its start and end: a message takes longer than most
phases.
"""

from collections.abc import Callable
from typing import Any

import pytest

PHASES = 3
"""Setup, call and teardown."""


class FewerReports:
    """Passes messages on; holds the reports of a test back until it has passed, or something else has happened."""

    def __init__(self, send: Callable[..., None]) -> None:
        self._send = send
        self._held: list[dict[str, Any]] = []

    def __call__(self, name: str, **members: Any) -> None:
        """Takes the place of `WorkerInteractor.sendevent`."""
        if name in {"logstart", "logfinish"}:
            return
        if name == "testreport" and members["data"]["outcome"] == "passed":
            self._held.append(members["data"])
            if members["data"]["when"] != "teardown":
                return
            if len(self._held) == PHASES:
                self._held[1]["duration"] = sum(report["duration"] for report in self._held)
                self._held = [self._held[1]]
        for report in self._held:
            self._send("testreport", data=report)
        self._held.clear()
        if name != "testreport" or members["data"]["outcome"] != "passed":
            self._send(name, **members)


def pytest_configure(config: pytest.Config) -> None:
    """Let a process that is dealt its tests report less."""
    for plugin in config.pluginmanager.get_plugins():
        if type(plugin).__name__ == "WorkerInteractor":
            plugin.sendevent = FewerReports(plugin.sendevent)
