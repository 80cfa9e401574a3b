"""How is a process recognised that a handler has started? By two marks that it inherits:
an entry of its environment, and a resource limit.

A handler may start a program without its own environment (`env -i`).
Limits are inherited whatever a program is started with, so the limit that Linux no longer uses carries a number.
It is lost only if a process changes that very limit. Other systems have the entry alone.
"""

import contextlib
import os
import sys
from typing import NamedTuple

if sys.platform == "linux":
    import resource

MARK_NAME = "_HASHRANGE_ENVIRONMENT"
"""The environment variable that names the execution environment that a process belongs to."""
_LOCKS = 10
"""RLIMIT_LOCKS, which Linux keeps and has not enforced since 2.4.25. Python's `resource` has no name for it."""
_DIGITS = 14
"""Hexadecimal digits of a mark that become a number, 56 bits."""
_SERVER_LIMIT, _ENVIRONMENT_LIMIT = 1 << 60, 1 << 61
"""Added to the number of a server, which becomes the soft limit, and to that of an environment,
which becomes the hard one."""


class Mark(NamedTuple):
    """What the processes of one environment have, or those of all environments of a server."""

    entry: bytes
    """An entry of their environment, `NAME=server.environment`, or what the entries begin with, `NAME=server`."""
    soft_limit: int
    """0 if the mark is no number."""
    hard_limit: int
    """0: that of any environment of the server."""

    @classmethod
    def of(cls, text: str) -> "Mark":
        """The mark with this text: `server.environment` or `server`, each hexadecimal."""
        server, _, environment = text.partition(".")
        return cls(
            f"{MARK_NAME}={text}".encode(), _limit(server, _SERVER_LIMIT), _limit(environment, _ENVIRONMENT_LIMIT)
        )

    def put_on(self, pid: int) -> None:
        """Set the limit of a process that has only just been started, so that all that it starts inherits it."""
        if sys.platform == "linux" and self.soft_limit and self.hard_limit:
            with contextlib.suppress(OSError, ValueError):  # a sandbox or a lower limit forbids it: there is the entry
                resource.prlimit(pid, _LOCKS, (self.soft_limit, self.hard_limit))

    def is_on(self, pid: int) -> bool:
        """True if a process has the mark. Costs some 20 µs, or as little as `is_limit_of` if it has the limit."""
        return self.is_limit_of(pid) or any(
            entry == self.entry or entry.startswith(self.entry + b".") for entry in _entries_of(pid)
        )

    def is_limit_of(self, pid: int) -> bool:
        """True if a process has the limit of the mark. Costs some 1.3 µs."""
        if sys.platform != "linux" or not self.soft_limit:
            return False
        try:
            soft, hard = resource.prlimit(pid, _LOCKS)
        except OSError:  # it has ended, or is another user's
            return False
        return soft == self.soft_limit and self.hard_limit in {0, hard}


def _limit(digits: str, least: int) -> int:
    try:
        return least + int(digits[:_DIGITS], 16)
    except ValueError:
        return 0


def _entries_of(pid: int) -> list[bytes]:
    """The entries of the environment that a process started with; empty if it has ended or is another user's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def all_pids() -> list[int]:
    """All processes of the machine but this one; none where there is no /proc."""
    own = os.getpid()
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != own]
    except OSError:
        return []
