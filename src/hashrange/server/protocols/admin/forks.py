"""`forks`, `forks/PORT`: start databases with a copy of the content on ports of their own, list them, end them."""

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.errors import StorageError
from hashrange.messages import admin as sentences
from hashrange.server.forks import Forks
from hashrange.server.protocols.admin.endpoint import AdminWire, Nothing, Refused, Serving, at_once
from hashrange.server.protocols.admin.snapshots import find_snapshot


class ForkRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Request: the content that the fork begins with."""

    snapshot: str | None = None
    """Number of a snapshot; None: the present content."""


async def start_fork(serving: Serving, request: ForkRequest) -> dict[str, object]:
    """Start a fork; returns its URL and port. Raises Refused, StorageError or ListenError."""
    forks = _forks_of(serving)
    snapshot = None if request.snapshot is None else find_snapshot(serving, request.snapshot)
    if not forks.may_start:
        raise Refused(409, sentences.TOO_MANY_FORKS.format(count=len(forks.endpoints)))
    try:
        port = await forks.start(snapshot)
    except StorageError:
        if request.snapshot is not None:
            find_snapshot(serving, request.snapshot)  # another request may have released it meanwhile
        raise
    return _told(forks, port)


async def tell_forks(serving: Serving, request: Nothing) -> dict[str, object]:
    """Return URL and port of each fork."""
    forks = _forks_of(serving)
    return {"forks": [_told(forks, port) for port in forks.endpoints]}


async def end_fork(serving: Serving, request: Nothing, port: str) -> dict[str, object]:
    """End a fork and delete its content. Raises Refused if there is none on this port; may raise StorageError."""
    forks = _forks_of(serving)
    is_ended = port.isascii() and port.isdecimal() and len(port) < 6 and await forks.end(int(port))
    if not is_ended:
        ports = ", ".join(map(str, forks.endpoints)) or "none"
        raise Refused(404, sentences.NO_FORK.format(port=port, ports=ports))
    return {}


def _forks_of(serving: Serving) -> Forks:
    """The server's forks. Raises Refused for a database that listens on no port."""
    if serving.forks is None:
        raise Refused(409, sentences.NO_LISTENER)
    return serving.forks


def _told(forks: Forks, port: int) -> dict[str, object]:
    return {"endpoint": forks.endpoints[port], "port": port}


ENDPOINTS = (
    Operation("POST forks", ForkRequest, start_fork, AdminWire('{"snapshot": "1"}'), is_eventual=at_once),
    Operation("GET forks", Nothing, tell_forks, AdminWire(), is_eventual=at_once),
    Operation("DELETE forks/PORT", Nothing, end_fork, AdminWire(), is_eventual=at_once),
)
