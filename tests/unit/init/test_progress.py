"""A long application says every few seconds how far it is; a short one says nothing."""

import logging

import pytest

from hashrange.init.applying import REPORT_SECONDS, Progress
from hashrange.init.files import InitFile
from tests.support.clocks import SetClock

FILE = InitFile("/init/20-Users.jsonl", "20-Users.jsonl", "000000000000", "us-east-1", "lines")


def test_it_reports_at_intervals(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hashrange.init")
    clock = SetClock()
    progress = Progress(clock)
    progress.begin(FILE)
    progress.put(1000)
    assert caplog.messages == []
    clock.advance(REPORT_SECONDS)
    progress.put(1)
    progress.put(1)
    assert caplog.messages == ["20-Users.jsonl: 1,001 items so far"]
    progress.begin(FILE._replace(name="30-Users.jsonl"))
    clock.advance(REPORT_SECONDS)
    progress.put(1)
    assert caplog.messages[1:] == ["30-Users.jsonl: 1 item so far"]
