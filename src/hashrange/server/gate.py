"""Which requests are refused before a protocol reads them? Those that a page of another site has a browser send,
and those for a name that is not this server's.

A browser sends requests for any page that its user visits, also to servers on the user's own machine,
which no other site could reach. So whatever acts on a request is only for pages of the server itself,
and of the setting `allowed_origins`. The exception is DynamoDB's own
JSON: a browser asks first whether it may send its headers, and the answer is yes, as the service's is.
Sources: the Fetch standard (Origin, CORS); W3C, Fetch Metadata Request Headers; docs/security.md.
"""

import re
from urllib.parse import unquote

from hashrange.messages import http as sentences
from hashrange.server.host_names import HostNames
from hashrange.server.protocols.unserved.services import ServiceRefusal, signing_name_of
from hashrange.server.protocols.wire_protocol import Guard
from hashrange.settings import SettingUnusable
from hashrange.wire.http import HttpRequest

REFUSED_STATUS = 403
REFUSED_CODE = "AccessDeniedException"
SHOWN_CHARACTERS_MAX = 100

_OWN_SITE = (b"same-origin", b"none")
"""Values of Sec-Fetch-Site for pages of the server itself, and for what the user typed."""
_DEFAULT_PORTS = {b"http": b":80", b"https": b":443"}
_is_origin = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s,?#]+").fullmatch


class Gate:
    """Refuses requests to one listener."""

    def __init__(
        self, hosts: HostNames, allowed_origins: str | None, *, is_tls: bool, verifies_signatures: bool
    ) -> None:
        """`verifies_signatures`: True if there is a credentials file. Raises SettingUnusable."""
        self.hosts = hosts
        self._origins = _read_origins(allowed_origins)
        self._scheme = b"https" if is_tls else b"http"
        self._verifies_signatures = verifies_signatures

    def refusal(self, request: HttpRequest, guard: Guard) -> ServiceRefusal | None:
        """Why the request is refused; None if it is not. Sets whether pages of other origins may read the reply."""
        is_verified = self._verifies_signatures and guard.checks_signatures and signing_name_of(request) is not None
        if is_verified:
            self.hosts.remember(request)
        elif not self.hosts.accepts(request):
            request.shares_reply = False
            return ServiceRefusal(REFUSED_STATUS, REFUSED_CODE, foreign_host(request))
        is_preflight = request.method == b"OPTIONS"
        if guard.is_open_to_pages or (is_preflight and request.url == b"/" and not guard.answers_preflights):
            return None  # DynamoDB's JSON, and what a browser asks before it
        origin = request.header(b"origin")
        if not self._is_of_other_site(request, origin):
            request.shares_reply = False
            return None
        is_allowed = origin is not None and origin.lower() in self._origins
        request.shares_reply = is_allowed and not is_preflight
        if is_allowed:
            return None
        return ServiceRefusal(REFUSED_STATUS, REFUSED_CODE, sentences.FOREIGN_PAGE.format(value=_shown(origin)))

    def _is_of_other_site(self, request: HttpRequest, origin: bytes | None) -> bool:
        """True if a browser says that a page of another origin sends the request,
        unless it only opens what is read at its URL.
        """
        if origin is not None:
            return origin.lower() != self._own_origin(request) or self.hosts.is_of_aws(request)
        site = request.header(b"sec-fetch-site")
        if site is not None:
            is_own = site in _OWN_SITE and not self.hosts.is_of_aws(request)
            return not is_own and (_has_effect(request) or not _is_opened(request))
        # Without TLS, and not on the loopback, browsers say nothing of a GET that a page has them send.
        return (
            request.method in (b"GET", b"HEAD")
            and _has_effect(request)
            and (request.header(b"user-agent") or b"").startswith(b"Mozilla/")
        )

    def _own_origin(self, request: HttpRequest) -> bytes:
        host = (request.header(b"host") or b"").lower().removesuffix(_DEFAULT_PORTS[self._scheme])
        return self._scheme + b"://" + host


def _is_opened(request: HttpRequest) -> bool:
    """True if the browser opens the URL in a tab or window, so that no page can read the reply."""
    is_document = request.header(b"sec-fetch-dest") == b"document"
    return is_document and request.header(b"sec-fetch-mode") == b"navigate"


def _has_effect(request: HttpRequest) -> bool:
    """True unless the request only reads: a GET without an operation's name in its query."""
    return request.method not in (b"GET", b"HEAD") or "Action=" in unquote(request.url.decode("latin-1"))


def foreign_host(request: HttpRequest) -> str:
    """The sentence that refuses a request whose host is no name of this server."""
    return sentences.FOREIGN_HOST.format(value=_shown(request.header(b"host")))


def _shown(value: bytes | None) -> str:
    return "none" if value is None else value.decode("latin-1")[:SHOWN_CHARACTERS_MAX]


def _read_origins(allowed: str | None) -> frozenset[bytes]:
    origins = [] if allowed is None else [one.strip().lower().removesuffix("/") for one in allowed.split(",")]
    for origin in origins:
        if _is_origin(origin) is None:
            raise SettingUnusable(
                f'--allowed-origins names "{origin}". It must be origins of web pages without a path, such as'
                " http://localhost:3000, with commas between them."
            )
    return frozenset(origin.encode() for origin in origins)
