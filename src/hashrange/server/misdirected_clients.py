"""How does the operator learn of clients that use this server by mistake? By hints in the log, each given once.

Some clients speak HTTPS to an HTTP port, or HTTP to an HTTPS port; others send the requests for every AWS service that
they use.
"""

import logging
import re
from collections.abc import Collection

from hashrange.wire.http import HttpRequest

HINTS_MAX = 1000

TLS_HANDSHAKE = b"\x16\x03"
"""First bytes of a client's first TLS record (RFC 8446, 5.1); no HTTP request begins with them."""

_log = logging.getLogger("hashrange.server")
_signed_service = re.compile(rb"Credential=[^/,\s]+/[0-9]+/[^/,\s]*/([a-z0-9-]{1,64})/aws4_request").match


class OtherServiceHint:
    """Logs, once for each AWS service that is not served here (at most `HINTS_MAX`), that its requests are refused."""

    def __init__(self, served: Collection[str]) -> None:
        """`served`: signing names of the services that are served here."""
        self._served = frozenset(served)
        self._given: set[str] = set()

    def __call__(self, request: HttpRequest) -> None:
        """Log a hint, once for each service, if `request` was signed for a service that is not served here."""
        authorization = request.header(b"authorization") or b""
        found = _signed_service(authorization, authorization.find(b"Credential="))
        if found is None or len(self._given) >= HINTS_MAX:
            return
        service = found[1].decode()
        if service in self._served or service in self._given:
            return
        self._given.add(service)
        _log.warning(
            "a request signed for the service %s was refused, because that service is not served here; "
            "its client may be pointed here by AWS_ENDPOINT_URL, where AWS_ENDPOINT_URL_DYNAMODB would "
            "leave other services alone",
            service,
        )


def hint_https() -> None:
    """Log that a client speaks HTTPS to a port that serves HTTP: its first bytes were `TLS_HANDSHAKE`."""
    _log.warning(
        "a client speaks HTTPS, but this port serves HTTP: use an endpoint that begins with http://, "
        "or serve HTTPS with --tls-cert and --tls-key"
    )


def hint_http() -> None:
    """Log that a client speaks HTTP to a port that serves HTTPS: it gets no reply, as TLS has not begun."""
    _log.warning(
        "a client speaks HTTP, but this port serves HTTPS: use an endpoint that begins with https://, "
        "or serve HTTP without --tls-cert and --tls-key"
    )
