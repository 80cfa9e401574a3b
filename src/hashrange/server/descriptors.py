"""How many connections may be open at a time?
So many that the storage engine and the process keep enough file descriptors.

Idle connections cost little but descriptors, and could use all of them; then the engine could open no file, and the
requests of all clients would fail.
"""

import contextlib
import errno
import logging
from asyncio import Server

from hashrange.errors import HashrangeError
from hashrange.store.embedded.open_files import descriptors_max, open_files_max

OTHER_FILES = 96
"""Descriptors kept for other uses than data files and connections. A server with data on disk has 25 open (event loop,
listeners, lock, logs); merges of data files open some more."""
TURNED_AWAY_MAX = 32
"""Connections above the limit whose clients get time to read the refusal; others are closed once it is written."""
ACCEPTED_MAX = 32
"""Descriptors for connections that are accepted but not counted yet; `listener.py` accepts 16 at once per socket."""
DESCRIPTORS_MIN = 256
"""Fewest descriptors with which the server starts; with fewer, too few would be left for connections."""
FEW_CONNECTIONS = 1024
"""If descriptors allow fewer connections than this, the operator is warned: a crowd of clients may reach the limit."""
LIMIT_TRIES = 8

_log = logging.getLogger("hashrange.server")


class DescriptorsTooFewError(HashrangeError):
    """The process may open too few files; the message names the limit and the remedy."""


def reserve_of(descriptors: int | None) -> int:
    """Number of descriptors, out of `descriptors` (None: unlimited), kept for other uses than served connections."""
    return open_files_max(descriptors) + OTHER_FILES + TURNED_AWAY_MAX + ACCEPTED_MAX


def connections_within(connections_max: int, descriptors: int | None) -> int:
    """Return how many connections may be open at a time: `connections_max`, or as many as `descriptors` allow if fewer.

    `descriptors` None means unlimited. Raises DescriptorsTooFewError.
    """
    if descriptors is None:
        return connections_max
    if descriptors < DESCRIPTORS_MIN:
        raise DescriptorsTooFewError(
            f"this process may open {descriptors} files, and needs {DESCRIPTORS_MIN} at least."
            " Raise the limit: ulimit -n 4096, or LimitNOFILE= of a service."
        )
    return min(connections_max, descriptors - reserve_of(descriptors))


def take_descriptors(connections_max: int) -> int:
    """Raise the process's limit of open files for this many connections; return how many it can serve.

    Logs if the process can serve fewer. Raises DescriptorsTooFewError.
    """
    _raise_limit(connections_max + reserve_of(None))
    descriptors = descriptors_max()
    connections = connections_within(connections_max, descriptors)
    if connections < connections_max:
        _log.log(
            logging.WARNING if connections < FEW_CONNECTIONS else logging.INFO,
            "this process may open %s files, so %d connections are served at a time instead of %d;"
            " the other files are kept for the data",
            descriptors,
            connections,
            connections_max,
        )
    return connections


def require_sockets(listener: Server) -> None:
    """Raise OSError if the process had no descriptor for a listener: loops pass over addresses without a socket."""
    if not listener.sockets:
        raise OSError(errno.EMFILE, "no file descriptor is left for a socket")


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
    for _ in range(LIMIT_TRIES):  # macOS reports no hard limit, but refuses high values: try lower ones
        if soft >= wanted:
            return
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            return
        wanted //= 2
