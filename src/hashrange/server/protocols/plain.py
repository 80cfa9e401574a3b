"""How are requests answered that no other protocol handles? Health checks, CORS preflights, and 404 for all others.

Source: operations.md 1.1.
"""

from hashrange.messages import http as sentences
from hashrange.server.incoming import Respond
from hashrange.server.protocols.wire_protocol import WireProtocol
from hashrange.wire.http import HttpRequest

HEALTH_REGION = "us-east-1"
PREFLIGHT_SECONDS = 172_800
"""Seconds for which a browser may cache the answer to a CORS preflight."""


class Plain(WireProtocol):
    """Protocol of all requests that no other protocol handles."""

    def claims(self, _request: HttpRequest) -> bool:
        """True for every request: this protocol is asked last."""
        return True

    def prepare(self, request: HttpRequest, respond: Respond) -> None:
        """Answer the request; returns None."""
        answer_plainly(request, respond)


def answer_plainly(request: HttpRequest, respond: Respond) -> None:
    """Answer a request that is not a POST of the JSON protocol: a health check, a CORS preflight, or 404."""
    path = request.url.partition(b"?")[0]
    if request.method in (b"GET", b"HEAD") and path == b"/":
        respond(200, sentences.HEALTHY.format(region=HEALTH_REGION).encode(), b"text/plain")
    elif request.method == b"OPTIONS" and request.header(b"origin") is not None:
        respond(200, b"", b"text/plain", preflight_headers(request))
    else:
        respond(404, sentences.UNKNOWN_OPERATION_BODY, b"application/xml")


def preflight_headers(request: HttpRequest) -> bytes:
    """Header lines that allow a browser the method and headers that its CORS preflight names."""
    methods = request.header(b"access-control-request-method")
    headers = request.header(b"access-control-request-headers")
    lines = b"Access-Control-Allow-Origin: *\r\nAccess-Control-Max-Age: %d\r\n" % PREFLIGHT_SECONDS
    if methods is not None:
        lines += b"Access-Control-Allow-Methods: %b\r\n" % methods
    if headers is not None:
        lines += b"Access-Control-Allow-Headers: %b\r\n" % headers
    return lines
