"""How many connections may be open at a time, so that the engine and the process always find a descriptor?

Idle connections cost nothing else, so they are what uses descriptors up; and an engine that finds none fails the requests of all others.
"""

import contextlib
import logging

from hashrange.errors import HashrangeError
from hashrange.store.embedded.open_files import descriptors_max, open_files_max

OTHER_FILES = 96
"""Besides data files and connections. 25 are open on disk: the event loop's, listeners, lock, logs; merges open some more."""
TURNED_AWAY_MAX = 32
"""Connections above the limit that hear why and are given time to read it; further ones are closed as they hear it."""
ACCEPTED_MAX = 32
"""Accepted, but not counted yet: uvloop accepts one in each turn of the loop."""
DESCRIPTORS_MIN = 256
"""With fewer, nothing worth serving is left for connections."""
FEW_CONNECTIONS = 1024
"""With a limit below this, a crowd of clients may meet it, so the operator is warned."""
LIMIT_TRIES = 8

_log = logging.getLogger("hashrange.server")


class DescriptorsTooFewError(HashrangeError):
    """The process may open too few files; the message names the limit and the way out."""


def reserve_of(descriptors: int | None) -> int:
    """How many descriptors connections leave to all else."""
    return open_files_max(descriptors) + OTHER_FILES + TURNED_AWAY_MAX + ACCEPTED_MAX


def connections_within(connections_max: int, descriptors: int | None) -> int:
    """How many connections may be open at a time, of so many descriptors; raises DescriptorsTooFewError."""
    if descriptors is None:
        return connections_max
    if descriptors < DESCRIPTORS_MIN:
        raise DescriptorsTooFewError(
            f"this process may open {descriptors} files, and needs {DESCRIPTORS_MIN} at least."
            " Raise the limit: ulimit -n 4096, or LimitNOFILE= of a service."
        )
    return min(connections_max, descriptors - reserve_of(descriptors))


def take_descriptors(connections_max: int) -> int:
    """Let the process open as many files as it needs to serve so many connections; returns how many it can serve.

    Says so when the machine allows fewer. Raises DescriptorsTooFewError.
    """
    _raise_limit(connections_max + reserve_of(None))
    descriptors = descriptors_max()
    connections = connections_within(connections_max, descriptors)
    if connections < connections_max:
        _log.log(
            logging.WARNING if connections < FEW_CONNECTIONS else logging.INFO,
            "this process may open %s files, so %d connections are served at a time instead of %d; the other files are kept for the data",
            descriptors, connections, connections_max,
        )  # fmt: skip
    return connections


def _raise_limit(wanted: int) -> None:
    """Raise the limit of open files towards `wanted`, as far as the machine allows; it is never lowered."""
    try:
        import resource  # noqa: PLC0415 - absent on Windows
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    for _ in range(LIMIT_TRIES):  # macOS names no limit, and refuses what is above the kernel's own
        if soft >= wanted:
            return
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return
        wanted //= 2
