"""Names of hosts without a name server: those that end in `.quick.test` are found at once, those that end in
`.slow.test` once the test lets them be; no thread waits for one after that.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from threading import enumerate as threads
from typing import Any

import pytest

from tests.support.waiting import PATIENCE_SECONDS, wait_until

THREAD_NAME = "hashrange-host-name"


class NameServer:
    """What answers look-ups."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        """Every name that was asked for, in that order."""
        self.ended: list[str] = []
        """Slow names whose look-ups have ended."""
        self.may_answer = Event()
        """Set to let slow names be found."""
        self.addresses = ["127.0.0.1"]
        """Those of every name."""
        self.failure: Exception | None = None
        """Raised instead."""
        self._usual = socket.getaddrinfo

    def look_up(self, host: Any, *arguments: Any) -> Any:
        """What `socket.getaddrinfo` is meanwhile."""
        if not str(host).endswith(".test"):
            return self._usual(host, *arguments)
        self.asked.append(host)
        if host.endswith(".slow.test"):
            self.may_answer.wait(PATIENCE_SECONDS)
            self.ended.append(host)
        if self.failure is not None:
            raise self.failure
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in self.addresses]


@contextmanager
def name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[NameServer]:
    """Let such a server answer, and all that it has not answered by the end."""
    names = NameServer()
    monkeypatch.setattr(socket, "getaddrinfo", names.look_up)
    try:
        yield names
    finally:
        names.may_answer.set()
        wait_until(lambda: not [one for one in threads() if one.name == THREAD_NAME])
