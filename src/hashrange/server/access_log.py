"""How is a request logged? By one line in the access log, which is off by default:
a line costs as much as a small request.
"""

import logging
import re
from collections.abc import Callable, Sequence

from hashrange.terminal import escape_controls
from hashrange.wire.http import CODE_PATH, HttpRequest
from hashrange.wire.identifiers import request_id_of

_log = logging.getLogger("hashrange.access")
_exception = re.compile(rb'(?:\{"__type":"[^"#]*#|<)([A-Za-z]+)').match
"""Matches the beginning of an error's body, in JSON or XML; group 1 is the name of the exception."""

NOTHING_USED = "- - -"

Peer = Sequence[object] | None
"""A client's address as the transport reports it, the host first; None if unknown."""


def log_access(
    request: HttpRequest | None, status: int, body: bytes, peer: Peer, used: str, size_bytes: int | None = None
) -> None:
    """Log a line: `127.0.0.1 POST / DynamoDB_20120810.GetItem 200 512 <request id> music 0.5 0`.

    The fields are: client, method, path, target, status, length of `body`, request id, and the fields in `used`: table,
    units read, units written (`- - -` if `used` is empty, because no operation was reached). The line of an error ends
    with the exception that its body names, if any: `… 400 128 <request id> music - - ValidationException`. Input that
    was refused before it became a request (`request` is None) is logged as `127.0.0.1 - - - 400 49 - - - -`. Path and
    target are escaped. `size_bytes`: length of a body that is not there; None: that of `body`. What lets its reader in
    is left out: the query, which may be signed, and links to code.
    """
    used = used or NOTHING_USED
    host = peer[0] if peer else "-"
    if request is None:
        _log.info("%s - - - %d %d - %s", host, status, len(body), used)
        return
    target = request.header(b"x-amz-target") or b"-"
    path = request.url.partition(b"?")[0]
    found = _exception(body) if status != 200 else None
    _log.info(
        "%s %s %s %s %d %d %s %s%s",
        host,
        request.method.decode("latin-1"),
        printable(CODE_PATH if path.startswith(CODE_PATH) else path),
        printable(target),
        status,
        len(body) if size_bytes is None else size_bytes,
        request_id_of(request.number).decode(),
        used,
        "" if found is None else " " + found[1].decode(),
    )


def printable(sent: bytes) -> str:
    """Return a client's bytes as ASCII text with escapes, safe in one line of a log."""
    return escape_controls(sent.decode("ascii", "backslashreplace")).replace("\t", "\\t")


AccessLog = Callable[..., None]
"""A function with the parameters of `log_access`, called for each reply and refusal that is sent."""
