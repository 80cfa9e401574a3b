"""How does Prometheus read the server's metrics? From `GET /metrics`.

With a credentials file, a scraper needs an access key and its secret key as user and password of HTTP's basic authentication.
"""

import base64
import binascii
import hmac
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hashrange.messages.http import METRICS_UNAUTHORIZED
from hashrange.server.clients import Clients
from hashrange.server.credentials import Credential
from hashrange.server.gate import Guard
from hashrange.server.incoming import Respond
from hashrange.service.service import Service
from hashrange.wire.http import HttpRequest

if TYPE_CHECKING:
    from hashrange.server.exposition.prometheus import Exposition

PATH = b"/metrics"


class MetricsPath:
    """Protocol of `GET /metrics`."""

    targets = quick_targets = MappingProxyType[bytes, Any]({})
    guard = Guard()

    def __init__(self, service: Service, clients: Clients, credentials: Mapping[str, Credential] | None) -> None:
        self._service = service
        self._clients = clients
        self._credentials = credentials
        self._exposition: Exposition | None = None

    def claims(self, request: HttpRequest) -> bool:
        """True for reads of the path."""
        return request.method in (b"GET", b"HEAD") and request.url.partition(b"?")[0] == PATH

    def prepare(self, request: HttpRequest, respond: Respond) -> None:
        """Answer the request; returns None. May give way."""
        if self._credentials is not None and not _is_let_in(
            request, self._credentials, self._service.clock.wall_time()
        ):
            respond(401, METRICS_UNAUTHORIZED, b"text/plain", b'WWW-Authenticate: Basic realm="metrics"\r\n')
            return
        if self._exposition is None:
            # Imported here: most servers are not read by Prometheus, and start time counts.
            from hashrange.server.exposition.prometheus import Exposition  # noqa: PLC0415
            from hashrange.server.exposition.server_state import look_at_server  # noqa: PLC0415

            self._exposition = Exposition(partial(look_at_server, self._service, self._clients))
        accept = (request.header(b"accept") or b"").decode("latin-1")
        respond(200, *self._exposition.text(accept))


def _is_let_in(request: HttpRequest, credentials: Mapping[str, Credential], now_seconds: float) -> bool:
    """True if the request names an access key that has not expired, and its secret key."""
    scheme, _, encoded = (request.header(b"authorization") or b"").partition(b" ")
    if scheme.lower() != b"basic":
        return False
    try:
        access_key, _, secret_key = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return False
    credential = credentials.get(access_key)
    known = b"" if credential is None else credential.secret_key.encode()
    is_right = hmac.compare_digest(known, secret_key.encode())
    if credential is None or not is_right or credential.session_token is not None:
        return False
    return credential.expires_seconds is None or now_seconds < credential.expires_seconds
