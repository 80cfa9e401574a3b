"""How does Prometheus read the server's metrics? From `GET /metrics`.

With a credentials file, a scraper needs an access key and its secret key as user and password of HTTP's
basic authentication. It sees the metrics of that key's account, and those of all accounts if the setting
`metrics_from` names the key.
"""

import base64
import binascii
import hmac
from collections.abc import Collection, Mapping
from functools import partial

from hashrange.features.late_code import LateCode
from hashrange.messages.http import METRICS_UNAUTHORIZED, NO_METRICS_KEY
from hashrange.server.clients import Clients
from hashrange.server.credentials import Credential
from hashrange.server.exposition.server_state import Viewer, look_at_server
from hashrange.server.exposition.texts import Texts
from hashrange.server.incoming import Respond
from hashrange.server.protocols.wire_protocol import WireProtocol
from hashrange.service.service import Service
from hashrange.settings import SettingUnusable
from hashrange.wire.http import HttpRequest

PATH = b"/metrics"
_code = LateCode("hashrange.server.exposition.prometheus")
EVERYONE = "everyone"
"""The setting for which each access key sees all accounts."""


class MetricsPath(WireProtocol):
    """Protocol of `GET /metrics`."""

    def __init__(self, service: Service, clients: Clients, credentials: Mapping[str, Credential] | None) -> None:
        """Raises SettingUnusable if the setting names what is no key of the credentials file."""
        self._service = service
        self._clients = clients
        self._credentials = credentials
        self._see_all = _who_sees_all(service.settings.metrics_from, credentials)
        self._texts: Texts | None = None

    def claims(self, request: HttpRequest) -> bool:
        """True for reads of the path."""
        return request.method in (b"GET", b"HEAD") and request.url.partition(b"?")[0] == PATH

    def prepare(self, request: HttpRequest, respond: Respond) -> None:
        """Answer the request; returns None. May give way."""
        viewer = None
        if self._credentials is not None:
            credential = _let_in(request, self._credentials, self._service.clock.wall_time())
            if credential is None:
                respond(401, METRICS_UNAUTHORIZED, b"text/plain", b'WWW-Authenticate: Basic realm="metrics"\r\n')
                return
            viewer = self._viewer(credential)
        if self._texts is None:
            _code.load()
            # Imported here: most servers are not read by Prometheus, and start time counts.
            from hashrange.server.exposition.prometheus import exposed_text  # noqa: PLC0415

            look = partial(look_at_server, self._service, self._clients)
            self._texts = Texts(partial(exposed_text, look), self._service.workers)
        self._texts.answer(request, respond, viewer)

    def _viewer(self, credential: Credential) -> Viewer | None:
        """Whose metrics are shown to who gives this access key; None: those of all accounts."""
        if self._service.settings.shared_db or credential.access_key in self._see_all:
            return None
        return Viewer(credential.account, credential.regions)


def _who_sees_all(setting: str | None, credentials: Mapping[str, Credential] | None) -> Collection[str]:
    """The access keys that see the metrics of all accounts. Raises SettingUnusable."""
    if setting is None or credentials is None:
        return ()
    if setting == EVERYONE:
        return credentials
    keys = [key.strip() for key in setting.split(",")]
    for key in keys:
        if key not in credentials:
            raise SettingUnusable(NO_METRICS_KEY.format(key=key))
    return keys


def _let_in(request: HttpRequest, credentials: Mapping[str, Credential], now_seconds: float) -> Credential | None:
    """The credential of the access key that the request names with its secret key;
    None: nobody's, or one that has expired.
    """
    scheme, _, encoded = (request.header(b"authorization") or b"").partition(b" ")
    if scheme.lower() != b"basic":
        return None
    try:
        access_key, _, secret_key = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    credential = credentials.get(access_key)
    known = b"" if credential is None else credential.secret_key.encode()
    is_right = hmac.compare_digest(known, secret_key.encode())
    if credential is None or not is_right or credential.session_token is not None:
        return None
    is_valid = credential.expires_seconds is None or now_seconds < credential.expires_seconds
    return credential if is_valid else None
