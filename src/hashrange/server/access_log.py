"""One line per request, for operators who ask for it. Never on by default: a line costs as much as a request."""

import logging
import re
from collections.abc import Callable, Sequence

from hashrange.wire.http import HttpRequest
from hashrange.wire.identifiers import request_id_of

_log = logging.getLogger("hashrange.access")
_exception = re.compile(rb'(?:\{"__type":"[^"#]*#|<)([A-Za-z]+)').match
"""How a body begins that names an exception: the protocol's JSON, or the XML of a request that is none of it."""

NOTHING_USED = "- - -"

Peer = Sequence[object] | None
"""A client's address as the transport tells it, the host first."""


def log_access(request: HttpRequest | None, status: int, body: bytes, peer: Peer, used: str) -> None:
    """`127.0.0.1 POST / DynamoDB_20120810.GetItem 200 512 <request id> music 0.5 0`; what a client sent is quoted by `ascii`.

    `used` is the last three: table, units read and units written; empty for a request that did not reach an operation: `… - - -`.
    Of a refusal with the exception that the client hears at the end: `… 400 128 <request id> music - - ValidationException`.
    What was refused before it was a request has no more than `127.0.0.1 - - - 400 49 - - - -`.
    """
    used = used or NOTHING_USED
    host = peer[0] if peer else "-"
    if request is None:
        _log.info("%s - - - %d %d - %s", host, status, len(body), used)
        return
    target = request.header(b"x-amz-target") or b"-"
    found = _exception(body) if status != 200 else None
    _log.info(
        "%s %s %s %s %d %d %s %s%s", host, request.method.decode("latin-1"), printable(request.url), printable(target), status,
        len(body), request_id_of(request.number).decode(), used, "" if found is None else " " + found[1].decode(),
    )  # fmt: skip


def printable(sent: bytes) -> str:
    """Bytes of a client, safe in one line of a log."""
    return ascii(sent.decode("latin-1"))[1:-1]


AccessLog = Callable[[HttpRequest | None, int, bytes, Peer, str], None]
"""(request or None for a refusal, status, the reply's body, peer, what was used or nothing)."""
