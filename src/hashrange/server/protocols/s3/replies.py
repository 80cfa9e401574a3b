"""How does a reply of the server's own S3 look on the wire? Headers, and XML or a file.

Replies are sandboxed in browsers: an object that somebody has put there must not act as a page of this server.
Source: S3's API reference, *Error responses* and *Common response headers*.
"""

from collections.abc import Mapping
from xml.sax.saxutils import escape

from hashrange.aws_services.operation import ServiceError
from hashrange.errors import (
    ApiError,
    ExpiredTokenException,
    IncompleteSignatureException,
    InvalidSignatureException,
    MissingAuthenticationTokenException,
    UnrecognizedClientException,
)
from hashrange.items.growing_bytes import GrowingBytes, PacedBytes
from hashrange.messages import s3 as say
from hashrange.s3.api.operation import S3Reply, XmlMembers, XmlValue
from hashrange.s3.objects import S3Failure
from hashrange.server.access_log import NOTHING_USED
from hashrange.server.protocols.http_call import WrittenReply
from hashrange.server.refusals import Refusal
from hashrange.wire.http import COMPLETE_HEAD, CORS_LINES, HttpRequest, http_date
from hashrange.wire.identifiers import request_id_of

XML_TYPE = "application/xml"
_NAMESPACE = ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_SECURITY = {"Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff"}
_no_xml = {code: f"&#x{code:x};" for code in range(32) if code not in {9, 10}}
"""Control characters, which S3 writes like this in keys, although no XML may have them."""
_AUTHENTICATION: Mapping[type[ApiError], tuple[str, int, str | None]] = {
    ExpiredTokenException: ("ExpiredToken", 400, say.EXPIRED_TOKEN),
    IncompleteSignatureException: ("AuthorizationHeaderMalformed", 400, None),
    InvalidSignatureException: ("SignatureDoesNotMatch", 403, say.SIGNATURE_MISMATCH),
    MissingAuthenticationTokenException: ("AccessDenied", 403, say.ACCESS_DENIED),
    UnrecognizedClientException: ("InvalidAccessKeyId", 403, say.INVALID_ACCESS_KEY),
}
"""Errors of the shared authentication, and S3's; None: the error's own words."""
_NO_BODY = frozenset((204, 304))


def failure_for(error: ApiError) -> S3Failure:
    """S3's error for any error."""
    if isinstance(error, S3Failure):
        return error
    for kind, (code, status, message) in _AUTHENTICATION.items():
        if isinstance(error, kind):
            return S3Failure(code, message or error.message or "", status)
    if isinstance(error, ServiceError):  # a fault that throttles
        return S3Failure("SlowDown", say.SLOW_DOWN, 503)
    return S3Failure("InternalError", say.INTERNAL_ERROR, 500)


class S3Writer:
    """Writes the reply to one request."""

    def __init__(self, request: HttpRequest, wall_seconds: float) -> None:
        self._request = request
        self._wall_seconds = wall_seconds

    def reply(self, outcome: S3Reply) -> WrittenReply:
        """The reply to what an operation has returned. The body of one that is in a file is empty. May give way: a list
        of buckets has a megabyte.
        """
        body, headers = b"", dict(outcome.headers)
        if outcome.root:
            body = written_xml(outcome.root, outcome.members, PacedBytes(), _NAMESPACE)
            headers["Content-Type"] = XML_TYPE
        if outcome.length is not None:
            headers["Content-Length"] = str(outcome.length)
        return WrittenReply(outcome.status, body, COMPLETE_HEAD, self._lines(headers))

    def error(self, error: ApiError) -> WrittenReply:
        """The reply that reports an error."""
        failure = failure_for(error)
        members: dict[str, XmlValue] = {"Code": failure.code, "Message": failure.message}
        members |= {name: str(value) for name, value in failure.members.items()}
        resource = self._request.url.partition(b"?")[0].decode("latin-1")
        members |= {"Resource": resource, "RequestId": request_id_of(self._request.number).decode()}
        status = failure.http_status
        body = b"" if status in _NO_BODY else written_xml("Error", members, GrowingBytes())
        used = f"{NOTHING_USED} {failure.code}"
        return WrittenReply(status, body, COMPLETE_HEAD, self._lines({"Content-Type": XML_TYPE}), used)

    def internal_error(self) -> ApiError:
        """The error that says that S3 has failed."""
        return S3Failure("InternalError", say.INTERNAL_ERROR, 500)

    def refusal(self, error: ApiError) -> Refusal:
        """An error that is sent before the body has come."""
        written = self.error(error)
        first = b"Server: Server\r\nDate: " + http_date(int(self._wall_seconds)) + b"\r\n"
        return Refusal(written.status, written.body, written.header_lines.removeprefix(first))

    def _lines(self, headers: Mapping[str, str]) -> bytes:
        """Header lines with line ends."""
        common = {
            "Server": "Server",
            "Date": http_date(int(self._wall_seconds)).decode(),
            "x-amz-request-id": request_id_of(self._request.number).decode(),
        }
        complete = {**common, **headers, **_SECURITY}
        assert not any("\r" in text or "\n" in text for pair in complete.items() for text in pair), complete
        lines = "".join(f"{name}: {value}\r\n" for name, value in complete.items()).encode("latin-1", "replace")
        return lines + CORS_LINES if self._request.shares_reply and self._request.layout.origin >= 0 else lines


def written_xml(root: str, members: XmlMembers, body: GrowingBytes, attributes: str = "") -> bytes:
    """A document in XML, which is put together in `body`. A member without a name is the text of its element."""
    body.write(f"{_DECLARATION}<{root}{attributes}>".encode())
    _write(body, members)
    body.write(f"</{root}>".encode())
    return body.getvalue()


def _write(body: GrowingBytes, members: XmlMembers) -> None:
    for name, value in members.items():
        if isinstance(value, str | int):
            text = str(value).lower() if isinstance(value, bool) else escape(str(value)).translate(_no_xml)
            body.write((f"<{name}>{text}</{name}>" if name else text).encode())
            continue
        begin, end = f"<{name}>".encode(), f"</{name}>".encode()
        for one in (value,) if isinstance(value, Mapping) else value:
            body.write(begin)
            _write(body, one)
            body.write(end)
