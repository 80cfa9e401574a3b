"""The log of a server whose standard error nobody reads: the server goes on, and says what it left out."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from threading import Event

import pytest

from hashrange.cli import log_lines
from hashrange.cli.log_lines import ThreadedHandler
from tests.support.raw_client import RawClient
from tests.support.waiting import PATIENCE_SECONDS

PIPE_BYTES = 64 * 1024


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("is_unread", [True, False])
def test_a_log_that_nobody_reads_stops_nobody(is_unread: bool) -> None:
    command = [sys.executable, "-m", "hashrange", "serve", "--in-memory", "--port", "0", "--access-log"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            first_line = process.stdout.readline()
            client = RawClient("127.0.0.1", int(first_line.partition("http://127.0.0.1:")[2].split()[0].rstrip(".,")))
            path = "/" + 1000 * "x"
            for _ in range(3 * PIPE_BYTES // len(path)):
                assert client.send("GET", path, {}, b"").status == 404
            process.send_signal(signal.SIGTERM)
            if is_unread:
                assert process.wait(PATIENCE_SECONDS) == 0
            else:
                _, log = process.communicate(timeout=PATIENCE_SECONDS)
                assert log.count(path) == 3 * PIPE_BYTES // len(path)
                assert process.returncode == 0
        finally:
            process.kill()


@pytest.fixture
def may_write(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """The log is written once this is set."""
    event = Event()
    write = log_lines._write

    def wait_and_write(text: str) -> None:
        event.wait()
        write(text)

    monkeypatch.setattr(log_lines, "_write", wait_and_write)
    yield event
    event.set()


def log_of(*texts: str, handler: ThreadedHandler) -> None:
    for text in texts:
        handler.emit(logging.makeLogRecord({"name": "hashrange", "levelname": "INFO", "msg": text}))


def test_what_does_not_fit_is_left_out_and_told(
    may_write: Event, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_lines, "WAITING_CHARACTERS_MAX", 100)
    handler = ThreadedHandler()
    log_of("a" * 200, "b", "c", handler=handler)
    may_write.set()
    while handler._waiting_characters:
        os.sched_yield()
    may_write.clear()
    log_of("d" * 200, "e", handler=handler)
    may_write.set()
    handler.close()
    lines = [line.partition(" hashrange")[2] for line in capfd.readouterr().err.splitlines()]
    left_out = "messages were left out here, because the log was not read as quickly as it came."
    assert lines == [f": {'a' * 200}", f".log: 2 {left_out}", f": {'d' * 200}", f".log: 1 {left_out}"]


def test_a_log_that_has_no_reader_any_more_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as broken:
        monkeypatch.setattr(sys, "stderr", broken)
        handler = ThreadedHandler()
        log_of("a", "b", handler=handler)
        handler.close()
        assert not handler._thread.is_alive()


def test_a_pipe_that_does_not_block_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with os.fdopen(writing, "w") as stream, os.fdopen(reading) as reader:
        monkeypatch.setattr(sys, "stderr", stream)
        handler = ThreadedHandler()
        text = "x" * 3 * PIPE_BYTES
        log_of(text, handler=handler)
        assert text in reader.readline()
        handler.close()
