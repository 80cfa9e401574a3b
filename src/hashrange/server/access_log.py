"""How is a request logged? By one line in the access log, which is off by default: a line costs as much as a request."""

import logging
import re
from collections.abc import Callable, Sequence

from hashrange.wire.http import HttpRequest
from hashrange.wire.identifiers import request_id_of

_log = logging.getLogger("hashrange.access")
_exception = re.compile(rb'(?:\{"__type":"[^"#]*#|<)([A-Za-z]+)').match
"""Matches the beginning of a body that names an exception: the protocol's JSON, or the XML sent to other requests."""

NOTHING_USED = "- - -"

Peer = Sequence[object] | None
"""A client's address as the transport reports it, the host first."""


def log_access(request: HttpRequest | None, status: int, body: bytes, peer: Peer, used: str) -> None:
    """Log a line: `127.0.0.1 POST / DynamoDB_20120810.GetItem 200 512 <request id> music 0.5 0`.

    Text of the client is escaped by `ascii`.
    `used` is the last three fields: table, units read and units written; empty (`… - - -`) for a request that did not
    reach an operation. An error adds the exception that the client gets:
    `… 400 128 <request id> music - - ValidationException`. Input refused before it became a request (None) gives
    only `127.0.0.1 - - - 400 49 - - - -`.
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
    """Return a client's bytes escaped, safe in one line of a log."""
    return ascii(sent.decode("latin-1"))[1:-1]


AccessLog = Callable[[HttpRequest | None, int, bytes, Peer, str], None]
"""Called with: request (None for a refusal), status, the reply's body, peer, used tables and units (may be empty)."""
